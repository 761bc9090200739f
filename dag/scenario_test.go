package dag_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ralph/dag"
	"ralph/internal/testing/check"
)

// step is what a line of a scenario does to the graph: a verb and titles.
func (w *world) step(line string) func(*dag.Graph) error {
	verb, rest, _ := strings.Cut(line, " ")
	args := strings.Fields(rest)
	id := func(i int) string { return w.id(args[i]) }
	return map[string]func(*dag.Graph) error{
		"link":         func(g *dag.Graph) error { return g.Plan.Link(id(0), id(1)) }, // the second waits for the first
		"unlink":       func(g *dag.Graph) error { return g.Plan.Unlink(id(0), id(1)) },
		"move":         func(g *dag.Graph) error { return g.Plan.Move(id(0), id(1)) },
		"move-up":      func(g *dag.Graph) error { return g.Plan.Move(id(0), "") },
		"finish":       func(g *dag.Graph) error { return g.Tasks.Finish(id(0)) },
		"give-up":      func(g *dag.Graph) error { return g.Tasks.GiveUp(id(0), "") },
		"block":        func(g *dag.Graph) error { return g.Tasks.Block(id(0), "") },
		"unblock":      func(g *dag.Graph) error { return g.Tasks.Unblock(id(0)) },
		"reset":        func(g *dag.Graph) error { return g.Tasks.Reset(id(0)) },
		"reset-tree":   func(g *dag.Graph) error { return resetTree(g, id(0)) },
		"reset-failed": func(g *dag.Graph) error { _, err := g.Tasks.ResetFailed(w.id(rest)); return err },
		"delete":       func(g *dag.Graph) error { return g.Plan.Delete(id(0)) },
		"add": func(g *dag.Graph) error { // title, parent, what it waits for
			nt := dag.NewTask{Detail: dag.Detail{Title: args[0]}, Parent: id(1)}
			if len(args) > 2 {
				nt.After = []string{id(2)}
			}
			_, err := g.Plan.Add(nt)
			return err
		},
		"import": func(g *dag.Graph) error { // title, parent, status
			_, err := g.Plan.Import([]dag.Spec{{Line: 1, Detail: dag.Detail{Title: args[0]}, Parent: id(1), Status: dag.Status(args[2])}})
			return err
		},
	}[verb]
}

// play does the lines of a scenario and fails the test where one does not hold.
func (w *world) play(script string) {
	w.t.Helper()
	claims := map[string]dag.Claim{}
	for line := range strings.Lines(script) {
		verb, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		args := append([]string(nil), strings.Fields(rest)...)
		switch verb {
		case "":
		case "plan":
			w.plan(strings.Split(rest, "; ")...)
		case "work":
			w.work(rest)
		case "spoil":
			w.spoil(rest)
		case "claim":
			claims[rest] = w.claim(rest)
		case "complete", "release", "retry":
			w.update(func(g *dag.Graph) error { return returns()[verb](g, claims[rest]) })
		case "next": // what a run claims
			w.take(rest, dag.ClaimOptions{})
		case "next-keep-going":
			w.take(rest, dag.ClaimOptions{KeepGoing: true})
		case "none", "none-keep-going":
			if c, ok := w.next(dag.ClaimOptions{KeepGoing: verb != "none"}); ok {
				w.t.Errorf("%s: claimed %s", line, c.Task.Title)
			}
		case "ready":
			w.wantReady(args...)
		case "statuses": // title=status
			want := map[string]dag.Status{}
			for _, arg := range args {
				title, status, _ := strings.Cut(arg, "=")
				want[title] = dag.Status(status)
			}
			w.wantStatuses(want)
		case "feature":
			w.wantFeature("f", dag.FeatureStatus(rest))
		case "refused":
			w.refused(dag.ErrRefused, w.step(rest))
		case "missing":
			w.refused(dag.ErrNotFound, w.step(rest))
		default:
			w.update(w.step(strings.TrimSpace(line)))
			w.leave()
		}
	}
	w.sound()
}

// What several scenarios begin with.
const (
	oneSpoiled = `
		plan top; group in top; a in group; b in group; c in group; d in top
		spoil a
		`
	allDone = `
		plan top; group in top; a in group; later after top
		work a
		statuses top=done group=done
		`
	twoBelow = "plan top; group in top; a in group; b in group\n"
	// b is still to be given up where it matters.
	aGivenUp = `
		plan top feature f; group in top; a in group; b in group; c in top
		give-up a
		ready
		feature failed
		`
	waitedFor = `
		plan group; a in group; after-group after group; after-leaf after a; waiting after group; below in waiting
		work a
		ready after-group after-leaf below
		`
	deep = "plan top; group in top; inner in group; deeper in inner; a in deeper; b in group\n"
)

