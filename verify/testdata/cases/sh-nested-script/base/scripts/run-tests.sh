#!/bin/sh
set -eu
for test in tests/*.test.sh; do
	sh "$test"
done
