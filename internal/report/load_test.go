package report_test

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"ralph/dag"
	"ralph/internal/event"
	"ralph/internal/report"
	"ralph/internal/testing/check"
	_ "ralph/internal/testing/seeded"
)

// TestAReportIsAboutItsRun holds an old run's report still while the graph changes.
func TestAReportIsAboutItsRun(t *testing.T) {
	t.Parallel()
	w, before := story(t)
	first := w.run
	failed := before.Failures[0].Task
	w.now = w.now.Add(time.Hour)
	w.update(func(g *dag.Graph) error { return g.Tasks.Reset(failed) })
	w.begin(dag.Scope{Feature: "parser"})
	w.attempt(try{task: failed, took: time.Second, note: dag.Note{Agent: "claude", Usage: &event.Usage{CostUSD: ptr(9.0)}}})
	w.attempt(try{took: time.Second, note: dag.Note{Agent: "claude"}})
	w.attempt(try{took: time.Second, note: dag.Note{Agent: "claude"}})
	w.add(dag.NewTask{Detail: dag.Detail{Title: "Came later"}, Feature: "parser"})
	w.end("complete", "", event.Counts{})
	w.run = first
	after := w.load()
	if len(after.Tasks) != len(before.Tasks) || after.Counts != before.Counts || after.Usage.Cost() != before.Usage.Cost() || len(after.Attempts) != len(before.Attempts) {
		t.Errorf("the report of %s has changed: %+v, was %+v", first.ID, after.Counts, before.Counts)
	}
	for i, task := range after.Tasks {
		check.That(t, task.Status == before.Tasks[i].Status, "%s is %s in the report, was %s", task.ID, task.Status, before.Tasks[i].Status)
	}
	if len(after.Failures) != 1 || after.Failures[0].Now != "done" {
		t.Fatalf("got %+v", after.Failures)
	}
	for _, s := range after.Next {
		check.That(t, !strings.Contains(s.Command, "reset"), "it advises to reset what was put right: %s", s.Command)
	}
}

