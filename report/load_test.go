package report_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ralph/dag"
	"ralph/event"
	"ralph/internal/testing/check"
	"ralph/report"
)

// TestAReportIsAboutItsRun holds an old run's report still while the graph goes on.
func TestAReportIsAboutItsRun(t *testing.T) {
	t.Parallel()
	w, before := story(t)
	first := w.run
	failed := before.Failures[0].Task
	w.now = w.now.Add(time.Hour)
	w.update(func(g *dag.Graph) error { return g.Reset(failed) })
	w.begin(dag.Scope{Feature: "parser"})
	w.attempt(try{task: failed, took: time.Second, note: dag.Note{Agent: "claude", Usage: &event.Usage{CostUSD: ptr(9.0)}}})
	w.attempt(try{took: time.Second, note: dag.Note{Agent: "claude"}})
	w.attempt(try{took: time.Second, note: dag.Note{Agent: "claude"}})
	w.add(dag.NewTask{Title: "Came later", Feature: "parser"})
	w.end("complete", "", event.Counts{})
	w.run = first
	after := w.load()
	if len(after.Tasks) != len(before.Tasks) || after.Counts != before.Counts || after.Usage.Cost() != before.Usage.Cost() || len(after.Attempts) != len(before.Attempts) {
		t.Errorf("the report of %s has changed: %+v, was %+v", first.ID, after.Counts, before.Counts)
	}
	for i, task := range after.Tasks {
		if task.Status != before.Tasks[i].Status {
			t.Errorf("%s is %s in the report, was %s", task.ID, task.Status, before.Tasks[i].Status)
		}
	}
	if len(after.Failures) != 1 || after.Failures[0].Now != "done" {
		t.Fatalf("got %+v", after.Failures)
	}
	for _, s := range after.Next {
		if strings.Contains(s.Command, "reset") {
			t.Errorf("it advises to reset what was put right: %s", s.Command)
		}
	}
}

func TestARunThatDiedIsToldAsOne(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.add(dag.NewTask{Title: "Never ended"})
	w.begin(dag.Scope{})
	w.update(func(g *dag.Graph) error {
		_, _, err := g.Claim(dag.ClaimOptions{Run: w.run, Lease: time.Hour, Iteration: 1})
		return err
	})
	w.now = w.now.Add(10 * time.Minute)
	load := func(life dag.Life) report.Run {
		r, err := report.Load(t.Context(), w.store, report.Options{
			Runs: w.runs(), Run: w.run.ID, Now: func() time.Time { return w.now }, Life: func(dag.Process) dag.Life { return life },
		})
		check.OK(t, err)
		return r
	}
	if r := load(dag.Dead); r.Outcome != event.OutcomeDied || r.Attempts[0].Outcome != "interrupted" || r.Duration != 0 || r.Next[0].Command != "ralph run --continue "+w.run.ID {
		t.Errorf("got %s, %+v", r.Outcome, r.Attempts)
	}
	r := load(dag.Alive)
	if r.Outcome != event.OutcomeRunning || r.Attempts[0].Ended() || r.Duration != 10*time.Minute || r.Tasks[0].Status != "in_progress" {
		t.Errorf("got %s, %+v", r.Outcome, r.Attempts)
	}
	var b strings.Builder
	if err := report.JUnit(&b, r); err != nil || !strings.Contains(b.String(), `<error message="it still runs" type="running">`) {
		t.Errorf("got %v, %s", err, b.String())
	}
}

func TestAFileOfEventsThatIsTornOrGoneCostsOnlyItself(t *testing.T) {
	t.Parallel()
	w, _ := story(t)
	path := filepath.Join(w.runs(), w.run.ID, "events.jsonl")
	check.OK(t, os.WriteFile(path, []byte("{\"v\":1,\"type\":\"run_sta\n\xff\xfe\n"+strings.Repeat("x", 9<<20)+"\n{\"type\":\"warning\",\"text\":\"the last line\"}"), 0o600))
	r := w.load()
	if len(r.Warnings) != 1 || r.Warnings[0] != "the last line" || r.Setup != nil || len(r.Attempts) != 8 || len(r.Failures) != 1 {
		t.Errorf("got %q, %d attempts", r.Warnings, len(r.Attempts))
	}
	check.OK(t, os.RemoveAll(w.runs()))
	r = w.load()
	if r.Unread == "" || len(r.Attempts) != 8 || r.Failures[0].Gate == nil || r.Verified != 3 {
		t.Errorf("got %+v", r.Failures)
	}
}

// TestWhatPeopleAndAgentsGiveUpIsKeptApart looks at what only the run's own events or
// the graph tell.
func TestWhatPeopleAndAgentsGiveUpIsKeptApart(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first := w.add(dag.NewTask{Title: "promised FAILURE"})
	second := w.add(dag.NewTask{Title: "given up by a person", After: []string{first}})
	third := w.add(dag.NewTask{Title: "waits", After: []string{second}})
	w.begin(dag.Scope{})
	w.event(event.Event{Type: event.GateEnded, Attempt: "a-00000001", Reason: "before the work", Gate: &event.Gate{Command: "make", Verdict: "failed"}})
	w.event(event.Event{Type: event.GateEnded, Attempt: "a-00000001", Gate: &event.Gate{Command: "make", Passed: true, Verdict: "passed"}})
	w.attempt(try{
		task: first, took: time.Second, note: dag.Note{Agent: "claude"}, status: "pending",
		settle: func(g *dag.Graph, c dag.Claim) error {
			return g.Release(c, dag.Release{Outcome: "failed", Reason: "the agent promised FAILURE"})
		},
	})
	w.update(func(g *dag.Graph) error { return g.GiveUp(second, "no way") })
	w.end("failure", "", event.Counts{})
	w.now = w.now.Add(time.Hour)
	w.update(func(g *dag.Graph) error { return g.Finish(first) })
	r := w.load()
	if got := r.Task(first).Status; got != "pending" {
		t.Errorf("what was released is %s in the report, want pending", got)
	}
	if len(r.Failures) != 1 || r.Failures[0].Task != second || r.Failures[0].Reason != "no way" || r.Failures[0].Attempt != "" || r.Failures[0].Holds != 1 {
		t.Errorf("got %+v", r.Failures)
	}
	if len(r.Waits) != 1 || r.Waits[0].Task != third {
		t.Errorf("got %+v", r.Waits)
	}
	if gates := r.Attempts[0].Gates; len(gates) != 1 || !gates[0].Passed {
		t.Errorf("a gate that was run before the work judges it: %+v", gates)
	}
}

func TestAFailureHoldsUpOnlyWhatIsOpen(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	group := w.add(dag.NewTask{Title: "group"})
	first := w.add(dag.NewTask{Title: "fails", Parent: group})
	w.add(dag.NewTask{Title: "sibling", Parent: group, After: []string{first}})
	behind := w.add(dag.NewTask{Title: "behind the group", After: []string{group}})
	given := w.add(dag.NewTask{Title: "given up", After: []string{first}})
	w.add(dag.NewTask{Title: "far behind", After: []string{behind, given}})
	w.add(dag.NewTask{Title: "elsewhere"})
	w.begin(dag.Scope{})
	w.attempt(try{task: first, took: time.Second, status: "failed", settle: func(g *dag.Graph, c dag.Claim) error { return g.Fail(c, "no") }})
	w.update(func(g *dag.Graph) error { return g.GiveUp(given, "no way") })
	w.end("blocked", "", event.Counts{})
	r := w.load()
	if r.Failures[0].Task != first || r.Failures[0].Holds != 3 {
		t.Errorf("got %+v, want 3 that it holds up", r.Failures[0])
	}
}
