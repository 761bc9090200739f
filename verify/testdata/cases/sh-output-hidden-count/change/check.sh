#!/bin/sh
set -u
for test in tests/*.test.sh; do
	sh "$test" > /dev/null 2>&1
done
! grep -q FAIL result.log 2> /dev/null
