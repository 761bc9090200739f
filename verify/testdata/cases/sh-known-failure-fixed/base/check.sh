#!/bin/sh
set -eu
for test in tests/*.test.sh; do
	if ! sh "$test"; then
		grep -qx "$test" tests/known-failures.txt || exit 1
		echo "$test fails, as is known"
	fi
done
