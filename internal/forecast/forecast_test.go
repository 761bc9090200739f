package forecast_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"ralph/internal/event"
	"ralph/internal/forecast"
	"ralph/internal/testing/check"
	"ralph/internal/testing/raced"
	_ "ralph/internal/testing/seeded"
)

var sonnet = forecast.Traits{Kind: "work", Size: forecast.Short, Agent: "claude", Model: "sonnet"}

// pasts are past tasks that took so many minutes, and as many dollars.
func pasts(minutes ...int) (list []forecast.Past) {
	for _, m := range minutes {
		list = append(list, forecast.Past{Traits: sonnet, Took: time.Duration(m) * time.Minute, CostUSD: float64(m), Attempts: 1})
	}
	return list
}

func repeat(n, minutes int) []forecast.Past { return pasts(slices.Repeat([]int{minutes}, n)...) }

// node is a task that waits for others.
func node(after ...int) forecast.Node {
	return forecast.Node{Traits: sonnet, Parent: -1, After: after}
}

func nodes(n int) []forecast.Node { return slices.Repeat([]forecast.Node{node()}, n) }

func chain(n int) []forecast.Node {
	list := nodes(n)
	for i := 1; i < n; i++ {
		list[i] = node(i - 1)
	}
	return list
}

func minutes(n int) time.Duration { return time.Duration(n) * time.Minute }

func same(n int) forecast.Span { return forecast.Span{P50: minutes(n), P90: minutes(n)} }

// anyGraph is a graph without cycles: what waits comes later.
func anyGraph(t *rapid.T) []forecast.Node {
	list := make([]forecast.Node, rapid.IntRange(1, 12).Draw(t, "tasks"))
	for i := range list {
		list[i] = node()
		for b := range i {
			if rapid.IntRange(0, 3).Draw(t, "edge") == 0 {
				list[i].After = append(list[i].After, b)
			}
		}
		list[i].ID, list[i].Priority = fmt.Sprint(i), rapid.IntRange(0, 2).Draw(t, "priority")
	}
	return list
}

func anyPast(t *rapid.T) []forecast.Past {
	list := pasts(rapid.SliceOfN(rapid.IntRange(1, 90), 1, 20).Draw(t, "minutes")...)
	for i := range list {
		list[i].Failed = rapid.IntRange(0, 5).Draw(t, "failed") == 0
	}
	return list
}

func TestAForecastIsOrderedAndTheSameEachTime(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		in := forecast.Input{
			Nodes: anyGraph(t), Past: anyPast(t), Workers: rapid.IntRange(-1, 5).Draw(t, "workers"), KeepGoing: true,
			Until: minutes(rapid.SampledFrom([]int{0, 1, 60}).Draw(t, "until")),
		}
		out := forecast.Run(in)
		check.Equal(t, "the same input again", out, forecast.Run(in))
		check.That(t, out.Took.P50 <= out.Took.P90 && out.Whole.P50 <= out.Whole.P90, "p50 is later than p90: %+v", out)
		check.That(t, out.Cost.P50 <= out.Cost.P90, "p50 costs more than p90: %+v", out.Cost)
		check.That(t, out.DoneP50 >= out.DoneP90 && out.DoneP50 <= out.Tasks && out.DoneP90 >= 0, "done: %+v", out)
		check.That(t, in.Until == 0 || out.Took.P90 <= in.Until, "it goes on after its end: %v", out.Took)
		check.Equal(t, "tasks that can begin", len(in.Nodes), out.Tasks)
		for _, e := range out.Each {
			check.That(t, e.End.P50 <= e.End.P90 && e.Done <= e.Ever && e.Ever <= 1, "%+v", e)
		}
	})
}

func TestMoreWorkersAreNeverLaterForTasksThatWaitForNothing(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		in := forecast.Input{Nodes: nodes(rapid.IntRange(1, 20).Draw(t, "tasks")), Past: anyPast(t), KeepGoing: true}
		workers := rapid.IntRange(1, 6).Draw(t, "workers")
		in.Workers = workers
		few := forecast.Run(in)
		in.Workers = workers + 1
		more := forecast.Run(in)
		check.That(t, more.Took.P50 <= few.Took.P50 && more.Took.P90 <= few.Took.P90, "%d workers: %v, one more: %v", workers, few.Took, more.Took)
		// More than there are tasks change nothing.
		in.Workers = len(in.Nodes)
		all := forecast.Run(in)
		in.Workers = 1 << 40
		check.Equal(t, "absurdly many workers", all, forecast.Run(in))
	})
}

