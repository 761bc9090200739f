#!/bin/sh
set -eu
. ./settings.env
for test in tests/$TESTS.test.sh; do
	sh "$test"
done
