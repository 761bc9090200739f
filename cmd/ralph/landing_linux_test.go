package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ralph/dag"
	"ralph/internal/db"
	"ralph/internal/testing/check"
	"ralph/internal/testing/fakeagent"
)

// crowd does one task of forty. The first eight read the same line, and write it only when all
// eight have read it; conflicts are resolved by keeping what both sides have. The others each
// change a line of their own. Each leaves a file that the gate counts.
const crowd = `
echo work > $1.txt
if [ ${1#t-} -gt 8 ]; then
	sed -i "s/^$1 .*/$1 done/" lines.txt
	exit
fi
line=$(cat line.txt)
mkdir -p "$FAKEAGENT_LEDGER/read"
: > "$FAKEAGENT_LEDGER/read/$1"
while [ $(ls "$FAKEAGENT_LEDGER/read" | wc -l) -lt 8 ]; do sleep 0.01; done
echo $(printf '%s %s\n' "$line" $1 | grep -v '^[<|=>]\{7\}' | tr ' ' '\n' | sort -u) > line.txt
`

// crowdGate wants that no tree has lost what a task wrote.
const crowdGate = `
test $(cat line.txt | wc -w) = $(ls | grep -c '^t-0000000[1-8].txt$')
test $(grep -c ' done$' lines.txt) = $(ls | grep '^t-.*txt$' | grep -vc '^t-0000000[1-8].txt$')
`

// TestEightAgentsOnFortyTasks has a fifth of the tasks change the same line at the same time. What lands
// is each agent's work, once, in one order, and no commit is red.
func TestEightAgentsOnFortyTasks(t *testing.T) {
	notRaced(t)
	const tasks = 40
	p := newPlace(t, say(step{Do: "run", Argv: []string{"sh", "crowd.sh", "{{task}}"}}, saysDone()),
		"[verify]", `commands = ["sh -e gate.sh"]`, "[merge]", "resolve = 40")
	p.env = append(p.env, "RALPH_SANDBOX_MODE=off", "XDG_STATE_HOME="+t.TempDir()) // the ledger is not in a slot
	p.write("crowd.sh", crowd)
	p.write("gate.sh", crowdGate)
	p.write("line.txt", "")
	lines := ""
	for i := range tasks {
		lines += number(i+1) + " open" + strings.Repeat("\n.", 4) + "\n" // merges need lines between changes
	}
	p.write("lines.txt", lines)
	p.repository()
	p.append(".git/info/exclude", "/plan.jsonl\n/.local\n/.cache\n/.config\n")
	var titles []string
	for i := range tasks {
		titles = append(titles, fmt.Sprint("task ", i+1))
	}
	p.plan(titles...)
	p.want(0, "run", "--jobs", "8")
	for i := range tasks {
		p.wantTask(number(i+1), "done", 1)
	}
	check.Equal(t, "what is uncommitted", "", p.shell(`git status --porcelain -- . ":!.ralph"`))

	landed := map[string]dag.Merge{}
	file, err := db.Open(t.Context(), filepath.Join(p.dir, ".ralph/progress.db"), db.Options{})
	check.OK(t, err)
	defer file.Close()
	check.OK(t, dag.New(file, dag.Options{}).View(t.Context(), func(g *dag.Graph) error {
		list, err := g.Queue.MergesIn(dag.MergeLanded)
		for _, m := range list {
			landed[m.Candidate] = m
		}
		return err
	}))
	replay := t.TempDir()
	commits := strings.Fields(p.shell(`git log --reverse --format=%H main`))
	check.Equal(t, "commits", tasks+1, len(commits))
	p.shell(`git worktree add -q --detach "$1" $2`, replay, commits[0])
	patches, ids := map[string]bool{}, map[string]bool{}
	for _, commit := range commits[1:] {
		m := landed[commit]
		patches[m.Patch], ids[m.Task] = true, true
		p.shell(`git diff-tree -p --binary $2 $3 | git -C "$1" apply --3way; cd "$1"; sh -e gate.sh`, replay, m.Base, m.Work)
		want := p.shell(`git rev-parse $1^{tree}`, commit)
		check.Equal(t, "the tree of "+m.Task, want, p.shell(`git -C "$1" write-tree`, replay))
	}
	check.That(t, len(patches) == tasks && len(ids) == tasks, "%d patches of %d tasks, want each of %d once", len(patches), len(ids), tasks)
}

// TestTroubleAmongEightAgents: one is rate-limited, one dies, two do what is red together only. All of it lands.
func TestTroubleAmongEightAgents(t *testing.T) {
	notRaced(t)
	const tasks = 8
	does := func(when fakeagent.When, steps ...step) fakeagent.Conversation {
		return fakeagent.Conversation{When: when, Steps: steps}
	}
	own := step{Do: "file", Path: "{{task}}.txt", Text: "work"}
	instead := func(of string) []step { return []step{{Do: "run", Argv: []string{"rm", of}}, own, saysDone()} }
	p := newPlace(t, fakeagent.Script{Conversations: []fakeagent.Conversation{
		does(fakeagent.When{Task: number(1), Attempt: 1}, step{Do: "error", Code: -32603, Text: "Rate limit reached for model. Please try again in 1s."}),
		does(fakeagent.When{Task: number(2), Attempt: 1}, step{Do: "file", Path: "half.txt", Text: "half"}, step{Do: "exit", Code: 3}),
		does(fakeagent.When{Task: number(3), Prompt: 1}, step{Do: "file", Path: "a.txt", Text: "work"}, saysDone()),
		does(fakeagent.When{Task: number(4), Prompt: 1}, step{Do: "file", Path: "b.txt", Text: "work"}, saysDone()),
		does(fakeagent.When{Task: number(3)}, instead("a.txt")...),
		does(fakeagent.When{Task: number(4)}, instead("b.txt")...),
		does(fakeagent.When{}, own, saysDone()),
	}}, "[verify]", `commands = ["! { test -e a.txt && test -e b.txt; }"]`)
	p.env = append(p.env, "RALPH_SANDBOX_MODE=off", "XDG_STATE_HOME="+t.TempDir())
	p.repository()
	p.append(".git/info/exclude", "/plan.jsonl\n/.local\n/.cache\n/.config\n")
	p.plan(slices.Repeat([]string{"task"}, tasks)...)
	p.want(0, "run", "--jobs", fmt.Sprint(tasks))
	landed := strings.Fields(p.shell(`git log --format='%(trailers:key=Ralph-Task,valueonly)' main`))
	slices.Sort(landed)
	var want []string
	for i := range tasks {
		want = append(want, number(i+1))
	}
	check.Equal(t, "tasks on the target", want, landed)
	for _, id := range append(want[4:], want[0], want[1]) {
		p.holds(id+".txt", "work")
	}
	p.holds("half.txt", "half") // the next attempt goes on from what the dead one left
	check.That(t, p.has("a.txt") != p.has("b.txt") && p.has(number(3)+".txt") == p.has("b.txt") && p.has(number(4)+".txt") == p.has("a.txt"), "of the two that are red together, the second is to be repaired")
	p.wantNobodyLanding()
	check.Equal(t, "refs that are left", "", p.shell(`git for-each-ref refs/ralph`))
	p.want(0, "doctor")
}
