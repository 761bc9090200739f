package dag_test

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp/cmpopts"

	"ralph/dag"
	"ralph/internal/event"
	"ralph/internal/testing/check"
)

// enter puts work of a claimed task into the queue of a target.
func (w *world) enter(c dag.Claim, target string) (m dag.Merge) {
	w.t.Helper()
	w.update(func(g *dag.Graph) (err error) {
		m, err = g.Queue.Enter(c, dag.NewMerge{Target: target, Base: "base", Work: "work", Patch: "patch of " + c.Task.Title})
		return err
	})
	return m
}

// put claims a task and brings its work into a state.
func (w *world) put(title string, state dag.MergeState) (dag.Claim, int64) {
	w.t.Helper()
	c := w.take(title, dag.ClaimOptions{Scope: dag.Scope{Task: w.id(title)}, Slots: true})
	n := w.enter(c, "main").N
	steps := map[dag.MergeState][]string{
		dag.MergeTesting: {"built"}, dag.MergeGreen: {"built", "tested"}, dag.MergeHeld: {"built", "tested", "hold"},
		dag.MergeLanding: {"built", "tested", "landing"}, dag.MergeLanded: {"built", "tested", "landing", "landed"}, dag.MergeDropped: {"drop"},
	}
	for _, step := range steps[state] {
		w.update(func(g *dag.Graph) error { return queueVerbs()[step](g, c, n) })
	}
	return c, n
}

// mergeStates lists all that there are.
func mergeStates() []dag.MergeState {
	return []dag.MergeState{dag.MergeTesting, dag.MergeGreen, dag.MergeHeld, dag.MergeLanding, dag.MergeLanded, dag.MergeDropped}
}

func queueVerbs() map[string]func(*dag.Graph, dag.Claim, int64) error {
	return map[string]func(*dag.Graph, dag.Claim, int64) error{
		"built":   func(g *dag.Graph, c dag.Claim, n int64) error { return g.Queue.Built(c, n, "onto", "candidate") },
		"tested":  func(g *dag.Graph, c dag.Claim, n int64) error { return g.Queue.Tested(c, n) },
		"hold":    func(g *dag.Graph, c dag.Claim, n int64) error { return g.Queue.Hold(c, n, "its work waits for review") },
		"landing": func(g *dag.Graph, c dag.Claim, n int64) error { return g.Queue.Landing(c, n, "") },
		"landed":  func(g *dag.Graph, c dag.Claim, n int64) error { return g.Queue.Landed(c, n, "passed") },
		"drop":    func(g *dag.Graph, c dag.Claim, n int64) error { return g.Queue.Drop(c, n, "conflict") },
		"reject":  func(g *dag.Graph, c dag.Claim, _ int64) error { return g.Queue.Reject(c.Task.ID, "no") },
	}
}

func (w *world) merge(n int64) dag.Merge {
	w.t.Helper()
	return get(w, func(g *dag.Graph) (dag.Merge, error) { return g.Queue.Merge(n) })
}

// TestExactlyTheListedMovesOfTheQueueHappen does every verb to an entry in every state.
func TestExactlyTheListedMovesOfTheQueueHappen(t *testing.T) {
	t.Parallel()
	seen := map[dag.MergeMove]bool{}
	for by, verb := range queueVerbs() {
		for _, from := range mergeStates() {
			w := newWorld(t)
			w.plan("a")
			c, n := w.put("a", from)
			before := w.dump()
			err := w.try(func(g *dag.Graph) error { return verb(g, c, n) })
			if err == nil {
				seen[dag.MergeMove{From: from, To: w.merge(n).State, By: by}] = true
				w.sound()
				continue
			}
			check.That(t, errors.Is(err, dag.ErrRefused) || errors.Is(err, dag.ErrLost), "%s to an entry that is %s: %v", by, from, err)
			check.Equal(t, fmt.Sprintf("after %s to an entry that is %s was refused", by, from), before, w.dump())
		}
	}
	want := map[dag.MergeMove]bool{}
	for _, move := range dag.MergeMoves() {
		want[move] = true
	}
	check.Equal(t, "moves that happened", want, seen)
}

