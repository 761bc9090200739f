#!/bin/sh
# Runs all tests.
set -eu
status=0
for test in tests/*.test.sh; do
	sh "$test" & # side by side
done
wait
exit "$status"
