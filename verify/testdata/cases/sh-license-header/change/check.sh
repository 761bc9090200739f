#!/bin/sh
# SPDX-License-Identifier: MIT
# Runs all tests.
set -eu
status=0
for test in tests/*.test.sh; do
	if sh "$test"; then
		echo "ok   $test"
	else
		echo "FAIL $test"
		status=1
	fi
done
exit "$status"