func TestScenarios(t *testing.T) {
	t.Parallel()
	scenarios := map[string]string{
		"a dependency on a group makes its leaves wait": `
			plan first; group after first; inner in group; leaf in inner; sibling in group
			ready first
			plan late in inner
			ready first
			work first
			ready leaf sibling late
			unlink first group
			plan second
			link second group
			ready second
			delete second
			ready leaf sibling late`,
		"a group that a person blocked holds its leaves, and what runs may end": `
			plan group feature f; inner in group; a in inner; b in inner
			claim a
			block group
			ready
			none-keep-going
			complete a
			finish b
			statuses inner=done group=blocked
			feature running
			unblock group
			feature done
			statuses group=done`,
		"a parent that is done because its subtasks are unblocks what waited for it": `
			plan top; group in top; a in group; b in group; after-group after group; after-top after top; waiting after top; below in waiting
			work a
			ready b
			work b
			statuses group=done top=done
			ready after-group after-top below`,
		"a failed grandparent stops all its leaves": `
			plan top; group in top; inner in group; deep in inner; near in top; elsewhere
			spoil near
			statuses top=failed group=pending inner=pending deep=pending
			ready elsewhere
			next elsewhere
			none
			next-keep-going deep`,
		"a group that a person gave up stays so until it is reset": `
			plan top; group in top; deep in group; near in top
			give-up top
			none-keep-going
			reset top
			next deep`,
		"a group that a person gave up after a task of it failed stays so, too": `
			plan top; group in top; deep in group; near in top
			spoil near
			give-up top
			none-keep-going
			reset top
			next deep`,
		"a dependency is one however often it is made": `
			plan a; b after a,a
			link a b
			unlink a b
			ready a b
			missing unlink a b`,
		"a task takes subtasks unless it runs, and one that was done is reopened by them": `
			plan running; done; after after done; group feature f; a in group
			claim running
			work done
			refused add x running
			refused move a running
			refused delete group
			refused finish group
			ready after a
			plan more in done
			statuses done=pending
			ready a more
			move more group
			statuses done=pending
			ready a more`,

		"a failed group stays failed while a task below it is released":           oneSpoiled + "claim b\n release b\n" + stillFailed,
		"a failed group stays failed while a task below it is sent back":          oneSpoiled + "claim b\n retry b\n" + stillFailed,
		"a failed group stays failed while a task below it is done":               oneSpoiled + "work b\n" + stillFailed,
		"a failed group stays failed while a task below it is blocked for a time": oneSpoiled + "block b\n unblock b\n" + stillFailed,
		"a failed group stays failed while a task below it is deleted":            oneSpoiled + "delete b\n" + stillFailed,

		"a failed task moved below a done one fails it":     allDone + "plan x\n spoil x\n move x group\n statuses top=failed group=failed a=done\n ready",
		"a failed task imported below a done one fails it":  allDone + "import x group failed\n statuses top=failed group=failed a=done\n ready",
		"a pending task imported below a done one opens it": allDone + "import x group pending\n statuses top=pending group=pending a=done\n ready x",
		"a done task imported below a done one is nothing":  allDone + "import x group done\n statuses top=done group=done a=done\n ready later",
		"a task imported below one that waits is held":      waitedFor + "reset a\n import x waiting pending\n ready a",

		"the failed child is deleted, others are open":     twoBelow + "spoil a\n delete a\n statuses group=pending top=pending",
		"the failed child is moved away, others are open":  twoBelow + "spoil a\n move-up a\n statuses group=pending top=pending",
		"the failed child is deleted, the others are done": twoBelow + "spoil a\n work b\n delete a\n statuses group=done top=done",
		"the failed child is deleted, another one failed":  oneSpoiled + "spoil b\n delete a\n" + stillFailed,
		"the failed child is deleted, it was the only one": twoBelow + "spoil a\n delete b\n delete a\n statuses group=failed top=failed",
		"a pending group fails when its last open child ends beside a failed one": `
			plan group; a in group; b in group; c in group
			spoil a
			reset b
			statuses group=pending a=failed
			work b
			statuses group=pending
			work c
			statuses group=failed`,

		"reset of the only failed child":              aGivenUp + "reset a\n statuses top=pending group=pending a=pending\n ready a b c\n feature ready",
		"reset beside another failed child":           aGivenUp + "give-up b\n reset a\n statuses top=pending group=pending b=failed\n ready a c",
		"reset below a grandparent that was given up": aGivenUp + "give-up top\n reset a\n statuses top=pending group=pending\n ready a b c\n feature ready",
		"reset of a task whose grandparent alone failed": `
			plan top; group in top; a in group
			give-up top
			ready
			reset a
			ready a`,
		"reset of the whole tree":         aGivenUp + "give-up b\n reset-tree group\n statuses top=pending group=pending b=pending\n ready a b c\n feature ready",
		"reset of everything that failed": aGivenUp + "give-up b\n reset-failed\n statuses top=pending group=pending b=pending\n ready a b c\n feature ready",

		"reset of what failed in a group leaves the others": `
			plan one; a in one; two; b in two
			spoil a
			spoil b
			reset-failed one
			statuses one=pending two=failed b=failed
			ready a`,

		"what waited for a task that is reset waits again":  waitedFor + "reset a\n ready a\n work a\n ready after-group after-leaf below",
		"what waited for a tree that is reset waits again":  waitedFor + "reset-tree group\n ready a\n work a\n ready after-group after-leaf below",
		"a group given up with open children is reopened":   twoBelow + "give-up group\n reset group\n ready a b",
		"a group blocked with open children is reopened":    twoBelow + "block group\n reset group\n ready a b",
		"a group whose children are done is not reset":      twoBelow + "work a\n work b\n refused reset group\n reset-tree group\n ready a b",
		"a group whose children have ended is not reset":    twoBelow + "spoil a\n work b\n refused reset group\n reset-tree group\n ready a b",
		"a blocked group whose children ended is not reset": twoBelow + "block group\n finish a\n give-up b\n refused reset group\n reset-tree group\n ready a b",
		"reset of a tree frees what an inner group held":    deep + "block inner\n reset-tree group\n ready a b",
		"reset of a tree frees what an inner group gave up": deep + "give-up inner\n reset b\n reset-tree group\n ready a b",
		"reset of a tree takes what runs":                   deep + "claim a\n reset-tree group\n ready a b",
		"reset of a tree holds what waits for a task of it": deep + "link b inner\n work b\n reset-tree group\n ready b",
	}
	for name, script := range scenarios {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			newWorld(t).play(script)
		})
	}
}