func TestARunThatDiedIsToldAsOne(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.add(dag.NewTask{Detail: dag.Detail{Title: "Never ended"}})
	w.begin(dag.Scope{})
	w.update(func(g *dag.Graph) error {
		_, _, err := g.Queue.Claim(dag.ClaimOptions{Run: w.run, Lease: time.Hour, Iteration: 1})
		return err
	})
	w.now = w.now.Add(10 * time.Minute)
	load := func(life dag.Life) report.Run {
		r, err := report.Load(t.Context(), w.store, report.Options{
			Runs: w.runs(), Run: w.run.ID, Now: func() time.Time { return w.now }, Zone: time.UTC, Life: func(dag.Process) dag.Life { return life },
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
	check.OK(t, report.JUnit(&b, r))
	check.Contains(t, "JUnit", `<error message="it still runs" type="running">`, b.String())
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
	check.That(t, r.Unread != "" && len(r.Attempts) == 8 && r.Failures[0].Gate != nil && r.Verified == 3, "got %+v", r.Failures)
}

// TestWhatPeopleAndAgentsGiveUpIsKeptApart looks at what only the run's own events or
// the graph tell.
func TestWhatPeopleAndAgentsGiveUpIsKeptApart(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first := w.add(dag.NewTask{Detail: dag.Detail{Title: "promised FAILURE"}})
	second := w.add(dag.NewTask{Detail: dag.Detail{Title: "given up by a person"}, After: []string{first}})
	third := w.add(dag.NewTask{Detail: dag.Detail{Title: "waits"}, After: []string{second}})
	w.begin(dag.Scope{})
	w.event(event.Event{Type: event.GateEnded, Attempt: "a-00000001", Reason: "before the work", Gate: &event.Gate{Command: "make", Verdict: "failed"}})
	w.event(event.Event{Type: event.GateEnded, Attempt: "a-00000001", Gate: &event.Gate{Command: "make", Passed: true, Verdict: "passed"}})
	w.attempt(try{
		task: first, took: time.Second, note: dag.Note{Agent: "claude"}, status: "pending",
		settle: func(g *dag.Graph, c dag.Claim) error {
			return g.Queue.Release(c, dag.Release{Outcome: "failed", Reason: "the agent promised FAILURE"})
		},
	})
	w.update(func(g *dag.Graph) error { return g.Tasks.GiveUp(second, "no way") })
	w.end("failure", "", event.Counts{})
	w.now = w.now.Add(time.Hour)
	w.update(func(g *dag.Graph) error { return g.Tasks.Finish(first) })
	r := w.load()
	check.Equal(t, "status of what was released", dag.Pending, r.Task(first).Status)
	if len(r.Failures) != 1 || r.Failures[0].Task != second || r.Failures[0].Reason != "no way" || r.Failures[0].Attempt != "" || r.Failures[0].Holds != 1 {
		t.Errorf("got %+v", r.Failures)
	}
	check.That(t, len(r.Waits) == 1 && r.Waits[0].Task == third, "got %+v", r.Waits)
	gates := r.Attempts[0].Gates
	check.That(t, len(gates) == 1 && gates[0].Passed, "a gate that was run before the work counts: %+v", gates)
}

func TestAFailureHoldsUpOnlyWhatIsOpen(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	group := w.add(dag.NewTask{Detail: dag.Detail{Title: "group"}})
	first := w.add(dag.NewTask{Detail: dag.Detail{Title: "fails"}, Parent: group})
	w.add(dag.NewTask{Detail: dag.Detail{Title: "sibling"}, Parent: group, After: []string{first}})
	behind := w.add(dag.NewTask{Detail: dag.Detail{Title: "behind the group"}, After: []string{group}})
	given := w.add(dag.NewTask{Detail: dag.Detail{Title: "given up"}, After: []string{first}})
	w.add(dag.NewTask{Detail: dag.Detail{Title: "far behind"}, After: []string{behind, given}})
	w.add(dag.NewTask{Detail: dag.Detail{Title: "elsewhere"}})
	w.begin(dag.Scope{})
	w.attempt(try{task: first, took: time.Second, fail: "no"})
	w.update(func(g *dag.Graph) error { return g.Tasks.GiveUp(given, "no way") })
	w.end("blocked", "", event.Counts{})
	r := w.load()
	check.That(t, r.Failures[0].Task == first && r.Failures[0].Holds == 3, "got %+v, want 3 that it holds up", r.Failures[0])
}

// TestNothingIsCountedTwice adds up the same receipts under every heading.
func TestNothingIsCountedTwice(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var receipts []dag.Receipt
		var cents, known, silent int
		for i := range rapid.IntRange(0, 40).Draw(t, "attempts") {
			r := dag.Receipt{Attempt: dag.Attempt{
				ID: fmt.Sprint("a-", i), Run: rapid.SampledFrom([]string{"r-1", "r-2"}).Draw(t, "run"),
				Task: rapid.SampledFrom([]string{"t-1", "t-2", "t-3"}).Draw(t, "task"), Agent: rapid.SampledFrom([]string{"", "claude", "codex"}).Draw(t, "agent"),
				Model: rapid.SampledFrom([]string{"", "opus"}).Draw(t, "model"), ModelEffective: rapid.SampledFrom([]string{"", "claude-opus"}).Draw(t, "effective"),
				Usage: event.Usage{Estimated: rapid.Bool().Draw(t, "estimated")}, Outcome: rapid.SampledFrom([]event.AttemptOutcome{event.AttemptDone, event.AttemptFailed, event.AttemptRetried}).Draw(t, "outcome"),
			}}
			if rapid.Bool().Draw(t, "tells") {
				c := rapid.IntRange(0, 500).Draw(t, "cents")
				cost := float64(c) / 100
				r.CostUSD = &cost
				cents, known = cents+c, known+1
			}
			if r.Unknown = r.Agent != "" && rapid.Bool().Draw(t, "hides"); r.Unknown {
				silent++
			}
			receipts = append(receipts, r)
		}
		for name, key := range map[string]func(dag.Receipt) (string, string){
			"model": func(r dag.Receipt) (string, string) { return report.ModelOf(r), "" },
			"task":  func(r dag.Receipt) (string, string) { return r.Task, "" },
			"agent": func(r dag.Receipt) (string, string) { return r.Agent, "" },
			"run":   func(r dag.Receipt) (string, string) { return r.Run, "" },
		} {
			total := report.Total(report.Spend(receipts, key))
			u := total.Usage
			if u.Attempts != len(receipts) || u.Known != known || u.Silent != silent || math.Abs(u.Cost()*100-float64(cents)) > 1e-6 {
				t.Fatalf("by %s: %+v, want %d attempts, %d cents, %d known, %d silent", name, u, len(receipts), cents, known, silent)
			}
			if (u.CostUSD == nil) != (known == 0) {
				t.Fatalf("by %s: an unknown cost is shown as %v", name, u.CostUSD)
			}
		}
	})
}

func TestCostSaysWhatIsUnknownAndWhatIsEstimated(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		usage report.Usage
		want  string
	}{
		"nothing happened":         {report.Usage{}, "nothing"},
		"no agent reported it":     {report.Usage{Silent: 2}, "unknown"},
		"all reported":             {report.Usage{Usage: usd(1.5), Known: 2}, "$1.50"},
		"free is not unknown":      {report.Usage{Known: 1}, "$0.00"},
		"a part was reported":      {report.Usage{Usage: usd(2), Known: 1, Silent: 1, Partly: 1}, "at least $2.00 (1 of 1 attempts did not report it)"},
		"only as a verifier":       {report.Usage{Usage: usd(2), Known: 1, Silent: 1, Parts: 2}, "at least $2.00"},
		"a part was free":          {report.Usage{Known: 1, Silent: 1, Partly: 1}, "unknown"},
		"less than a cent":         {report.Usage{Usage: usd(0.0042), Known: 1}, "$0.0042"},
		"all estimated":            {report.Usage{Usage: usd(2), EstimatedUSD: 2, Known: 1, Guessed: 1}, "about $2.00 (estimated)"},
		"some estimated":           {report.Usage{Usage: usd(2), EstimatedUSD: 0.5, Known: 2, Guessed: 1}, "$2.00 ($0.50 of it estimated)"},
		"some silent":              {report.Usage{Usage: usd(2), Known: 2, Silent: 1}, "at least $2.00 (1 of 3 attempts did not report it)"},
		"estimated, others silent": {report.Usage{Usage: usd(2), EstimatedUSD: 2, Known: 1, Guessed: 1, Silent: 1}, "at least about $2.00 (estimated; 1 of 2 attempts did not report it)"},
	} {
		check.Equal(t, name, tc.want, tc.usage.CostWords())
	}
}

