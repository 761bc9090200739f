package dag_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"ralph/dag"
	"ralph/internal/event"
	"ralph/internal/testing/check"
)

func TestReceiptsTellEverythingThatWasNoted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.add(dag.NewTask{Detail: dag.Detail{Title: "Build it"}, Feature: "login"})
	cost := 0.5
	used := event.Usage{TokensIn: 10, TokensCached: 20, TokensOut: 30, CostUSD: &cost}
	note := dag.Note{
		Agent: "claude", Model: "opus", ModelEffective: "claude-opus", Sandbox: "full", StopReason: "end_turn", Verdict: "pass",
		Usage: &used, Files: []string{"a.go"}, Base: "abc",
	}
	var attempts []string
	for i, end := range []string{"release", "complete"} {
		c := w.take("Build it", dag.ClaimOptions{Iteration: i + 1})
		attempts = append(attempts, c.Attempt)
		w.pass(time.Minute)
		w.update(func(g *dag.Graph) error {
			return errors.Join(g.History.NoteAttempt(c.Attempt, note), returns()[end](g, c))
		})
	}
	receipts := func(f dag.ReceiptFilter) []dag.Receipt {
		return get(w, func(g *dag.Graph) ([]dag.Receipt, error) { return g.History.Receipts(f) })
	}
	first := dag.Receipt{Title: "Build it", Feature: "login", Verification: "passed", GatesJSON: "[]", Attempt: dag.Attempt{
		ID: attempts[0], Run: w.run.ID, Task: id, Iteration: 1, Phase: dag.Settled, Agent: "claude", Model: "opus", ModelEffective: "claude-opus", Sandbox: "full",
		StartedAt: start, EndedAt: start.Add(time.Minute), Outcome: "released", Reason: "no answer", StopReason: "end_turn", Verdict: "pass", Usage: used,
		Files: []string{"a.go"}, Base: "abc",
	}}
	second := first
	second.ID, second.Iteration, second.Outcome, second.Reason, second.Last = attempts[1], 2, "done", "", true
	second.StartedAt, second.EndedAt = first.EndedAt, first.EndedAt.Add(time.Minute)
	check.Equal(t, "receipts of the run", []dag.Receipt{first, second}, receipts(dag.ReceiptFilter{Run: w.run.ID}))
	w.update(func(g *dag.Graph) error { return g.Plan.Delete(id) })
	list := receipts(dag.ReceiptFilter{})
	check.That(t, len(list) == 2 && list[0].Task == id && list[0].Title == "" && *list[0].CostUSD == cost, "what a deleted task cost is forgotten: %+v", list)
}

func TestRunsAreFoundByPrefix(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var second dag.Run
	w.update(func(g *dag.Graph) (err error) {
		second, err = g.History.StartRun(dag.Scope{}, dag.Process{})
		return err
	})
	newest := func(limit int) []dag.Run {
		return get(w, func(g *dag.Graph) ([]dag.Run, error) { return g.History.Runs(limit) })
	}
	check.Equal(t, "all runs", []dag.Run{second, w.run}, newest(0))
	check.Equal(t, "the newest run", []dag.Run{second}, newest(1))
	for typed, want := range map[string]error{second.ID[2:]: nil, "r-0": dag.ErrAmbiguous, "": dag.ErrNotFound, "r-": dag.ErrNotFound, "r-none": dag.ErrNotFound} {
		r, err := dag.Run{}, error(nil)
		w.view(func(g *dag.Graph) error { r, err = g.History.ResolveRun(typed); return nil })
		check.That(t, errors.Is(err, want) && (want != nil || r.ID == second.ID), "%q: got %s, %v, want %v", typed, r.ID, err, want)
	}
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
			tasks, err := g.Tasks.In(tc.scope)
			check.OK(t, err)
			var got []string
			for _, task := range tasks {
				got = append(got, task.ID)
			}
			check.Equal(t, name, tc.want, got)
		}
		return nil
	})
	check.Equal(t, "edges", []dag.Edge{{Blocker: group, Blocked: other}}, get(w, func(g *dag.Graph) ([]dag.Edge, error) { return g.Tasks.Edges() }))
	w.update(func(g *dag.Graph) error { return g.Tasks.GiveUp(other, "no way") })
	check.Equal(t, "failures", map[string]string{other: "no way"}, get(w, func(g *dag.Graph) (map[string]string, error) { return g.Tasks.Failures() }))
}

// TestAnOutlineSaysTheSameAsTheTasks, of everything, of a feature and of a group.
func TestAnOutlineSaysTheSameAsTheTasks(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.plan("group feature login", "below in group", "first", "second after first", "third", "finished prio 99")
	w.person(func(g *dag.Graph, id string) error { return g.Tasks.Pause(id) }, "third")
	c := w.claim("finished")
	w.update(func(g *dag.Graph) error { return g.Queue.Release(c, dag.Release{Uncounted: true, Finished: true}) })
	w.view(func(g *dag.Graph) error {
		for _, scope := range []dag.Scope{{}, {Feature: "login"}, {Task: w.id("group")}, {Task: "t-none"}, {Feature: "none"}} {
			outline, err := g.Tasks.Outline(scope)
			check.OK(t, err)
			tasks, err := g.Tasks.In(scope)
			check.OK(t, err)
			var want []dag.Outline
			numbers := map[string]int64{}
			for _, task := range tasks {
				numbers[task.ID] = task.N
				want = append(want, dag.Outline{
					N: task.N, Parent: numbers[task.Parent], ID: task.ID, Title: task.Title, Status: task.Status, Children: task.Children, OpenDeps: task.OpenDeps,
					Held: task.Held, Doomed: task.Doomed, Paused: task.Paused, Unverified: task.Unverified != "", ToReview: task.ToReview, Stands: task.StandsOn != "", NotBefore: task.NotBefore,
				})
			}
			check.Equal(t, fmt.Sprintf("outline of %+v", scope), want, outline)
			for i, o := range outline {
				check.Equal(t, o.Title+" is ready", tasks[i].Ready(w.clock()), o.Ready(w.clock()))
			}
		}
		return nil
	})
}
