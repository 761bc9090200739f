package dag_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ralph/dag"
	"ralph/event"
	"ralph/internal/testing/check"
)

func TestReceiptsTellEverythingThatWasNoted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.add(dag.NewTask{Title: "Build it", Feature: "login"})
	in, cached, out, cost := int64(10), int64(20), int64(30), 0.5
	var first string
	for i := range 2 {
		c := w.take("Build it", dag.ClaimOptions{Iteration: i + 1})
		w.pass(time.Minute)
		w.update(func(g *dag.Graph) error {
			err := g.NoteAttempt(c.Attempt, dag.Note{
				Agent: "claude", Model: "opus", ModelEffective: "claude-opus", Sandbox: "full", StopReason: "end_turn", Verdict: "pass",
				Usage: &event.Usage{TokensIn: in, TokensCached: cached, TokensOut: out, CostUSD: &cost}, Files: []string{"a.go"}, Base: "abc",
			})
			if err != nil {
				return err
			}
			if i == 0 {
				first = c.Attempt
				return g.Release(c, dag.Release{Reason: "nothing"})
			}
			return g.Complete(c, "passed")
		})
	}
	w.view(func(g *dag.Graph) error {
		list, err := g.Receipts(dag.ReceiptFilter{Run: w.run.ID})
		if err != nil {
			return err
		}
		want := dag.Receipt{
			ID: first, Run: w.run.ID, Task: id, Title: "Build it", Feature: "login", Verification: "passed", Iteration: 1, Phase: dag.Settled,
			Agent: "claude", Model: "opus", ModelEffective: "claude-opus", Sandbox: "full", StartedAt: start, EndedAt: start.Add(time.Minute),
			Outcome: "released", Reason: "nothing", StopReason: "end_turn", Verdict: "pass", Gates: "[]",
			Usage: event.Usage{TokensIn: in, TokensCached: cached, TokensOut: out, CostUSD: &cost}, Files: []string{"a.go"}, Base: "abc",
		}
		check.Equal(t, "result", want, list[0])
		if len(list) != 2 || !list[1].Last || list[0].Last {
			t.Errorf("got %d receipts, the last one is not marked", len(list))
		}
		return nil
	})
	w.update(func(g *dag.Graph) error { return g.Delete(id) })
	w.view(func(g *dag.Graph) error {
		list, err := g.Receipts(dag.ReceiptFilter{})
		if len(list) != 2 || list[0].Task != id || list[0].Title != "" || *list[0].CostUSD != cost {
			t.Errorf("what a deleted task cost is forgotten: %+v", list)
		}
		return err
	})
}

func TestRunsAreFoundByPrefix(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var second dag.Run
	w.update(func(g *dag.Graph) (err error) { second, err = g.StartRun(dag.Scope{}, dag.Process{}); return err })
	w.view(func(g *dag.Graph) error {
		runs, err := g.Runs(0)
		if err != nil || len(runs) != 2 || runs[0].ID != second.ID {
			t.Errorf("the newest run is not first: %+v, %v", runs, err)
		}
		if one, err := g.Runs(1); err != nil || len(one) != 1 {
			t.Errorf("got %d runs, %v", len(one), err)
		}
		if r, err := g.ResolveRun(second.ID[2:]); err != nil || r.ID != second.ID {
			t.Errorf("got %+v, %v", r, err)
		}
		if _, err := g.ResolveRun("r-0"); !errors.Is(err, dag.ErrAmbiguous) {
			t.Errorf("got %v", err)
		}
		for _, typed := range []string{"", "r-", "r-none"} {
			if _, err := g.ResolveRun(typed); !errors.Is(err, dag.ErrNotFound) {
				t.Errorf("%q: got %v", typed, err)
			}
		}
		return nil
	})
}

func TestAScopeListsItsTasksEvenWhenItIsGone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.plan("group feature login", "child in group", "other after group")
	group, child, other := w.id("group"), w.id("child"), w.id("other")
	w.view(func(g *dag.Graph) error {
		for name, tc := range map[string]struct {
			scope dag.Scope
			want  []string
		}{
			"everything":       {dag.Scope{}, []string{group, child, other}},
			"a feature":        {dag.Scope{Feature: "login"}, []string{group, child}},
			"a subtree":        {dag.Scope{Task: group}, []string{group, child}},
			"a feature gone":   {dag.Scope{Feature: "nope"}, nil},
			"a task that went": {dag.Scope{Task: "t-none"}, nil},
		} {
			tasks, err := g.In(tc.scope)
			if err != nil {
				return err
			}
			var got []string
			for _, task := range tasks {
				got = append(got, task.ID)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s: %s", name, diff)
			}
		}
		edges, err := g.Edges()
		check.Equal(t, "result", []dag.Edge{{Blocker: group, Blocked: other}}, edges)
		return err
	})
	w.update(func(g *dag.Graph) error { return g.GiveUp(other, "no way") })
	check.Equal(t, "failures", map[string]string{other: "no way"}, get(w, (*dag.Graph).Failures))
}

// TestAnOutlineSaysTheSameAsTheTasks, of everything, of a feature and of a group.
func TestAnOutlineSaysTheSameAsTheTasks(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.plan("group feature login", "below in group", "first", "second after first", "third", "finished prio 99")
	w.person((*dag.Graph).Pause, "third")
	c := w.claim("finished")
	w.update(func(g *dag.Graph) error { return g.Release(c, dag.Release{Uncounted: true, Finished: true}) })
	w.view(func(g *dag.Graph) error {
		for _, scope := range []dag.Scope{{}, {Feature: "login"}, {Task: w.id("group")}, {Task: "t-none"}, {Feature: "none"}} {
			outline, err := g.Outline(scope)
			if err != nil {
				return err
			}
			tasks, err := g.In(scope)
			if err != nil {
				return err
			}
			var want []dag.Outline
			numbers := map[string]int64{}
			for _, task := range tasks {
				numbers[task.ID] = task.N
				want = append(want, dag.Outline{
					N: task.N, Parent: numbers[task.Parent], ID: task.ID, Title: task.Title, Status: task.Status, Children: task.Children, OpenDeps: task.OpenDeps,
					Held: task.Held, Doomed: task.Doomed, Paused: task.Paused, Unverified: task.Unverified != "", NotBefore: task.NotBefore,
				})
			}
			if diff := cmp.Diff(want, outline); diff != "" {
				t.Errorf("%+v (-tasks +outline):\n%s", scope, diff)
			}
			for i, o := range outline {
				if got, want := o.Ready(w.clock()), tasks[i].Ready(w.clock()); got != want {
					t.Errorf("%s: ready %v, want %v", o.Title, got, want)
				}
			}
		}
		return nil
	})
}
