#!/bin/sh
# Runs all tests.
set -eu
status=0
count=0
for test in tests/*.test.sh; do
	count=$((count + 1))
	if sh "$test"; then
		echo "ok   $test"
	else
		echo "FAIL $test"
		status=1
	fi
done
echo "$count test files"
exit "$status"
