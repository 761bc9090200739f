package dag_test

import (
	"strings"
	"testing"
	"time"

	"ralph/dag"
	"ralph/internal/testing/check"
)

// nasty are texts that have broken other programs.
var nasty = map[string]string{
	"quotes":      `it's "quoted" \ and ''doubled''; DROP TABLE tasks;--`,
	"newlines":    "one\ntwo\r\nthree\ttab",
	"emoji":       "👩‍👩‍👧‍👦 é 漢字 \u202eabc",
	"10 kB":       strings.Repeat("0123456789abcdé", 640),
	"parameters":  ":id @x $y ?1 %s %d %%",
	"json":        `{"a":["b",null]} <&>`,
	"nul as text": `\x00 \u0000`,
}

func TestTrapEveryColumnOfATaskSurvivesTheTable(t *testing.T) {
	t.Parallel()
	retries := 7
	for name, text := range nasty {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.plan("group feature f", "blocker")
			blocker, group := w.id("blocker"), w.id("group")
			id := w.add(dag.NewTask{
				Detail: dag.Detail{Title: text, Description: text + text, Priority: -1 << 62, Kind: dag.Check, Agent: text + " agent", Model: text + " model", Effort: dag.HighEffort, Gates: []string{text, "go test ./..."}, MaxRetries: &retries}, Parent: group, After: []string{blocker},
			})
			want := dag.Task{
				N: 3, ID: id, Detail: dag.Detail{Title: text, Description: text + text, Priority: -1 << 62, Kind: dag.Check, Agent: text + " agent", Model: text + " model", Effort: dag.HighEffort, Gates: []string{text, "go test ./..."}, MaxRetries: &retries}, Status: dag.Pending,
				Parent: group, Feature: "f", CreatedAt: start, UpdatedAt: start, OpenDeps: 1,
			}
			check.Equal(t, "added", want, w.task(id))
			w.pass(time.Hour)
			w.work("blocker")
			c := w.take(text, dag.ClaimOptions{Lease: 90 * time.Second})
			claimed := want
			now := start.Add(time.Hour)
			claimed.Status, claimed.Owner, claimed.Generation = dag.InProgress, w.run.Owner, 1
			claimed.OpenDeps, claimed.UpdatedAt, claimed.StartedAt, claimed.LeaseUntil = 0, now, now, now.Add(90*time.Second)
			check.Equal(t, "claimed", claimed, c.Task)
			w.update(func(g *dag.Graph) error {
				return g.Queue.Release(c, dag.Release{Reason: text, NotBefore: now.Add(time.Minute), Wait: text})
			})
			released := claimed
			released.Status, released.Owner, released.LeaseUntil = dag.Pending, "", time.Time{}
			released.NotBefore, released.WaitReason, released.Attempts = now.Add(time.Minute), text, 1
			check.Equal(t, "released", released, w.task(id))
		})
	}
}

func TestTrapEveryColumnOfAPlanSurvivesTheTable(t *testing.T) {
	t.Parallel()
	retries := 0
	for name, text := range nasty {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			var ids []string
			w.update(func(g *dag.Graph) (err error) {
				ids, err = g.Plan.Import([]dag.Spec{
					{Line: 1, Ref: "t-deadbeef", Detail: dag.Detail{Title: "p"}, Feature: "made.now"},
					{
						Line: 2, Ref: text, Detail: dag.Detail{Title: text, Description: text, Priority: 1<<63 - 1, Kind: dag.Check, Agent: text + " agent", Model: text + " model", Effort: dag.HighEffort, Gates: []string{text}, MaxRetries: &retries, Tags: []string{"api", "q3"}, Context: []string{text}, Output: "plan", Timeout: 90 * time.Second, OnFail: dag.Continue}, Parent: "t-deadbeef", Origin: "github:o/r#1", DiscoveredFrom: "t-deadbeef",
						Status: dag.Done, Retries: 2, Verification: "passed",
					},
					{Line: 3, Detail: dag.Detail{Title: "last"}, Parent: "t-deadbeef", After: []string{text}, Feature: "MADE.now"},
				})
				return err
			})
			want := []dag.Task{
				{
					N: 1, ID: "t-deadbeef", Detail: dag.Detail{Title: "p", Kind: dag.Work}, Status: dag.Pending, Feature: "made.now",
					CreatedAt: start, UpdatedAt: start, Children: 2,
				},
				{
					N: 2, ID: ids[1], Detail: dag.Detail{Title: text, Description: text, Priority: 1<<63 - 1, Kind: dag.Check, Agent: text + " agent", Model: text + " model", Effort: dag.HighEffort, Gates: []string{text}, MaxRetries: &retries, Tags: []string{"api", "q3"}, Context: []string{text}, Output: "plan", Timeout: 90 * time.Second, OnFail: dag.Continue}, Status: dag.Done,
					Parent: "t-deadbeef", Feature: "made.now", Retries: 2, Verification: "passed", CreatedAt: start, UpdatedAt: start, FinishedAt: start,
					Satisfies: true, Origin: "github:o/r#1", DiscoveredFrom: "t-deadbeef",
				},
				{
					N: 3, ID: ids[2], Detail: dag.Detail{Title: "last", Kind: dag.Work}, Status: dag.Pending, Parent: "t-deadbeef", Feature: "made.now", CreatedAt: start, UpdatedAt: start,
				},
			}
			got := get(w, func(g *dag.Graph) ([]dag.Task, error) { return g.Tasks.List(dag.Filter{}) })
			check.Equal(t, "imported", want, got)
			w.sound()
		})
	}
}

func TestEditChangesWhatItNamesAndNothingElse(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	two := 2
	id := w.add(dag.NewTask{Detail: dag.Detail{Title: "a", Description: "old", Priority: 3, Agent: "x", Model: "y", Effort: dag.LowEffort, Gates: []string{"make"}, MaxRetries: &two}})
	want := w.task(id)
	w.pass(time.Minute)
	w.update(func(g *dag.Graph) error { return g.Plan.Edit(id, dag.Detail{}) })
	want.UpdatedAt = start.Add(time.Minute)
	check.Equal(t, "an empty edit", want, w.task(id))
	w.update(func(g *dag.Graph) error {
		to := dag.Detail{Title: "b", Kind: dag.Check, Priority: -4, Effort: dag.MediumEffort, Model: "is not named"}
		return g.Plan.Edit(id, to, "title", "description", "agent", "kind", "priority", "gates", "max_retries", "effort")
	})
	want.Effort = dag.MediumEffort
	want.Title, want.Description, want.Agent, want.Kind, want.Priority, want.Gates, want.MaxRetries = "b", "", "", dag.Check, -4, nil, nil
	check.Equal(t, "edited", want, w.task(id))
	w.refused(dag.ErrRefused, func(g *dag.Graph) error { return g.Plan.Edit(id, dag.Detail{}, "title") })
	w.refused(dag.ErrRefused, func(g *dag.Graph) error { return g.Plan.Edit(id, dag.Detail{Kind: "game"}, "kind") })
	w.refused(dag.ErrRefused, func(g *dag.Graph) error { return g.Plan.Edit(id, dag.Detail{Effort: "max"}, "effort") })
	w.refused(dag.ErrRefused, func(g *dag.Graph) error { return g.Plan.Edit(id, dag.Detail{}, "status") })
	w.refused(dag.ErrNotFound, func(g *dag.Graph) error { return g.Plan.Edit("t-00000000", dag.Detail{}) })
}
