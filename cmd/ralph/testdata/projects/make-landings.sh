#!/bin/sh
# Makes a project whose run was killed while it landed work, and packs it: sh make-landings.sh 0b93942f-moved after-move
# The ralph on PATH has the build tag failpoint. Slots are not packed: whoever opens the project is on another machine.
set -eu
to=$(pwd)/${1:?the name of the archive}.tar.gz
point=${2:?the point at which the run dies}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export HOME="$work/home" XDG_STATE_HOME="$work/state" TMPDIR="$work/tmp" NO_COLOR=1 TZ=UTC RALPH_SANDBOX_MODE=off
mkdir -p "$HOME/agents" "$TMPDIR" "$work/shop"
cd "$work/shop"
git init -q -b main
git config user.name somebody
git config user.email somebody@localhost
git config gc.auto 0
printf 'test ! -e broken\n' > check.sh
ralph init --agent shell --gate 'sh check.sh'
git add -A
git commit -qm first

# These agents fail anywhere else: what they finished here must land without them.
begin='cd \"$HOME/agents\" || exit 1\ntouch begun-$n\nwhile [ ! -e go-$n ]; do sleep 0.1; done\ncd \"$OLDPWD\"'
cat > plan.jsonl <<PLAN
{"ref":"t-00000001","title":"Design the order schema","description":"\`\`\`sh\necho order >> schema.txt\n\`\`\`"}
{"ref":"t-00000002","title":"Write the manual","description":"\`\`\`sh\necho manual >> manual.txt\n\`\`\`"}
{"ref":"t-00000003","title":"Write the licence","description":"\`\`\`sh\necho licence >> licence.txt\n\`\`\`"}
{"ref":"t-00000004","title":"POST /orders","description":"\`\`\`sh\nn=4\n$begin\necho post >> post.txt\n\`\`\`"}
{"ref":"t-00000005","title":"GET /orders","description":"\`\`\`sh\nn=5\n$begin\necho get >> get.txt\n\`\`\`"}
{"ref":"t-00000006","title":"PUT /orders","description":"\`\`\`sh\nn=6\n$begin\necho put >> put.txt\n\`\`\`"}
{"ref":"t-00000007","title":"Index the archive","description":"\`\`\`sh\necho index >> index.txt\nn=7\n$begin\n\`\`\`"}
{"ref":"t-00000008","title":"Print the manual","after":["t-00000002"],"description":"\`\`\`sh\ncat manual.txt >> printed.txt\n\`\`\`"}
{"ref":"t-00000009","title":"Check the orders","after":["t-00000004","t-00000005","t-00000006"],"description":"\`\`\`sh\ncat post.txt get.txt put.txt >> orders.txt\n\`\`\`"}
PLAN
ralph task import plan.jsonl
rm plan.jsonl

ralph run --task t-00000001 --jobs 2                         # landed
ralph run --task t-00000002 --target main --review || true   # held for a person
ralph run --task t-00000003 --target main --review || true

# The run is stopped until three of its four agents have ended, so that more than one waits to land when it dies.
RALPH_FAILPOINT=$point ralph run --jobs 4 > "$work/log" 2>&1 &
run=$!
for n in 4 5 6 7; do
	while [ ! -e "$HOME/agents/begun-$n" ]; do
		kill -0 $run || { cat "$work/log"; exit 1; }
		sleep 0.1
	done
done
kill -STOP $run
touch "$HOME/agents/go-4" "$HOME/agents/go-5" "$HOME/agents/go-6"
sleep 1
kill -CONT $run
wait $run || true
ralph task accept t-00000003                                 # accepted, not landed
ralph status
git for-each-ref
git log --oneline
cd "$work"
tar -czf "$to" --owner=0 --group=0 --exclude='*.sample' --exclude='*-shm' shop
ls -l "$to"
