#!/bin/sh
# Refuses work in which something looks like a secret, and says where, but not what.
#
#   [[hooks]]
#   on = "verify.before"
#   run = "./hooks/secrets.sh"
#   must = true
#
# It looks at all files that git does not ignore. Add patterns of your own below.
set -u
cd "$RALPH_HOOK_DIR" || exit 1
found=$(git -c core.fsmonitor=false grep -nIE --untracked \
	-e 'AKIA[0-9A-Z]{16}' \
	-e '-----BEGIN ([A-Z]+ )*PRIVATE KEY-----' \
	-e 'gh[pousr]_[A-Za-z0-9]{36}' \
	-e 'github_pat_[A-Za-z0-9_]{40}' \
	-e 'xox[abprs]-[A-Za-z0-9-]{10}' \
	-e 'sk-[A-Za-z0-9_-]{32}' \
	-e '(api_?key|secret|token|passw(or)?d)["'"'"']?[[:space:]]*[:=][[:space:]]*["'"'"'][^"'"'"'$]{16}')
case $? in
0) ;;
1) exit 0 ;; # nothing
*) exit 1 ;;
esac
echo "These lines look like secrets. Remove them, and read such values from the environment:" >&2
printf '%s\n' "$found" | cut -d: -f1,2 >&2
exit 2
