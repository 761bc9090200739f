#!/bin/sh
set -e
cd "$(dirname "$0")"
mkdir -p out
bin/greet > out/plain.txt
bin/greet Ada > out/name.txt
diff expected out
