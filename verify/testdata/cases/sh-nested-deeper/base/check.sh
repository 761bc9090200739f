#!/bin/sh
set -eu
exec ./scripts/run-tests.sh "$@"
