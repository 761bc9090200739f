package dag_test

import (
	"errors"
	"testing"
	"time"

	"pgregory.net/rapid"

	"ralph/dag"
	"ralph/internal/testing/raced"
)

// TestRandomOperationsAgreeWithTheModel runs random operations on a real file
// and, after each one, compares all that can be seen with the naive model.
func TestRandomOperationsAgreeWithTheModel(t *testing.T) {
	raced.Long(t, "operations are compared one by one here")
	t.Parallel()
	checkWorlds(t, func(rt *rapid.T, w *world) {
		x := newMachine(rt, w)
		rt.Repeat(map[string]func(*rapid.T){
			"":            x.compare,
			"add":         x.add,
			"add more":    x.add,
			"link":        x.link,
			"link more":   x.link,
			"unlink":      x.unlink,
			"claim":       x.claim,
			"claim more":  x.claim,
			"heartbeat":   func(rt *rapid.T) { x.settle(rt, returns()["heartbeat"], func(*modelTask, heldClaim) {}) },
			"complete":    x.worker("complete", dag.Done),
			"fail":        x.worker("fail", dag.Failed),
			"release":     x.release,
			"retry":       x.retry,
			"finish":      x.byHand(finish, (*model).finish),
			"give up":     x.byHand(giveUp, (*model).giveUp),
			"block":       x.byHand(block, (*model).block),
			"unblock":     x.byHand(unblock, (*model).unblock),
			"reset":       x.byHand(reset, (*model).resetByHand),
			"reset tree":  x.resetTree,
			"reset all":   x.resetFailed,
			"delete":      x.remove,
			"delete tree": x.removeTree,
			"move":        x.move,
			"set feature": x.setFeature,
			"edit":        x.edit,
			"edit more":   x.editMeaning,
			"cancel":      x.cancel,
			"import":      x.importPlan,
			"time passes": x.pass,

			"enter":          x.enter,
			"enter more":     x.enter,
			"built":          x.built,
			"tested":         x.tested,
			"landing":        x.landing,
			"landed":         x.landed,
			"drop":           x.drop,
			"hold":           x.hold,
			"accept":         x.byHand(accept, (*model).accept),
			"reject":         x.byHand(func(g *dag.Graph, id string) error { return g.Queue.Reject(id, "no") }, (*model).reject),
			"settle landing": x.settleLanding,
		})
	})
}

// machine does each operation to the file and to the model.
type machine struct {
	w      *world
	m      *model
	claims []heldClaim
}

type heldClaim struct {
	dag.Claim
	serial int
	entry  *int64     // the last that it entered
	work   int        // the claim that did the work which it has: its own, or one that was resumed
	was    dag.Status // what the task was when a person accepted that
	at     time.Time
}

func newMachine(rt *rapid.T, w *world) *machine {
	x := &machine{w: w, m: newModel(w.clock(), "alpha", "beta")}
	for _, name := range x.m.features {
		w.update(func(g *dag.Graph) error { _, err := g.Plan.AddFeature(name); return err })
	}
	if rapid.Bool().Draw(rt, "begin with groups in groups") {
		x.addPlan(rt, []dag.Spec{
			{Line: 1, Ref: "top", Detail: dag.Detail{Title: "top"}},
			{Line: 2, Ref: "group", Detail: dag.Detail{Title: "group"}, Parent: "top"},
			{Line: 3, Ref: "inner", Detail: dag.Detail{Title: "inner"}, Parent: "group"},
			{Line: 4, Ref: "a", Detail: dag.Detail{Title: "a"}, Parent: "inner"},
			{Line: 5, Ref: "b", Detail: dag.Detail{Title: "b"}, Parent: "inner"},
			{Line: 6, Ref: "c", Detail: dag.Detail{Title: "c"}, Parent: "group"},
			{Line: 7, Ref: "later", Detail: dag.Detail{Title: "later"}, After: []string{"group"}},
			{Line: 8, Ref: "d", Detail: dag.Detail{Title: "d"}, Parent: "later"},
		})
	}
	return x
}

// some draws a task, or "" if there is none.
func (x *machine) some(rt *rapid.T, label string) string {
	ids := x.m.ids()
	if len(ids) == 0 {
		rt.Skip("no task yet")
	}
	return rapid.SampledFrom(ids).Draw(rt, label)
}

// maybe draws a task or "".
func (x *machine) maybe(rt *rapid.T, label string) string {
	if len(x.m.tasks) == 0 || rapid.Bool().Draw(rt, "no "+label) {
		return ""
	}
	return x.some(rt, label)
}

func (x *machine) feature(rt *rapid.T) string {
	return rapid.SampledFrom(append([]string{"", ""}, x.m.features...)).Draw(rt, "feature")
}

// agree demands that file and model gave the same verdict.
func (x *machine) agree(rt *rapid.T, got, want error) {
	rt.Helper()
	ok := errors.Is(got, want)
	if errors.Is(want, errCycle) {
		var cycle *dag.CycleError
		ok = errors.As(got, &cycle) && errors.Is(got, dag.ErrRefused)
	}
	if !ok {
		rt.Fatalf("got %v, want %v", got, want)
	}
}

func (x *machine) pass(rt *rapid.T) {
	d := time.Duration(rapid.IntRange(1, 8000).Draw(rt, "milliseconds")) * time.Millisecond
	x.w.pass(d)
	x.m.now = x.w.clock()
}
