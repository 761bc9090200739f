#!/bin/sh
set -eu
. ./.env.test
for test in tests/$TESTS.test.sh; do
	sh "$test"
done
