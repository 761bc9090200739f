#!/bin/sh
# Runs all tests.
set -eu
for test in tests/*.test.sh; do
	if sh "$test"; then
		echo "ok   $test"
		status=0
	else
		echo "FAIL $test"
		status=1
	fi
done
exit "$status"
