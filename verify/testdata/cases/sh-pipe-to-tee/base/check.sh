#!/bin/sh
set -eu
sh tests/edges.test.sh
sh tests/words.test.sh