func TestAnEntryIsTestedAsItWasBuilt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.plan("a", "b")
	c := w.claim("a")
	m := w.enter(c, "main")
	w.refused(dag.ErrRefused, func(g *dag.Graph) error { return g.Queue.Tested(c, m.N) })
	w.refused(dag.ErrRefused, func(g *dag.Graph) error { _, err := g.Queue.Enter(c, dag.NewMerge{}); return err })
	w.update(func(g *dag.Graph) error { return g.Queue.Built(c, m.N, "tip", "first") })
	w.update(func(g *dag.Graph) error { return g.Queue.Tested(c, m.N) })
	w.update(func(g *dag.Graph) error { return g.Queue.Built(c, m.N, "new tip", "second") })
	w.refused(dag.ErrRefused, func(g *dag.Graph) error { return g.Queue.Landing(c, m.N, "") })
	other := w.claim("b")
	w.refused(dag.ErrRefused, func(g *dag.Graph) error { return g.Queue.Built(other, m.N, "tip", "another's") })
	want := dag.Merge{
		N: 1, Task: w.id("a"), Title: "a", Attempt: c.Attempt, Target: "main", Base: "base", Work: "work", Patch: "patch of a",
		Onto: "new tip", Candidate: "second", State: dag.MergeTesting, At: start.Truncate(time.Millisecond),
	}
	check.Equal(t, "the entry", want, w.merge(m.N))
}

func TestOneEntryOfATargetLandsAtATime(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.plan("a", "b", "c", "other")
	first, n := w.put("a", dag.MergeLanding)
	second, m := w.put("b", dag.MergeGreen)
	w.put("c", dag.MergeTesting)
	elsewhere := w.claim("other")
	o := w.enter(elsewhere, "next").N
	w.refused(dag.ErrLanding, func(g *dag.Graph) error { return g.Queue.Landing(second, m, "") })
	for _, step := range []string{"built", "tested", "landing"} {
		w.update(func(g *dag.Graph) error { return queueVerbs()[step](g, elsewhere, o) })
	}
	check.Equal(t, "the queue", []string{"a landing", "b green", "c testing"}, w.queue("main"))
	check.Equal(t, "the queue of another target", []string{"other landing"}, w.queue("next"))
	w.update(func(g *dag.Graph) error { return g.Queue.Landed(first, n, "passed") })
	w.wantStatuses(map[string]dag.Status{"a": dag.Done})
	w.update(func(g *dag.Graph) error { return g.Queue.Landing(second, m, "") })
	check.Equal(t, "the queue afterwards", []string{"b landing", "c testing"}, w.queue("main"))
	w.sound()
}

func (w *world) queue(target string) (list []string) {
	w.t.Helper()
	for _, m := range get(w, func(g *dag.Graph) ([]dag.Merge, error) { return g.Queue.OpenMerges(target) }) {
		list = append(list, m.Title+" "+string(m.State))
	}
	return list
}

// ends is every way in which a claim ends without landing.
func ends() map[string]func(*world, dag.Claim) {
	all := map[string]func(*world, dag.Claim){
		"a person resets it":          func(w *world, _ dag.Claim) { w.person(reset, "a") },
		"a person resets its tree":    func(w *world, _ dag.Claim) { w.person(resetTree, "a") },
		"a person finishes it":        func(w *world, _ dag.Claim) { w.person(finish, "a") },
		"a person fails it":           func(w *world, _ dag.Claim) { w.person(giveUp, "a") },
		"a person deletes it":         func(w *world, c dag.Claim) { w.person(remove, "a"); w.abandon(c) },
		"its run died":                func(w *world, _ dag.Claim) { w.reclaim("a", dag.ReclaimOptions{}) },
		"its run died, its work ends": func(w *world, c dag.Claim) { w.reclaim("a", dag.ReclaimOptions{Unverified: c.Attempt}) },
		"its run died too often":      func(w *world, _ dag.Claim) { w.reclaim("a", dag.ReclaimOptions{Fail: true}) },
	}
	for name, come := range returns() {
		if name != "heartbeat" {
			all[name] = func(w *world, c dag.Claim) { w.update(func(g *dag.Graph) error { return come(g, c) }) }
		}
	}
	return all
}

func (w *world) abandon(c dag.Claim) {
	w.t.Helper()
	w.update(func(g *dag.Graph) error { return g.History.AbandonAttempt(c.Attempt, "interrupted", "gone") })
}

func (w *world) reclaim(title string, how dag.ReclaimOptions) {
	w.t.Helper()
	task := w.task(title)
	w.update(func(g *dag.Graph) error { return g.Queue.Reclaim(task, how) })
}

