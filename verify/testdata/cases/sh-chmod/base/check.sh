#!/bin/sh
set -eu
for test in tests/*.test.sh; do
	[ -x "$test" ] || continue
	sh "$test"
done
