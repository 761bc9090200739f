#!/bin/sh
set -eu
PATH=$PWD/bin:$PATH
. ./lib/slug.sh
while IFS= read -r title; do
	echo "$(slug "$title")"
done < tests/titles.txt > got.txt
diff -u tests/slugs.txt got.txt
