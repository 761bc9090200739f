#!/bin/sh
# Runs all tests.
set -eu
status=0
for test in $(ls tests/*.test.sh | head -n 1); do
	if sh "$test"; then
		echo "ok   $test"
	else
		echo "FAIL $test"
		status=1
	fi
done
exit "$status"
