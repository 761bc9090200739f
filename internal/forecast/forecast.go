// Package forecast says how long the open tasks of a graph will take and what they will cost, from what past tasks of the
// same project took. It is a function of its input: it reads no database and no clock, and the same input has the same answer.
package forecast

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// Input is what a forecast is made of.
type Input struct {
	Past  []Past
	Nodes []Node
	Locks []Lock

	Workers   int           // agents at once; less than one counts as one
	Until     time.Duration // from now on, when the run stops; 0 means that it does not
	KeepGoing bool          // a failed task does not keep back the rest of its group
	FailFast  bool          // nothing begins after the first failed task
}

// Node is an open task, or a group of tasks.
type Node struct {
	ID, Title string
	Traits
	Parent int   // the group it is in, by its place in Input.Nodes; -1 for none
	After  []int // what it waits for

	Group   bool
	Stuck   bool // it cannot begin, nor what is below it: it waits for a person, or for what is not in the graph
	Failed  bool // of a group: it has failed already, although tasks in it are open
	Excused bool // who waits for it goes on if it fails

	HasFailed    bool // of a group: a task in it has failed, so the group fails when the last one ends
	HasCancelled bool // of a group: a task in it was cancelled, so the group is not done then

	First     bool // it comes before all others: it is at work, or only has to be verified
	Priority  int
	NotBefore time.Duration // from now on
	Locks     []int         // by their places in Input.Locks
}

// Lock is what tasks must not have at the same time.
type Lock struct {
	Limit    int   // how many may have it at once
	Excludes []int // the locks that count as this one, itself included
}

// Span is a duration that half of the simulated runs do not exceed, and one that nine of ten do not.
type Span struct{ P50, P90 time.Duration }

// Money is the same for costs, in US dollars.
type Money struct{ P50, P90 float64 }

// Result is a forecast. If Past or Tasks is 0, it says nothing more.
type Result struct {
	Tasks    int // that a run could begin
	LeftOut  int // open tasks that it could not, whatever happens
	Past     int // tasks that it is based on
	Attempts int // that these took
	Draws    int // runs that were simulated

	Basis  []Basis // which past tasks stand for which open ones, the closest first
	Sparse bool    // some tasks have so few past ones that p90 means little

	Took  Span // until the run ends: at Input.Until at the latest
	Whole Span // the same without Input.Until

	Cost          *Money // of the tasks whose cost can be forecast, until the run ends; nil if there is none
	CostUnknown   int    // tasks of which no similar one reported its cost
	CostEstimated bool   // some costs of the past are estimates

	DoneP50 int     // as many tasks, or more, are done in half of the runs
	DoneP90 int     // and in nine of ten
	AllDone float64 // the share of the runs in which every task is done

	Each []Estimate // by task, in the order in which they are likely to end
}

// Estimate is when one task ends.
type Estimate struct {
	ID, Title string
	End       Span    // of the runs in which it is done
	Ever      float64 // the share of those runs
	Done      float64 // the share of the runs in which it is done before Input.Until
}

// Draws are bounded by the work that they are: a large graph has fewer of them, which are more alike.
const (
	maxDraws = 1000
	minDraws = 100
	maxSteps = 1 << 20
)

// Run simulates the graph many times. Each time every task takes as long, costs as much, and fails or succeeds as some past task
// did with all its attempts.
func Run(in Input) Result {
	in.Workers = max(in.Workers, 1)
	s := newSimulation(in)
	out := Result{Tasks: len(s.tasks), LeftOut: s.leftOut, Past: len(in.Past)}
	for _, p := range in.Past {
		out.Attempts += p.Attempts
	}
	if out.Past == 0 || out.Tasks == 0 {
		return out
	}
	pools := newPools(in.Past, in.Nodes, s.tasks)
	out.Basis, out.Sparse = pools.basis()
	out.Draws = min(max(maxSteps/(len(s.tasks)*(1+len(s.sets)/16)), minDraws), maxDraws)
	runs := make([]outcome, out.Draws)
	ends := make([]time.Duration, len(s.tasks)*out.Draws)
	for i := range runs {
		runs[i] = s.run(pools.draw(uint64(i)), ends[i*len(s.tasks):][:len(s.tasks)])
	}
	out.sum(in, runs)
	out.CostUnknown, out.CostEstimated = pools.costs()
	if out.CostUnknown < out.Tasks {
		cost := of(runs, func(r outcome) float64 { return r.cost })
		out.Cost = &Money{Percentile(cost, 50), Percentile(cost, 90)}
	}
	out.Each = s.estimates(ends, out.Draws)
	return out
}

// sum adds up what the simulated runs have in common.
func (out *Result) sum(in Input, runs []outcome) {
	whole := of(runs, func(r outcome) time.Duration { return r.end })
	out.Whole = Span{Percentile(whole, 50), Percentile(whole, 90)}
	out.Took = out.Whole
	if in.Until > 0 {
		out.Took = Span{min(out.Whole.P50, in.Until), min(out.Whole.P90, in.Until)}
	}
	done, all := of(runs, func(r outcome) int { return -r.done }), 0
	out.DoneP50, out.DoneP90 = -Percentile(done, 50), -Percentile(done, 90)
	for all < len(done) && -done[all] == out.Tasks {
		all++
	}
	out.AllDone = float64(all) / float64(len(done))
}

// estimates says of each task when it ends.
func (s *simulation) estimates(ends []time.Duration, draws int) []Estimate {
	list := make([]Estimate, len(s.tasks))
	var done []time.Duration
	for i, n := range s.tasks {
		done = done[:0]
		inTime := 0
		for d := range draws {
			end := ends[d*len(s.tasks)+i]
			if end == never {
				continue
			}
			if done = append(done, end); s.in.Until == 0 || end <= s.in.Until {
				inTime++
			}
		}
		slices.Sort(done)
		list[i] = Estimate{
			ID: s.in.Nodes[n].ID, Title: s.in.Nodes[n].Title, Ever: float64(len(done)) / float64(draws), Done: float64(inTime) / float64(draws),
			End: Span{Percentile(done, 50), Percentile(done, 90)},
		}
	}
	slices.SortStableFunc(list, func(a, b Estimate) int {
		if a.Ever == 0 || b.Ever == 0 { // those that never are come last
			return cmp.Compare(b.Ever, a.Ever)
		}
		return cmp.Compare(a.End.P50, b.End.P50)
	})
	return list
}

// of is one value of each run, the smallest first.
func of[T cmp.Ordered](runs []outcome, value func(outcome) T) []T {
	list := make([]T, len(runs))
	for i, r := range runs {
		list[i] = value(r)
	}
	slices.Sort(list)
	return list
}

// Percentile is the smallest value that so many of a hundred do not exceed: always one that occurred.
func Percentile[T cmp.Ordered](sorted []T, of float64) (none T) {
	if len(sorted) == 0 {
		return none
	}
	rank := int(math.Ceil(of / 100 * float64(len(sorted))))
	return sorted[min(max(rank, 1), len(sorted))-1]
}
