package main

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"ralph/dag"
	"ralph/internal/db"
	"ralph/internal/risk"
	"ralph/internal/testing/check"
)

// BenchmarkMorning lists what landed in a night of 500 tasks: with what was measured when it landed, and, as after an upgrade,
// without. The goal is a second.
func BenchmarkMorning(b *testing.B) {
	for name, rated := range map[string]bool{"measured when it landed": true, "measured now": false} {
		b.Run(name, func(b *testing.B) {
			bench := newBench(b)
			landMany(bench, 500, rated)
			for b.Loop() {
				out := bench.run(0, "review", "--morning", "--json")
				check.Equal(b, "tasks", 500, strings.Count(out, `"task": `))
			}
		})
	}
}

// TestWorkThatNobodyMeasuredIsMeasuredNow: what landed before ralph measured it has its place in the order.
func TestWorkThatNobodyMeasuredIsMeasuredNow(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	landMany(b, 7, false)
	out := b.normal(b.run(0, "review", "--morning"))
	want := `0.63  t-00000001  landed  Task 5: changes protected or CI files: .github/workflows/ci.yml
0.30  t-00000002  landed  Task 6: changes files that check it: six_test.go; 20 lines in 4 files
0.05  t-00000003  landed  Task 0: nothing stands out, 11 lines in 3 files
0.05  t-00000004  landed  Task 1: nothing stands out, 11 lines in 3 files
0.05  t-00000005  landed  Task 2: nothing stands out, 11 lines in 3 files
0.05  t-00000006  landed  Task 3: nothing stands out, 11 lines in 3 files
0.05  t-00000007  landed  Task 4: nothing stands out, 11 lines in 3 files
`
	check.Equal(t, "the order", want, out)
}

// landMany has tasks land that change three files each, and a few more.
func landMany(b *bench, count int, rated bool) {
	b.t.Helper()
	git := func(in string, args ...string) string {
		cmd := exec.CommandContext(b.t.Context(), "git", args...)
		cmd.Dir, cmd.Stdin = b.dir, strings.NewReader(in)
		out, err := cmd.Output()
		check.OK(b.t, err)
		return strings.TrimSpace(string(out))
	}
	git("", "init", "-q", "-b", "main")
	var stream strings.Builder
	for i := range count + 1 {
		message := fmt.Sprintf("Task %d\n\nRalph-Patch: p%d\n", i-1, i-1)
		fmt.Fprintf(&stream, "commit refs/heads/main\ncommitter x <x> %d +0000\ndata %d\n%s\n", i+1, len(message), message)
		files := map[string]int{fmt.Sprintf("d%d/f%d.go", i%20, i): 5, fmt.Sprintf("d%d/g%d.go", i%20, i): 4, "CHANGELOG.md": 1}
		switch i - 1 {
		case 5:
			files[".github/workflows/ci.yml"] = 20
		case 6:
			files["six_test.go"] = 9
		}
		for file, lines := range files {
			text := strings.Repeat(fmt.Sprintf("line of %d\n", i), lines)
			fmt.Fprintf(&stream, "M 644 inline %s\ndata %d\n%s\n", file, len(text), text)
		}
	}
	git(stream.String(), "fast-import", "--quiet")
	commits := strings.Fields(git("", "rev-list", "--reverse", "main"))
	d, err := db.Open(b.t.Context(), filepath.Join(b.dir, ".ralph", "progress.db"), db.Options{})
	check.OK(b.t, err)
	defer d.Close()
	check.OK(b.t, dag.New(d, dag.Options{}).Update(b.t.Context(), func(g *dag.Graph) error {
		run, err := g.History.StartRun(dag.Scope{}, dag.Process{PID: 1})
		for i := 0; i < count && err == nil; i++ {
			err = landOne(g, run, i, commits[i], commits[i+1], rated)
		}
		return err
	}))
}

// landOne adds a task and lands a commit as its work.
func landOne(g *dag.Graph, run dag.Run, i int, onto, commit string, rated bool) error {
	id, err := g.Plan.Add(dag.NewTask{Detail: dag.Detail{Title: fmt.Sprintf("Task %d", i)}})
	if err != nil {
		return err
	}
	c, _, err := g.Queue.Claim(dag.ClaimOptions{Run: run, Scope: dag.Scope{Task: id}, Slots: true})
	if err != nil {
		return err
	}
	m, err := g.Queue.Enter(c, dag.NewMerge{Target: "refs/heads/main", Base: onto, Work: commit, Patch: fmt.Sprintf("p%d", i)})
	steps := []func() error{
		func() error { return g.Queue.Built(c, m.N, onto, commit) },
		func() error { return g.Queue.Tested(c, m.N) },
		func() error {
			if !rated {
				return nil
			}
			return g.Queue.Rate(c, m.N, risk.Of(risk.Facts{Files: []string{"f.go"}, Lines: i}))
		},
		func() error { return g.Queue.Landing(c, m.N, "") },
		func() error { return g.Queue.Landed(c, m.N, "passed") },
	}
	for _, step := range steps {
		if err == nil {
			err = step()
		}
	}
	return err
}
