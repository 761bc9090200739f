package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"ralph/internal/testing/check"
	"ralph/internal/testing/fakeagent"
	"ralph/report"
)

// leaf is a task of a graph that the built-in agent runs.
type leaf struct {
	parent, after string // of the plan, by number; after may name several
	script        string // empty for a group
	gate          string
	want          string
}

// TestAGraphOfThirtyTasksEndsWithTheRightStatuses has groups in groups, a diamond,
// failures with what waits behind them, work that a gate refuses at first or for
// ever, and scripts that ask to be tried again.
func TestAGraphOfThirtyTasksEndsWithTheRightStatuses(t *testing.T) {
	t.Parallel()
	again := func(n int) string { return fmt.Sprintf("[ -e again.%d ] || { touch again.%d; exit 75; }", n, n) }
	graph := map[int]leaf{
		// a chain
		1: {script: "echo 1 >> order", want: "done"},
		2: {after: "1", script: "echo 2 >> order", want: "done"},
		3: {after: "2", script: "echo 3 >> order", want: "done"},
		// a diamond
		4: {after: "3", script: "true", want: "done"},
		5: {after: "4", script: "true", want: "done"},
		6: {after: "4", script: again(6), want: "done"},
		7: {after: "5 6", script: "true", want: "done"},
		// a group with a group, all of it done
		8:  {want: "done"},
		9:  {parent: "8", script: "true", want: "done"},
		10: {parent: "8", want: "done"},
		11: {parent: "10", script: "true", want: "done"},
		12: {parent: "10", script: again(12), want: "done"},
		13: {after: "8", script: "test -e again.12", want: "done"},
		// a group in which one fails: the rest of it runs, but not what waits for it
		14: {want: "failed"},
		15: {parent: "14", script: "echo no compiler; exit 3", want: "failed"},
		16: {parent: "14", script: "true", want: "done"},
		17: {parent: "14", want: "done"},
		18: {parent: "17", script: "true", want: "done"},
		19: {after: "14", script: "touch must-not-run", want: "pending"},
		20: {after: "19", script: "touch must-not-run", want: "pending"},
		// work that is refused at first, and work that always is
		21: {script: "echo x >> work.21", gate: "test $(wc -l < work.21) -ge 2", want: "done"},
		22: {script: "true", gate: "echo never; false", want: "failed"},
		23: {after: "22", script: "touch must-not-run", want: "pending"},
		24: {after: "21", script: "test $(wc -l < work.21) -eq 2", want: "done"},
		// nothing to run, and a script that never comes to a verdict
		25: {script: "-", want: "failed"},
		26: {script: "exit 75", want: "failed"},
		// a group that waits makes its leaves wait
		27: {after: "7", want: "done"},
		28: {parent: "27", script: "test -e again.6", want: "done"},
		29: {parent: "27", after: "28", script: "true", want: "done"},
		30: {after: "27 24", script: "cat order", want: "done"},
	}
	p := newPlace(t, fakeagent.Script{}, "max_attempts = 2", "max_retries = 1", "breaker = 100")
	p.write(t, "plan.jsonl", planOf(t, graph))
	p.want(t, 0, "task", "import", "plan.jsonl")
	out := p.want(t, 2, "run", "--agent", "shell", "--json")
	out.inStdout(t, `"outcome":"blocked"`)
	var tasks []report.TaskView
	list := p.want(t, 0, "task", "list", "--all", "--json")
	check.OK(t, json.Unmarshal([]byte(list.stdout), &tasks))
	got, want := map[string]string{}, map[string]string{}
	for _, task := range tasks {
		got[task.ID] = string(task.Status)
	}
	for n, l := range graph {
		want[number(n)] = l.want
	}
	check.Equal(t, "statuses", want, got)
	p.want(t, 0, "doctor")
	p.want(t, 0, "task", "show", number(15)).inStdout(t, "no compiler")
}

func number(n int) string { return fmt.Sprintf("t-%08d", n) }

// planOf writes a graph as lines to import.
func planOf(t *testing.T, graph map[int]leaf) string {
	t.Helper()
	var b strings.Builder
	for n := 1; n <= len(graph); n++ {
		l := graph[n]
		line := map[string]any{"ref": number(n), "title": fmt.Sprint("task ", n)}
		if l.parent != "" {
			line["parent"] = refs(l.parent)[0]
		}
		if l.after != "" {
			line["after"] = refs(l.after)
		}
		if l.gate != "" {
			line["gates"] = []string{l.gate}
		}
		if l.script != "" && l.script != "-" {
			line["description"] = "```sh\n" + l.script + "\n```\n"
		}
		raw, err := json.Marshal(line)
		check.OK(t, err)
		fmt.Fprintf(&b, "%s\n", raw)
	}
	return b.String()
}

func refs(numbers string) []string {
	var list []string
	for word := range strings.FieldsSeq(numbers) {
		list = append(list, fmt.Sprintf("t-%08s", word))
	}
	return list
}
