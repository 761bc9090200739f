#!/bin/sh
set -eu
. scripts/lib/common.sh
for test in tests/*.test.sh; do
	run_one "$test"
done
