#!/bin/sh
set -eu
for file in slug.sh lib/*.sh tests/*.sh; do
	sh -n "$file"
done