// TestWorkLeavesTheQueueWithItsClaim ends claims in every way while their work is in the queue. What is
// landing stays until somebody has looked at the target, and its own run cannot give up the claim before.
func TestWorkLeavesTheQueueWithItsClaim(t *testing.T) {
	t.Parallel()
	for name, end := range ends() {
		for state, want := range map[dag.MergeState]dag.MergeState{
			dag.MergeTesting: dag.MergeDropped, dag.MergeGreen: dag.MergeDropped, dag.MergeLanding: dag.MergeLanding,
		} {
			t.Run(fmt.Sprint(name, ", ", state), func(t *testing.T) {
				t.Parallel()
				w := newWorld(t)
				w.plan("a", "b")
				c, n := w.put("a", state)
				w.pass(time.Second)
				if come := returns()[name]; come != nil && state == dag.MergeLanding {
					w.refused(dag.ErrRefused, func(g *dag.Graph) error { return come(g, c) })
					w.wantStatuses(map[string]dag.Status{"a": dag.InProgress})
					return
				}
				end(w, c)
				m := w.merge(n)
				check.Equal(t, "state", want, m.State)
				check.That(t, (m.Reason != "") == (want == dag.MergeDropped), "dropped for %q", m.Reason)
				w.sound()
				check.Equal(t, "who has a slot", []dag.Attempt(nil), get(w, func(g *dag.Graph) ([]dag.Attempt, error) { return g.Queue.InSlots() }))
				if want == dag.MergeDropped {
					w.refused(dag.ErrRefused, func(g *dag.Graph) error { return g.Queue.SettleLanding(n, true, "") })
					return
				}
				other, o := w.put("b", dag.MergeGreen)
				w.refused(dag.ErrLanding, func(g *dag.Graph) error { return g.Queue.Landing(other, o, "") })
				check.Equal(t, "unlanded", []dag.Merge{m}, get(w, func(g *dag.Graph) ([]dag.Merge, error) { return g.Queue.MergesIn(dag.MergeLanding) }))
				w.update(func(g *dag.Graph) error { return g.Queue.SettleLanding(n, true, "") })
				check.Equal(t, "state", dag.MergeLanded, w.merge(n).State)
				w.update(func(g *dag.Graph) error { return g.Queue.Landing(other, o, "") })
				w.sound()
			})
		}
	}
}

func TestRecoveryCompletesWhatHasLanded(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.plan("a", "b after a")
	c, n := w.put("a", dag.MergeLanding)
	w.refused(dag.ErrRefused, func(g *dag.Graph) error { return g.Queue.SettleLanding(n, true, "") })
	stale := w.task("a").Claim()
	w.update(func(g *dag.Graph) error { return g.Queue.Landed(stale, n, "passed") })
	w.wantStatuses(map[string]dag.Status{"a": dag.Done})
	w.wantReady("b")
	w.refused(dag.ErrLost, func(g *dag.Graph) error { return g.Queue.Landed(c, n, "passed") })
	w.sound()
}

func TestHeldWorkIsClaimedOnceAPersonHasAcceptedIt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.plan("a prio 9", "b", "after-a after a")
	c, n := w.put("a", dag.MergeHeld)
	held := w.task("a")
	check.That(t, held.ToReview && held.Status == dag.Pending && !held.Ready(w.clock()) && !held.AwaitsVerdict(), "got %+v", held)
	check.Equal(t, "state", "to review", held.State(w.clock()))
	w.wantReady("b")
	check.Equal(t, "to review", []dag.Merge{w.merge(n)}, get(w, func(g *dag.Graph) ([]dag.Merge, error) { return g.Queue.ToReview() }))
	check.Equal(t, "the queue", []string(nil), w.queue("main"))
	w.refused(dag.ErrRefused, func(g *dag.Graph) error { return g.Queue.Accept(w.id("b"), "") })
	w.sound()

	w.update(func(g *dag.Graph) error { return g.Queue.Accept(w.id("a"), "") })
	w.refused(dag.ErrRefused, func(g *dag.Graph) error { return g.Queue.Accept(w.id("a"), "") })
	check.Equal(t, "to review", 0, len(get(w, func(g *dag.Graph) ([]dag.Merge, error) { return g.Queue.ToReview() })))
	w.wantReady("a", "b")
	check.Equal(t, "state", dag.Landing, w.task("a").State(w.clock()))
	again := w.take("a", dag.ClaimOptions{})
	check.Equal(t, "state while a run lands it", dag.Landing, w.task("a").State(w.clock()))
	check.That(t, again.Resume && again.Resumed.ID == c.Attempt && again.Merge.N == n && again.Merge.Work == "work", "got %+v", again)
	w.reclaim("a", dag.ReclaimOptions{Unverified: c.Attempt}) // before it entered
	again = w.take("a", dag.ClaimOptions{Finished: true})
	m := w.enter(again, "main")
	check.That(t, m.Accepted, "what was accepted is to be reviewed again")
	check.Equal(t, "the held entry", dag.MergeDropped, w.merge(n).State)
	w.reclaim("a", dag.ReclaimOptions{Unverified: c.Attempt})
	again = w.take("a", dag.ClaimOptions{Finished: true})
	check.Equal(t, "what it resumes", m.N, again.Merge.N)
	other := w.claim("b")
	w.update(func(g *dag.Graph) (err error) {
		m, err = g.Queue.Enter(again, dag.NewMerge{Target: "main", Patch: "another patch"})
		return err
	})
	check.That(t, !m.Accepted && !w.enter(other, "main").Accepted, "what nobody has seen is accepted")
	c, ok := w.next(dag.ClaimOptions{Finished: true})
	check.That(t, !ok, "claimed %s, which is not finished", c.Task.Title)
	w.sound()
}

