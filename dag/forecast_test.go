package dag_test

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"ralph/dag"
	"ralph/internal/event"
	"ralph/internal/forecast"
	"ralph/internal/testing/check"
	"ralph/internal/testing/raced"
)

// TestASimulationDoesWhatARunDoes reads random graphs as a forecast does, simulates them with one worker, and then claims and
// settles what is there: the same tasks are done, in the same order.
func TestASimulationDoesWhatARunDoes(t *testing.T) {
	raced.Long(t, "one run after the other is simulated here")
	t.Parallel()
	checkWorlds(t, func(rt *rapid.T, w *world) {
		x := newMachine(rt, w)
		rt.Repeat(map[string]func(*rapid.T){
			"add": x.add, "add more": x.add, "link": x.link, "link more": x.link, "move": x.move, "set feature": x.setFeature,
			"edit": x.edit, "edit more": x.editMeaning, "import": x.importPlan, "cancel": x.cancel,
			"finish": x.byHand(finish, (*model).finish), "give up": x.byHand(giveUp, (*model).giveUp), "block": x.byHand(block, (*model).block),
			"reset": x.byHand(reset, (*model).resetByHand),
		})
		opts := dag.ClaimOptions{KeepGoing: rapid.Bool().Draw(rt, "keep going")}
		switch rapid.IntRange(0, 3).Draw(rt, "scope") {
		case 0:
			opts.Scope.Feature = x.feature(rt)
		case 1:
			opts.Scope.Task = x.maybe(rt, "scope")
		}
		in := get(w, func(g *dag.Graph) (forecast.Input, error) { return g.Tasks.OpenGraph(opts) })
		fails := map[string]bool{}
		for i := range in.Nodes {
			in.Nodes[i].Traits = forecast.Traits{Kind: "succeeds"}
			if rapid.IntRange(0, 3).Draw(rt, "fails") == 0 {
				in.Nodes[i].Kind, fails[in.Nodes[i].ID] = "fails", true
			}
		}
		for range forecast.Few {
			for _, kind := range []string{"succeeds", "fails"} {
				in.Past = append(in.Past, forecast.Past{Traits: forecast.Traits{Kind: kind}, Took: time.Minute, Failed: kind == "fails"})
			}
		}
		var want, got []string
		out := forecast.Run(in)
		for _, e := range out.Each {
			if e.Ever > 0 {
				want = append(want, e.ID)
			}
		}
		ran := 0
		for c, ok := w.next(opts); ok; c, ok = w.next(opts) {
			ran++
			w.update(func(g *dag.Graph) error {
				if fails[c.Task.ID] {
					return g.Queue.Fail(c, "it broke")
				}
				got = append(got, c.Task.ID)
				return g.Queue.Complete(c, "passed")
			})
		}
		check.Equal(rt, "what is done, in its order", got, want)
		check.Equal(rt, "minutes that it takes", time.Duration(ran)*time.Minute, out.Took.P90)
	})
}

func TestWhatIsReadForAForecast(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	note := func(title, agent, model string, used event.Usage) dag.Claim {
		c := w.claim(title)
		w.update(func(g *dag.Graph) error {
			return g.History.NoteAttempt(c.Attempt, dag.Note{Agent: agent, Model: model, Usage: &used})
		})
		return c
	}
	cost := 1.5
	w.add(dag.NewTask{Detail: dag.Detail{Title: "paid", Description: fmt.Sprintf("%2000d", 1), Kind: dag.Check}})
	c := note("paid", "claude", "opus", event.Usage{CostUSD: &cost, Estimated: true})
	w.pass(time.Minute)
	w.update(func(g *dag.Graph) error { return g.Queue.Complete(c, "passed") })

	w.plan("silent", "deleted", "killed", "unheard", "at-work")
	c = note("silent", "codex", "", event.Usage{Unknown: true})
	w.pass(2 * time.Minute)
	w.update(func(g *dag.Graph) error { return g.Queue.Fail(c, "it broke") })
	w.work("deleted")
	w.person(remove, "deleted")

	// The run was killed after a minute, and somebody noticed the next morning.
	c = note("killed", "claude", "opus", event.Usage{CostUSD: &cost})
	note("unheard", "claude", "opus", event.Usage{})
	w.pass(time.Minute)
	w.update(func(g *dag.Graph) error { return g.Queue.Heartbeat(c, lease) })
	w.pass(10 * time.Hour)
	for _, title := range []string{"killed", "unheard"} {
		task := w.task(title)
		w.update(func(g *dag.Graph) error { return g.Queue.Reclaim(task, dag.ReclaimOptions{Reason: "its run died"}) })
	}
	note("at-work", "claude", "opus", event.Usage{})

	attempts := get(w, func(g *dag.Graph) ([]forecast.Attempt, error) { return g.History.PastAttempts() })
	opus := forecast.Traits{Kind: "work", Size: forecast.Short, Agent: "claude", Model: "opus"}
	want := []forecast.Attempt{
		{Task: w.id("paid"), Traits: forecast.Traits{Kind: "check", Size: forecast.Long, Agent: "claude", Model: "opus"}, Outcome: "done", Took: time.Minute, CostUSD: &cost, CostEstimated: true},
		{Task: w.id("silent"), Traits: forecast.Traits{Kind: "work", Size: forecast.Short, Agent: "codex"}, Outcome: "failed", Took: 2 * time.Minute, CostUnknown: true},
		{Task: w.id("deleted"), Traits: forecast.Traits{Size: forecast.Short}, Outcome: "done"},
		{Task: w.id("killed"), Traits: opus, Outcome: "interrupted", Took: time.Minute, CostUSD: &cost},
		{Task: w.id("unheard"), Traits: opus, Outcome: "interrupted", Took: -time.Millisecond},
		{Task: w.id("at-work"), Traits: opus, Took: -time.Millisecond},
	}
	check.Equal(t, "attempts", want, attempts)
	check.Equal(t, "past tasks", 3, len(forecast.PastTasks(attempts)))
}

