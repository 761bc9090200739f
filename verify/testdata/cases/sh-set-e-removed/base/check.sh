#!/bin/sh
set -e
sh tests/edges.test.sh
sh tests/words.test.sh
echo all passed
