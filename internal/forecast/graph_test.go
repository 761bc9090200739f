package forecast_test

import (
	"testing"

	"ralph/internal/forecast"
	"ralph/internal/testing/check"
)

// A task that takes 5 minutes and succeeds, unless its kind says otherwise.
var (
	fives = repeat(5, 5)
	fails = func() (list []forecast.Past) {
		for _, p := range fives {
			p.Kind, p.Failed = "fails", true
			list = append(list, p)
		}
		return list
	}()
)

type change func(*forecast.Node)

func but(n forecast.Node, changes ...change) forecast.Node {
	for _, c := range changes {
		c(&n)
	}
	return n
}

func in(group int) change           { return func(n *forecast.Node) { n.Parent = group } }
func priority(p int) change         { return func(n *forecast.Node) { n.Priority = p } }
func id(text string) change         { return func(n *forecast.Node) { n.ID = text } }
func locked(locks ...int) change    { return func(n *forecast.Node) { n.Locks = locks } }
func notBefore(after int) change    { return func(n *forecast.Node) { n.NotBefore = minutes(after) } }
func failing(n *forecast.Node)      { n.Kind = "fails" }
func excused(n *forecast.Node)      { n.Excused = true }
func group(n *forecast.Node)        { n.Group = true }
func stuck(n *forecast.Node)        { n.Stuck = true }
func hasFailed(n *forecast.Node)    { n.HasFailed = true }
func hasCancelled(n *forecast.Node) { n.HasCancelled = true }
func failedGroup(n *forecast.Node)  { n.Group, n.Failed = true, true }
func first(n *forecast.Node)        { n.First = true }

// TestTheGraphIsRunAsARunDoes holds the simulation to the rules of the state machine, with tasks that take 5 minutes each.
func TestTheGraphIsRunAsARunDoes(t *testing.T) {
	t.Parallel()
	gpu := []forecast.Lock{{Limit: 1, Excludes: []int{0}}}
	tests := map[string]struct {
		nodes     []forecast.Node
		locks     []forecast.Lock
		workers   int
		stops     bool // a failed task keeps back the rest of its group
		failFast  bool
		minutes   int
		done, out int // tasks that are done, and that cannot begin
	}{
		"one after another":                 {nodes: nodes(3), workers: 1, minutes: 15, done: 3},
		"side by side":                      {nodes: nodes(3), workers: 2, minutes: 10, done: 3},
		"a diamond":                         {nodes: []forecast.Node{node(), node(0), node(0), node(1, 2)}, workers: 2, minutes: 15, done: 4},
		"what a failed task keeps back":     {nodes: []forecast.Node{but(node(), failing), node(0), node(1)}, workers: 2, minutes: 5},
		"unless that is allowed":            {nodes: []forecast.Node{but(node(), failing, excused), node(0)}, workers: 2, minutes: 10, done: 1},
		"a group is waited for":             {nodes: []forecast.Node{but(node(), group), but(node(), in(0)), but(node(), in(0)), node(0)}, workers: 2, minutes: 10, done: 3},
		"a group waits":                     {nodes: []forecast.Node{node(), but(node(0), group), but(node(), in(1)), but(node(), in(1))}, workers: 2, minutes: 10, done: 3},
		"a group in a group waits":          {nodes: []forecast.Node{node(), but(node(0), group), but(node(), group, in(1)), but(node(), in(2))}, workers: 2, minutes: 10, done: 2},
		"a task in a group fails":           {nodes: []forecast.Node{but(node(), group), but(node(), in(0), failing), but(node(), in(0)), node(0)}, workers: 1, minutes: 10, done: 1},
		"and stops the group":               {nodes: []forecast.Node{but(node(), group), but(node(), in(0), failing), but(node(), in(0)), node()}, workers: 1, stops: true, minutes: 10, done: 1},
		"and ends the run":                  {nodes: []forecast.Node{but(node(), failing), node(), node()}, workers: 1, failFast: true, minutes: 5},
		"an excused one in a group":         {nodes: []forecast.Node{but(node(), group), but(node(), in(0), failing, excused), node(0)}, workers: 1, minutes: 10, done: 1},
		"an excused group":                  {nodes: []forecast.Node{but(node(), group, excused), but(node(), in(0), failing), node(0)}, workers: 1, minutes: 10, done: 1},
		"a group that failed before":        {nodes: []forecast.Node{but(node(), failedGroup), but(node(), in(0)), node(0)}, workers: 1, minutes: 5, done: 1, out: 1},
		"and is not worked on":              {nodes: []forecast.Node{but(node(), failedGroup), but(node(), in(0)), node()}, workers: 1, stops: true, minutes: 5, done: 1, out: 1},
		"a group with a cancelled task":     {nodes: []forecast.Node{but(node(), group, hasCancelled), but(node(), in(0)), node(0)}, workers: 1, minutes: 5, done: 1, out: 1},
		"which nothing excuses":             {nodes: []forecast.Node{but(node(), group, hasCancelled, excused), but(node(), in(0)), node(0)}, workers: 1, minutes: 5, done: 1, out: 1},
		"a group in such a group":           {nodes: []forecast.Node{but(node(), group), but(node(), group, in(0), hasCancelled), but(node(), in(1)), node(0)}, workers: 1, minutes: 5, done: 1, out: 1},
		"a group with a failed task":        {nodes: []forecast.Node{but(node(), group, hasFailed), but(node(), in(0)), node(0)}, workers: 1, minutes: 5, done: 1, out: 1},
		"which is excused":                  {nodes: []forecast.Node{but(node(), group, hasFailed, excused), but(node(), in(0)), node(0)}, workers: 1, minutes: 10, done: 2},
		"what waits for a person":           {nodes: []forecast.Node{but(node(), stuck), node(0), node()}, workers: 1, minutes: 5, done: 1, out: 2},
		"a blocked group":                   {nodes: []forecast.Node{but(node(), group, stuck), but(node(), in(0)), node()}, workers: 1, minutes: 5, done: 1, out: 1},
		"a task that waits for a time":      {nodes: []forecast.Node{but(node(), notBefore(7)), node()}, workers: 1, minutes: 12, done: 2},
		"which may be over by its turn":     {nodes: []forecast.Node{node(), but(node(0), notBefore(3))}, workers: 1, minutes: 10, done: 2},
		"a lock":                            {nodes: []forecast.Node{but(node(), locked(0)), but(node(), locked(0)), node()}, locks: gpu, workers: 3, minutes: 10, done: 3},
		"a lock that two may have":          {nodes: []forecast.Node{but(node(), locked(0)), but(node(), locked(0)), but(node(), locked(0))}, locks: []forecast.Lock{{Limit: 2, Excludes: []int{0}}}, workers: 3, minutes: 10, done: 3},
		"locks that exclude each other":     {nodes: []forecast.Node{but(node(), locked(0)), but(node(), locked(1))}, locks: []forecast.Lock{{Limit: 1, Excludes: []int{0, 1}}, {Limit: 1, Excludes: []int{0, 1}}}, workers: 2, minutes: 10, done: 2},
		"everything is done, or on its way": {workers: 4},
	}
	for name, test := range tests {
		out := forecast.Run(forecast.Input{
			Past: append(fails[:len(fails):len(fails)], fives...), Nodes: test.nodes, Locks: test.locks, Workers: test.workers, KeepGoing: !test.stops, FailFast: test.failFast,
		})
		check.Equal(t, name+": it takes", same(test.minutes), out.Took)
		check.Equal(t, name+": done", []int{test.done, test.done}, []int{out.DoneP50, out.DoneP90})
		check.Equal(t, name+": left out", test.out, out.LeftOut)
	}
}