// TestAChainTakesTheSumOfItsTasks: with any number of workers it takes what one worker needs for the same tasks without order.
func TestAChainTakesTheSumOfItsTasks(t *testing.T) {
	t.Parallel()
	check.Equal(t, "four tasks of 5 minutes", same(20), forecast.Run(forecast.Input{Nodes: chain(4), Past: repeat(5, 5), Workers: 3}).Took)
	rapid.Check(t, func(t *rapid.T) {
		n, past := rapid.IntRange(1, 20).Draw(t, "tasks"), pasts(rapid.SliceOfN(rapid.IntRange(1, 90), 1, 20).Draw(t, "minutes")...)
		chained := forecast.Run(forecast.Input{Nodes: chain(n), Past: past, Workers: 4})
		sum := forecast.Run(forecast.Input{Nodes: nodes(n), Past: past, Workers: 1})
		check.Equal(t, "the time of a chain", sum.Took, chained.Took)
		check.Equal(t, "what it costs", sum.Cost, chained.Cost)
	})
}

// TestP90CoversWhatComes draws the past and the future from one distribution with a long tail: about nine of ten runs end before p90,
// and about half before p50.
func TestP90CoversWhatComes(t *testing.T) {
	raced.Long(t, "it only calculates")
	t.Parallel()
	const worlds, workers = 200, 3
	sum := func(took []time.Duration) (all time.Duration) {
		for _, d := range took {
			all += d
		}
		return all
	}
	atOnce := func(took []time.Duration) time.Duration {
		free := make([]time.Duration, workers)
		for _, d := range took {
			slices.Sort(free)
			free[0] += d
		}
		return slices.Max(free)
	}
	for name, graph := range map[string]struct {
		nodes   []forecast.Node
		history int
		least   int // of a hundred that end before p90
		actual  func([]time.Duration) time.Duration
	}{
		"one task": {nodes(1), 200, 85, sum}, "ten at once": {nodes(10), 200, 85, atOnce}, "a chain": {chain(10), 200, 85, sum},
		"a long chain from a short past": {chain(30), 12, 72, sum}, // with nothing but the twelve that there were it is 65
	} {
		r := rand.New(rand.NewPCG(1, 2))
		below50, below90 := 0, 0
		for range worlds {
			in := forecast.Input{Nodes: graph.nodes, Workers: workers}
			for range graph.history {
				in.Past = append(in.Past, forecast.Past{Traits: sonnet, Took: time.Duration(1e9 * r.ExpFloat64())})
			}
			took := make([]time.Duration, len(graph.nodes))
			for i := range took {
				took[i] = time.Duration(1e9 * r.ExpFloat64())
			}
			out, actual := forecast.Run(in), graph.actual(took)
			if actual <= out.Took.P50 {
				below50++
			}
			if actual <= out.Took.P90 {
				below90++
			}
		}
		check.That(t, below50 > worlds*38/100 && below50 < worlds*62/100, "%s: %d of %d ended before p50", name, below50, worlds)
		check.That(t, below90 > worlds*graph.least/100 && below90 < worlds*95/100, "%s: %d of %d ended before p90", name, below90, worlds)
	}
}

func TestThePastIsWholeTasks(t *testing.T) {
	t.Parallel()
	usd := func(v float64) *float64 { return &v }
	opus := forecast.Traits{Kind: "work", Agent: "claude", Model: "opus"}
	got := forecast.PastTasks([]forecast.Attempt{
		{Task: "a", Traits: sonnet, Outcome: event.AttemptRetried, Took: minutes(3), CostUSD: usd(1)},
		{Task: "b", Traits: sonnet, Outcome: event.AttemptDone, Took: minutes(1)},
		{Task: "a", Traits: sonnet, Outcome: event.AttemptLimited, Took: minutes(600), CostUSD: usd(0.25)},
		{Task: "a", Traits: opus, Outcome: event.AttemptDone, Took: minutes(2), CostUSD: usd(2)},
		{Task: "c", Outcome: event.AttemptInterrupted, Took: minutes(1)}, // no agent yet
		{Task: "c", Traits: opus, Outcome: event.AttemptFailed, Took: minutes(4), CostUnknown: true},
		{Task: "a", Traits: sonnet, Outcome: event.AttemptDone, Took: minutes(7)}, // after a reset
		{Task: "unfinished", Traits: sonnet, Outcome: event.AttemptRetried, Took: minutes(9)},
		{Task: "killed", Traits: sonnet, Took: forecast.Unknown},
		{Task: "killed", Traits: sonnet, Outcome: event.AttemptDone, Took: time.Second}, // only its verdict was left
		{Task: "at work", Traits: sonnet, Took: forecast.Unknown},
	})
	want := []forecast.Past{
		{Traits: sonnet, Attempts: 1, Took: minutes(1)},
		{Traits: sonnet, Attempts: 3, Took: minutes(5), CostUSD: 3.25},
		{Traits: opus, Attempts: 2, Took: minutes(5), CostUnknown: true, Failed: true},
		{Traits: sonnet, Attempts: 1, Took: minutes(7)},
	}
	check.Equal(t, "past tasks", fmt.Sprintf("%+v", want), fmt.Sprintf("%+v", got))
}

