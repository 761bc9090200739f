#!/bin/sh
set -eu
for test in $(cat tests/args); do
	sh "$test"
done
