package forecast

import (
	"math/rand/v2"
	"time"
)

// Level is what past tasks have in common with the open ones that they stand for.
type Level string

// The levels, the closest first.
const (
	SameAll   Level = "kind, size, agent and model"
	SameKind  Level = "kind, agent and model"
	SameModel Level = "agent and model"
	SameAgent Level = "agent"
	Anything  Level = "nothing"
)

// What of a task a level looks at.
var levels = []struct {
	level Level
	of    func(Traits) Traits
}{
	{SameAll, func(t Traits) Traits { return t }},
	{SameKind, func(t Traits) Traits { return Traits{Kind: t.Kind, Agent: t.Agent, Model: t.Model} }},
	{SameModel, func(t Traits) Traits { return Traits{Agent: t.Agent, Model: t.Model} }},
	{SameAgent, func(t Traits) Traits { return Traits{Agent: t.Agent} }},
	{Anything, func(Traits) Traits { return Traits{} }},
}

const (
	// Few is how many past tasks a group needs to stand for others: with fewer a wider one does.
	Few = 5
	// Enough is from how many on p90 means something: one of them lies beyond it.
	Enough = 10
)

// Basis is how many open tasks have their forecast from past ones of a level.
type Basis struct {
	Level Level
	Tasks int
	Past  int // in the smallest of their groups
}

// pool is past tasks that stand for some open ones.
type pool struct {
	level Level
	past  []Past
	known []int // those with a known cost
	tasks int   // that it stands for

	again []int    // which of them is in which place in this draw
	drawn []uint64 // the draw in which that was chosen, from 1
}

type pools struct {
	list []*pool
	of   []*pool // by task
	out  []sample
}

// sample is what a task comes to in a draw.
type sample struct {
	took   time.Duration
	cost   float64
	failed bool
}

// newPools finds for each task the closest past ones of which there are enough.
func newPools(past []Past, nodes []Node, tasks []int) *pools {
	type key struct {
		level  Level
		traits Traits
	}
	by := map[key]*pool{}
	for _, p := range past {
		for _, l := range levels {
			if p.Kind == "" && (l.level == SameAll || l.level == SameKind) {
				continue // it was deleted: nobody knows
			}
			k := key{l.level, l.of(p.Traits)}
			if by[k] == nil {
				by[k] = &pool{level: l.level}
			}
			by[k].past = append(by[k].past, p)
		}
	}
	ps := &pools{out: make([]sample, len(tasks))}
	for _, n := range tasks {
		var found *pool
		for _, l := range levels {
			found = by[key{l.level, l.of(nodes[n].Traits)}]
			if found != nil && (len(found.past) >= Few || l.level == Anything) {
				break
			}
		}
		if found.tasks++; found.tasks == 1 {
			found.begin()
			ps.list = append(ps.list, found)
		}
		ps.of = append(ps.of, found)
	}
	return ps
}

func (p *pool) begin() {
	p.again, p.drawn = make([]int, len(p.past)), make([]uint64, len(p.past))
	for i, past := range p.past {
		if !past.CostUnknown {
			p.known = append(p.known, i)
		}
	}
}

// draw chooses a past task for each open one. It first draws, with repetition, which past tasks there might have been instead of
// those that there were, and then from these: few of them say little about the next ones, and a night of many tasks does not
// average that out.
func (ps *pools) draw(n uint64) []sample {
	r := rand.New(rand.NewPCG(0, n))
	for i, p := range ps.of {
		past := p.past[p.pick(r, n+1)]
		s := sample{took: past.Took, cost: past.CostUSD, failed: past.Failed}
		switch {
		case len(p.known) == 0:
			s.cost = 0
		case past.CostUnknown:
			s.cost = p.past[p.known[r.IntN(len(p.known))]].CostUSD
		}
		ps.out[i] = s
	}
	return ps.out
}

func (p *pool) pick(r *rand.Rand, draw uint64) int {
	i := r.IntN(len(p.past))
	if p.drawn[i] != draw {
		p.drawn[i], p.again[i] = draw, r.IntN(len(p.past))
	}
	return p.again[i]
}

// basis says what the forecast is based on, and whether that is little.
func (ps *pools) basis() (list []Basis, sparse bool) {
	for _, l := range levels {
		b := Basis{Level: l.level}
		for _, p := range ps.list {
			if p.level != l.level {
				continue
			}
			if b.Tasks += p.tasks; b.Past == 0 || len(p.past) < b.Past {
				b.Past = len(p.past)
			}
			sparse = sparse || len(p.past) < Enough
		}
		if b.Tasks > 0 {
			list = append(list, b)
		}
	}
	return list, sparse
}

// costs says of how many tasks the cost is unknown, and whether some costs are estimates.
func (ps *pools) costs() (unknown int, estimated bool) {
	for _, p := range ps.list {
		if len(p.known) == 0 {
			unknown += p.tasks
		}
		for _, i := range p.known {
			estimated = estimated || p.past[i].CostEstimated
		}
	}
	return unknown, estimated
}