func TestLocksAndWaitsAreReadForAForecast(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.add(dag.NewTask{Detail: dag.Detail{Title: "a", Locks: []string{"gpu"}, Paths: []string{"src/db/*.go"}}})
	w.add(dag.NewTask{Detail: dag.Detail{Title: "b", Paths: []string{"src"}, Agent: "codex", Model: "o3"}})
	w.add(dag.NewTask{Detail: dag.Detail{Title: "waits"}})
	c := w.claim("waits")
	w.update(func(g *dag.Graph) error { return g.Queue.Release(c, dag.Release{NotBefore: w.clock().Add(time.Hour)}) })
	w.claim("a")
	w.add(dag.NewTask{Detail: dag.Detail{Title: "elsewhere"}, Feature: "login"})
	w.add(dag.NewTask{Detail: dag.Detail{Title: "inside"}, After: []string{w.id("elsewhere")}})

	opts := dag.ClaimOptions{Locks: map[string]int{"gpu": 2}, Agents: map[string]dag.AgentGate{"claude": {AtOnce: 3}}}
	opts.Skip.Agent = "claude"
	in := get(w, func(g *dag.Graph) (forecast.Input, error) { return g.Tasks.OpenGraph(opts) })
	by := map[string]forecast.Node{}
	for _, n := range in.Nodes {
		by[n.Title] = n
	}
	check.Equal(t, "locks", []forecast.Lock{{Limit: 2, Excludes: []int{0}}, {Limit: 1, Excludes: []int{1, 3}}, {Limit: 3, Excludes: []int{2}}, {Limit: 1, Excludes: []int{3, 1}}}, in.Locks)
	check.Equal(t, "locks of a", []int{0, 1, 2}, by["a"].Locks)
	check.Equal(t, "locks of b", []int{3}, by["b"].Locks)
	check.Equal(t, "traits of b", forecast.Traits{Kind: "work", Size: forecast.Short, Agent: "codex", Model: "o3"}, by["b"].Traits)
	check.That(t, by["a"].First && !by["b"].First, "what is at work comes first")
	check.Equal(t, "its wait", time.Hour, by["waits"].NotBefore)
	check.That(t, !by["inside"].Stuck, "what it waits for is in the scope")

	opts.Scope.Task = w.id("inside")
	in = get(w, func(g *dag.Graph) (forecast.Input, error) { return g.Tasks.OpenGraph(opts) })
	check.That(t, len(in.Nodes) == 1 && in.Nodes[0].Stuck, "it waits for a task outside of the scope: %+v", in.Nodes)
}

// TestAForecastIsBounded: it says so, instead of taking minutes.
func TestAForecastIsBounded(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.importMany(10_001, func([]dag.Spec, int) {})
	err := w.refused(dag.ErrRefused, func(g *dag.Graph) error { _, err := g.Tasks.OpenGraph(dag.ClaimOptions{}); return err })
	check.Err(t, "too many", "10001 tasks are open, and a forecast is about 10000 at most", err)
}

func TestAForecastOfARunIsKept(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	read := func(id string) *dag.Forecast {
		return get(w, func(g *dag.Graph) (*dag.Forecast, error) { return g.History.ForecastOf(id) })
	}
	check.That(t, read(w.run.ID) == nil, "nothing was forecast yet")
	want := dag.Forecast{
		Tasks: 3, Past: 20, Took: forecast.Span{P50: time.Minute, P90: time.Hour}, Cost: &forecast.Money{P50: 0.5, P90: 2},
		Until: w.clock().Add(time.Hour).Truncate(time.Millisecond), DoneP50: 3, DoneP90: 2,
	}
	w.update(func(g *dag.Graph) error { return g.History.KeepForecast(w.run.ID, want) })
	w.update(func(g *dag.Graph) error { return g.History.KeepForecast(w.run.ID, dag.Forecast{Tasks: 1, Past: 1}) })
	w.update(func(g *dag.Graph) error { return g.History.Waited(w.run.ID, time.Minute) })
	want.Waited = time.Minute
	check.Equal(t, "the first one", &want, read(w.run.ID))
	w.update(func(g *dag.Graph) (err error) {
		w.run, err = g.History.StartRun(dag.Scope{}, dag.Process{PID: 1})
		return err
	})
	bare := dag.Forecast{Tasks: 1, Past: 1}
	w.update(func(g *dag.Graph) error { return g.History.KeepForecast(w.run.ID, bare) })
	check.Equal(t, "without cost and end", &bare, read(w.run.ID))
}
