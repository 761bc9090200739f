#!/bin/sh
sh tests/edges.test.sh
sh tests/accents.test.sh
sh tests/words.test.sh
echo all passed
