#!/bin/sh
set -eu
sh tests/edges.test.sh 2>&1 | tee edges.log
sh tests/words.test.sh