// TestTasksBeginInTheOrderOfClaims: what is at work, then by priority, then by age; and nobody overtakes the first that waits for a lock.
func TestTasksBeginInTheOrderOfClaims(t *testing.T) {
	t.Parallel()
	order := func(in forecast.Input) (ids string) {
		in.Past, in.KeepGoing = fives, true
		for _, e := range forecast.Run(in).Each {
			ids += e.ID
		}
		return ids
	}
	list := []forecast.Node{but(node(), id("a"), priority(2)), but(node(), id("b")), but(node(), id("c")), but(node(), id("d"), priority(9), first)}
	check.Equal(t, "order", "dbca", order(forecast.Input{Nodes: list, Workers: 1}))

	// b needs both locks and waits for a; c could have the other one at once, and must not.
	locks := []forecast.Lock{{Limit: 1, Excludes: []int{0}}, {Limit: 1, Excludes: []int{1}}}
	list = []forecast.Node{but(node(), id("a"), locked(0)), but(node(), id("b"), locked(0, 1)), but(node(), id("c"), locked(1)), but(node(), id("d"))}
	out := forecast.Run(forecast.Input{Past: fives, Nodes: list, Locks: locks, Workers: 2})
	check.Equal(t, "with locks", same(15), out.Took)
	check.Equal(t, "order with locks", "adbc", order(forecast.Input{Nodes: list, Locks: locks, Workers: 2}))
}

// TestUntilCutsARun counts what is done before, and the part of the cost that is spent by then.
func TestUntilCutsARun(t *testing.T) {
	t.Parallel()
	out := forecast.Run(forecast.Input{Past: fives, Nodes: nodes(4), Workers: 1, Until: minutes(12)})
	check.Equal(t, "it takes", same(12), out.Took)
	check.Equal(t, "without the limit", same(20), out.Whole)
	check.Equal(t, "done", []int{2, 2}, []int{out.DoneP50, out.DoneP90})
	check.Equal(t, "cost", &forecast.Money{P50: 12, P90: 12}, out.Cost)
	var chances []float64
	for _, e := range out.Each {
		chances = append(chances, e.Done)
		check.Equal(t, "sooner or later", 1.0, e.Ever)
	}
	check.Equal(t, "chances", []float64{1, 1, 0, 0}, chances)
	check.Equal(t, "until the last moment", 4, forecast.Run(forecast.Input{Past: fives, Nodes: nodes(4), Workers: 1, Until: minutes(20)}).DoneP90)
}