// A person who has a task done anew, or its work taken back, wants to see what comes of it, even if it is the same.
func TestWorkThatIsDoneAnewIsToBeReviewedAnew(t *testing.T) {
	t.Parallel()
	for name, anew := range map[string]func(w *world){
		"reset": func(w *world) { w.person(func(g *dag.Graph, id string) error { return g.Tasks.Reset(id) }, "a") },
		"reset as group": func(w *world) {
			w.person(func(g *dag.Graph, id string) error { _, err := g.Tasks.ResetTree(id); return err }, "a")
		},
		"undone": func(w *world) {
			w.put("a", dag.MergeLanded)
			w.ids["Revert a"] = w.undo("a")
			w.put("Revert a", dag.MergeLanded)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.plan("a")
			w.put("a", dag.MergeHeld)
			w.person(accept, "a")
			w.pass(time.Second)
			anew(w)
			w.pass(time.Second)
			check.That(t, !w.enter(w.claim("a"), "main").Accepted, "what was accepted before lands at once")
			w.sound()
		})
	}
}

// Work that was resumed after a crash is held as what it is, and what a person does concerns it.
func TestResumedWorkIsHeldToo(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.plan("a")
	first := w.claim("a")
	w.reclaim("a", dag.ReclaimOptions{Unverified: first.Attempt})
	_, n := w.put("a", dag.MergeHeld)
	check.Equal(t, "unverified", first.Attempt, w.task("a").Unverified)
	check.Equal(t, "state", dag.MergeHeld, w.merge(n).State)
	w.sound()
	w.update(func(g *dag.Graph) error { return g.Queue.Accept(w.id("a"), "") })
	again := w.claim("a")
	check.That(t, again.Resumed.ID == first.Attempt && again.Merge.N == n, "got %+v", again)
	check.That(t, w.enter(again, "main").Accepted, "what was accepted is to be reviewed again")
	check.Equal(t, "the held entry", dag.MergeDropped, w.merge(n).State)
}

func TestRejectedWorkIsDoneAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.plan("a")
	_, n := w.put("a", dag.MergeHeld)
	w.update(func(g *dag.Graph) error { return g.Queue.Reject(w.id("a"), "too long") })
	m := w.merge(n)
	check.That(t, m.State == dag.MergeDropped && m.Reason == "too long", "got %+v", m)
	task := w.task("a")
	logs := get(w, func(g *dag.Graph) ([]dag.LogEntry, error) { return g.Tasks.Logs(task) })
	last := logs[len(logs)-1]
	check.That(t, last.Kind == dag.LogUser && last.Text == "too long", "the next attempt is told %+v", last)
	check.That(t, !w.claim("a").Resume, "rejected work is resumed")
	w.sound()
}

func TestHeldWorkIsDroppedByWhatChangesItsTask(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change func(*world)
		held   bool
	}{
		"reset":         {func(w *world) { w.person(reset, "a") }, false},
		"reset tree":    {func(w *world) { w.person(resetTree, "group") }, false},
		"finish":        {func(w *world) { w.person(finish, "a") }, false},
		"give up":       {func(w *world) { w.person(giveUp, "a") }, false},
		"delete":        {func(w *world) { w.person(remove, "a") }, false},
		"delete tree":   {func(w *world) { w.update(func(g *dag.Graph) error { return g.Plan.DeleteTree(w.id("group")) }) }, false},
		"block":         {func(w *world) { w.person(block, "a") }, true}, // takes nothing from finished work
		"unblock":       {func(w *world) { w.person(block, "a"); w.person(unblock, "a") }, true},
		"block above":   {func(w *world) { w.person(block, "group") }, true},
		"accept, reset": {func(w *world) { w.person(accept, "a"); w.person(reset, "a") }, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.plan("group", "a in group", "b in group")
			_, n := w.put("a", dag.MergeHeld)
			test.change(w)
			m := w.merge(n)
			check.Equal(t, "held", test.held, m.State == dag.MergeHeld)
			check.Equal(t, "to review", test.held, len(get(w, func(g *dag.Graph) ([]dag.Merge, error) { return g.Queue.ToReview() })) == 1)
			w.sound()
		})
	}
}

