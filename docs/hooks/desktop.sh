#!/bin/sh
# Shows a notification on the desktop, or else rings the bell of the terminal that ralph runs in.
#
#   [[hooks]]
#   on = "task.failed"      # one entry for each point: run.after, question.asked, limit.hit
#   run = "./hooks/desktop.sh"
set -u
title="ralph: $RALPH_HOOK${RALPH_HOOK_TASK:+ $RALPH_HOOK_TASK}"
if command -v notify-send >/dev/null; then
	exec notify-send --app-name=ralph -- "$title" "$RALPH_HOOK_TEXT"
fi
if command -v osascript >/dev/null; then
	exec osascript -e 'on run argv' -e 'display notification (item 2 of argv) with title (item 1 of argv)' -e 'end run' -- "$title" "$RALPH_HOOK_TEXT"
fi
# A hook has no terminal of its own.
pid=$$
while [ "${pid:-0}" -gt 1 ]; do
	terminal=$(ps -o tty= -p "$pid" | tr -d ' ')
	case $terminal in
	'' | '?'*) pid=$(ps -o ppid= -p "$pid" | tr -d ' ') ;;
	*)
		printf '\a' >"/dev/$terminal"
		exit
		;;
	esac
done