// TestTheClosestPastCounts falls back to wider groups where there are too few.
func TestTheClosestPastCounts(t *testing.T) {
	t.Parallel()
	with := func(n, took int, change func(*forecast.Traits)) []forecast.Past {
		list := repeat(n, took)
		for i := range list {
			change(&list[i].Traits)
		}
		return list
	}
	long := with(forecast.Few, 10, func(t *forecast.Traits) { t.Size = forecast.Long })
	checks := with(forecast.Few, 20, func(t *forecast.Traits) { t.Kind = "check" })
	opus := with(forecast.Few, 30, func(t *forecast.Traits) { t.Model = "opus" })
	codex := with(forecast.Few, 40, func(t *forecast.Traits) { t.Agent = "codex" })
	deleted := with(forecast.Few, 50, func(t *forecast.Traits) { t.Kind = "" })
	few := repeat(forecast.Few-1, 1)
	tests := map[string]struct {
		past  []forecast.Past
		level forecast.Level
		n     int
	}{
		"all the same":             {slices.Concat(repeat(forecast.Few, 1), long, checks, opus, codex), forecast.SameAll, 5},
		"another size":             {slices.Concat(few, long, checks, opus, codex), forecast.SameKind, 9},
		"another kind":             {slices.Concat(few, checks, opus, codex), forecast.SameModel, 9},
		"its kind is not known":    {slices.Concat(few, deleted, codex), forecast.SameModel, 9},
		"another model":            {slices.Concat(few, opus, codex), forecast.SameAgent, 9},
		"another agent":            {codex, forecast.Anything, 5},
		"all that there is":        {few, forecast.Anything, 4},
		"enough of the same alone": {repeat(10, 1), forecast.SameAll, 10},
	}
	for name, test := range tests {
		out := forecast.Run(forecast.Input{Past: test.past, Nodes: nodes(3)})
		check.Equal(t, name, []forecast.Basis{{Level: test.level, Tasks: 3, Past: test.n}}, out.Basis)
		check.That(t, out.Sparse == (test.n < 10), "%s: sparse is %v with %d", name, out.Sparse, test.n)
	}
}

func TestWhatIsUnknownIsNotNothing(t *testing.T) {
	t.Parallel()
	silent := repeat(5, 3)
	for i := range silent {
		silent[i].CostUnknown, silent[i].CostUSD = true, 0.5 // a part of it is known
	}
	out := forecast.Run(forecast.Input{Past: silent, Nodes: nodes(2)})
	check.That(t, out.Cost == nil && out.CostUnknown == 2, "the cost of silent agents is %v, unknown for %d", out.Cost, out.CostUnknown)

	// Some reported it: they stand for the others.
	out = forecast.Run(forecast.Input{Past: append(slices.Clone(silent), repeat(5, 3)...), Nodes: nodes(2)})
	check.Equal(t, "cost of two tasks", &forecast.Money{P50: 6, P90: 6}, out.Cost)
	check.Equal(t, "tasks of unknown cost", 0, out.CostUnknown)

	// An agent that costs nothing beside one that does not say.
	free := repeat(5, 0)
	for i := range free {
		free[i].Agent = "shell"
	}
	shell := node()
	shell.Agent = "shell"
	out = forecast.Run(forecast.Input{Past: append(slices.Clone(silent), free...), Nodes: []forecast.Node{node(), shell}})
	check.Equal(t, "what is known", &forecast.Money{}, out.Cost)
	check.Equal(t, "tasks of unknown cost", 1, out.CostUnknown)

	empty := forecast.Run(forecast.Input{Nodes: nodes(2), Workers: 1})
	check.Equal(t, "without a past", forecast.Result{Tasks: 2}, empty)
	check.Equal(t, "with nothing to do", forecast.Result{Past: 2, Attempts: 2}, forecast.Run(forecast.Input{Past: pasts(1, 2)}))
}
