#!/bin/sh
set -eu
while read -r test; do
	sh "tests/$test.test.sh"
done < packages.txt
