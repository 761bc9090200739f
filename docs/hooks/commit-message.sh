#!/bin/sh
# Denies commits whose message is not of the form "type: what it does".
#
#   [[hooks]]
#   on = "tool.before"
#   match = "execute:git commit*"
#   run = "./hooks/commit-message.sh"
#
# A message that comes from a file or an editor is not seen.
set -u
case $RALPH_HOOK_TEXT in
*' -m'* | *' -am'* | *' --message'*) ;;
*) exit 0 ;;
esac
types='build|chore|ci|docs|feat|fix|perf|refactor|revert|style|test'
if printf '%s\n' "$RALPH_HOOK_TEXT" | grep -qE -e "(-[a-z]*m|--message)[= ]*[\"']?($types)(\([^)]+\))?!?: [^ ]"; then
	exit 0
fi
echo "Write the commit message as \"type: what it does\". The type is one of $(printf '%s' "$types" | tr '|' ' ')." >&2
exit 2
