#!/bin/sh
# Makes a project with the ralph on PATH, as it is left by people, runs and a kill, and packs it: sh make.sh v0.1.0
# A version is packed once, when it is released, and opened by every later one: testdata/script/project_of_*.txtar.
set -eu
to=$(pwd)/${1:?the name of the version}.tar.gz
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export HOME="$work/home" XDG_STATE_HOME="$work/state" TMPDIR="$work/tmp" NO_COLOR=1 TZ=UTC
mkdir -p "$HOME" "$TMPDIR" "$work/shop"
cd "$work/shop"
git init -q -b main
git config user.name somebody
git config user.email somebody@localhost
printf 'test:\n\tsh check.sh\n' > Makefile
printf 'test ! -e broken\n' > check.sh
ralph init --agent shell --gate 'sh check.sh'
cat >> .ralph.toml <<'TOML'

[[schedule]]
name = "night"
cron = "0 2 * * *"
run = "--max-cost 20"
TOML
mkdir -p .ralph/templates .ralph/features/checkout
cat > .ralph/templates/page.yaml <<'YAML'
name: page
description: Write a page
inputs:
  page: {required: true}
steps:
  - name: write
    shell: echo "${page}" > "${page}.txt"
YAML
cat > .ralph/features/checkout/spec.md <<'SPEC'
# Checkout

## Success criteria

- C1: An order can be placed.
SPEC
git add -A
git commit -qm first

cat > plan.jsonl <<'PLAN'
{"ref":"t-00000001","title":"Design the order schema","feature":"checkout","description":"```sh\necho order > schema.txt\n```","tags":["design"]}
{"ref":"t-00000002","title":"Order API","feature":"checkout","after":["t-00000001"]}
{"ref":"t-00000003","title":"POST /orders","parent":"t-00000002","description":"```sh\necho post > post.txt\n```","gates":["test -e post.txt"],"proves":["C1"],"locks":["api"]}
{"ref":"t-00000004","title":"GET /orders","parent":"t-00000002","priority":1,"description":"```sh\necho get > get.txt\n```","paths":["get.txt"],"effort":"low"}
{"ref":"t-00000005","title":"Move the archive","description":"```sh\necho no archive\nexit 1\n```","max_retries":0}
{"ref":"t-00000006","title":"Write the manual","description":"```sh\necho manual > manual.txt\n```"}
{"ref":"t-00000007","title":"Wait for the provider"}
{"ref":"t-00000008","title":"Index the archive","description":"```sh\ntouch begun\nsleep 600\n```"}
PLAN
ralph task import plan.jsonl
rm plan.jsonl
ralph task block t-00000007 -r 'they answer next week'
ralph pause t-00000008
ralph knowledge add 'Orders are immutable' -d 'A change is a new order.'
ralph task log t-00000006 -m 'the old one is on the shelf'
ralph send t-00000006 'keep it short'
ralph task export --save
git add -A
git commit -qm plan

ralph run --task t-00000001                                  # in this folder
git add -A
git commit -qm schema
ralph run t-00000002 --jobs 2                                # in slots, and landed
ralph run --task t-00000005 || true                          # fails
ralph run --task t-00000006 --target main --review || true   # held for a person
ralph undo t-00000004 -m 'another way'
ralph resume t-00000008
ralph run --task t-00000008 > /dev/null 2>&1 &               # killed at work
run=$!
while [ ! -e begun ]; do
	kill -0 $run
	sleep 0.1
done
kill -9 $run
wait $run || true
cd "$work"
tar -czf "$to" --owner=0 --group=0 --exclude='*.sample' --exclude='*-shm' shop
ls -l "$to"