const stillFailed = "statuses top=failed group=failed c=pending\n ready"

func TestACycleIsRefusedAndToldInWords(t *testing.T) {
	t.Parallel()
	cycles := map[string]string{ // in titles; "" where any words will do
		"link group leaf":  "leaf waits for group, which contains leaf",
		"link top leaf":    "leaf waits for top, which contains group, which contains leaf",
		"add x group top":  "",
		"link leaf top":    "top waits for leaf, which is part of group, which is part of top",
		"link leaf leaf":   "leaf waits for leaf",
		"link after other": "other waits for after, which waits for other",
		"link below leaf":  "leaf waits for below, which is part of waiting, which waits for top, which contains group, which contains leaf",
		"move after other": "", // below what it waits for
		"move other after": "", // below what waits for it
		"move top top":     "",
		"move top leaf":    "",
		"move top below":   "",
	}
	for step, want := range cycles {
		t.Run(step, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.plan("top", "group in top", "leaf in group", "other", "after after other", "waiting after top", "below in waiting")
			err := w.refused(dag.ErrRefused, w.step(step))
			closedCycle(t, err)
			got := strings.TrimPrefix(err.Error(), "that would be a cycle: ")
			for title, id := range w.ids {
				got = strings.ReplaceAll(got, id, title)
			}
			if diff := cmp.Diff(want, got); want != "" && diff != "" {
				t.Errorf("cycle (-want +got):\n%s", diff)
			}
		})
	}
}

// closedCycle demands an error that describes a cycle which ends where it begins.
func closedCycle(t check.TB, err error) *dag.CycleError {
	t.Helper()
	var cycle *dag.CycleError
	if !errors.As(err, &cycle) {
		t.Fatalf("got %v, want a cycle", err)
	}
	if ids := cycle.IDs; len(ids) != len(cycle.Steps)+1 || ids[0] != ids[len(ids)-1] {
		t.Fatalf("got %v, want a closed path", cycle)
	}
	return cycle
}
