#!/bin/sh
# Refuses long lines.
set -eu
max=100
status=0
for file in lib/*.sh; do
	if grep -qx "$file" .lintignore; then continue; fi
	if ! awk -v max="$max" -v file="$file" '/lint: off/ { next } length($0) > max { print file ":" NR ": too long"; bad = 1 } END { exit bad }' "$file"; then status=1; fi
done
exit "$status"
