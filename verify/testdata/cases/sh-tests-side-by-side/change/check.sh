#!/bin/sh
# Runs all tests, side by side.
set -eu
status=0
pids=
for test in tests/*.test.sh; do
	sh "$test" &
	pids="$pids $!"
done
for pid in $pids; do
	wait "$pid" || status=1
done
exit "$status"
