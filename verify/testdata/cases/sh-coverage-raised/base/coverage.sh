#!/bin/sh
# Wants a share of the functions of lib to have a test.
set -eu
want=$(cat .coverage-minimum)
all=0 tested=0
for f in $(sed -n 's/^\([a-z_]*\)() {$/\1/p' lib/*.sh); do
	all=$((all + 1))
	if grep -q "$f " tests/*.test.sh; then tested=$((tested + 1)); fi
done
echo "$tested of $all functions are tested, want $want percent"
[ $((100 * tested)) -ge $((want * all)) ]
