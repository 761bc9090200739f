#!/bin/sh
set -eu
PATH=$PWD/bin:$PATH
. ./lib/slug.sh
while IFS= read -r title; do
	slug=$(slug "$title")
	echo "${#slug} $slug"
done < tests/titles.txt > got.txt
diff -u tests/slugs.txt got.txt