func TestAllOfTheInputMayComeFromACache(t *testing.T) {
	t.Parallel()
	share := report.Usage{Usage: event.Usage{TokensCached: 10}}.CachedShare()
	check.That(t, share != nil && *share == 1, "got %v", share)
}

func TestStatsCountWhatModelsAreAnsweredFor(t *testing.T) {
	t.Parallel()
	began := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	var receipts []dag.Receipt
	for i := 1; i <= 20; i++ {
		r := dag.Receipt{Attempt: dag.Attempt{Agent: "claude", ModelEffective: "opus", StartedAt: began, EndedAt: began.Add(time.Duration(i) * time.Second), Outcome: "done"}}
		if i > 15 {
			r.Outcome, r.GatesJSON = "retried", `[{"command":"go test","passed":false},{"command":"","passed":true}]`
		}
		receipts = append(receipts, r)
	}
	receipts = append(receipts,
		dag.Receipt{Attempt: dag.Attempt{Agent: "claude", Outcome: "interrupted", StartedAt: began, EndedAt: began.Add(time.Hour)}},
		dag.Receipt{Attempt: dag.Attempt{Agent: "claude", Outcome: "limited", StartedAt: began, EndedAt: began.Add(time.Hour)}},
		dag.Receipt{Attempt: dag.Attempt{Agent: "claude", StartedAt: began}, GatesJSON: "not JSON"}) // it runs
	s := report.StatsOf(receipts)
	check.That(t, s.All.Attempts == 20 && s.All.Done == 15 && s.All.P50 == 10*time.Second && s.All.P95 == 19*time.Second, "got %+v", s.All)
	check.That(t, len(s.Gates) == 1 && s.Gates[0] == (report.GateCount{Command: "go test", Runs: 5, Failed: 5}), "got %+v", s.Gates)
	check.That(t, s.Outcomes["interrupted"] == 1 && s.Outcomes["limited"] == 1, "got %v", s.Outcomes)
}

func usd(cost float64) event.Usage { return event.Usage{CostUSD: &cost} }