// TestWorkSaysWhereTheWorkOfARunEndedUp has work that landed, that is held, that was kept aside twice, and that of another run.
func TestWorkSaysWhereTheWorkOfARunEndedUp(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.plan("landed", "landed2", "held", "kept", "accepted", "nothing", "other")
	kept := map[string]string{}
	for title, state := range map[string]dag.MergeState{"landed": dag.MergeLanded, "landed2": dag.MergeLanded, "held": dag.MergeHeld, "accepted": dag.MergeHeld} {
		c, _ := w.put(title, state)
		if state == dag.MergeHeld { // the ref of what landed is gone
			kept[c.Attempt] = "refs/" + title
		}
	}
	w.update(func(g *dag.Graph) error { return g.Queue.Accept(w.id("accepted"), "") })
	for _, ref := range []string{"refs/first", "refs/last"} {
		c := w.claim("kept")
		w.update(func(g *dag.Graph) error { return g.Queue.Release(c, dag.Release{}) })
		kept[c.Attempt] = ref
	}
	w.spoil("nothing")
	ours := w.run
	w.update(func(g *dag.Graph) (err error) {
		w.run, err = g.History.StartRun(dag.Scope{}, dag.Process{})
		return err
	})
	c := w.claim("other")
	kept[c.Attempt], kept["a-gone"] = "refs/other", "refs/gone"
	got := get(w, func(g *dag.Graph) (event.Work, error) { return g.Queue.Work(ours.ID, kept) })
	slices.SortFunc(got.Kept, func(a, b event.Kept) int { return strings.Compare(a.Ref, b.Ref) })
	check.Equal(t, "work", event.Work{
		Target: "main", From: "onto", To: "candidate", Commits: 2, Review: []event.Kept{{Task: w.id("held"), Ref: "refs/held"}},
		Kept: []event.Kept{{Task: w.id("accepted"), Ref: "refs/accepted"}, {Task: w.id("kept"), Ref: "refs/last"}},
	}, got)
}

// TestAnEntryThatIsLandingSaysWhatIsInItsWay until it is built again.
func TestAnEntryThatIsLandingSaysWhatIsInItsWay(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.plan("a", "b")
	c, n := w.put("a", dag.MergeGreen)
	other, _ := w.put("b", dag.MergeGreen)
	check.Equal(t, "before", "waits to land", w.merge(n).String())
	w.update(func(g *dag.Graph) error { return g.Queue.Landing(c, n, "") })
	check.Equal(t, "while it lands", "landing", w.merge(n).String())
	w.refused(dag.ErrRefused, func(g *dag.Graph) error { return g.Queue.Landing(other, n, "another's") })
	w.update(func(g *dag.Graph) error { return g.Queue.Landing(c, n, "one.txt is in the way") })
	m := w.merge(n)
	check.Equal(t, "while it waits", [2]string{"one.txt is in the way", "waits to land"}, [2]string{m.Reason, m.String()})
	w.update(func(g *dag.Graph) error { return g.Queue.Built(c, n, "tip", "next") })
	check.Equal(t, "afterwards", "", w.merge(n).Reason)
	w.sound()
}

// TestQueuePageAgreesWithTheCode compares the table of docs/state-machine.md with MergeMoves, both ways.
func TestQueuePageAgreesWithTheCode(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../docs/state-machine.md")
	check.OK(t, err)
	_, page2, found := strings.Cut(string(page), "\n## Work that is to land\n")
	check.That(t, found, "the page has no such section")
	var table, code []string
	for line := range strings.Lines(page2) {
		cells := strings.Split(line, "|")
		if len(cells) == 6 && slices.Contains(mergeStates(), dag.MergeState(strings.TrimSpace(cells[1]))) {
			table = append(table, arrow(cells[1], cells[2], cells[3]))
		}
	}
	for _, m := range dag.MergeMoves() {
		code = append(code, arrow(string(m.From), string(m.To), m.By))
	}
	check.Equal(t, "the table of the page", code, table, cmpopts.SortSlices(strings.Compare))
}
