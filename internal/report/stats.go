package report

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"ralph/dag"
	"ralph/internal/event"
	"ralph/internal/forecast"
)

// Pace is how long attempts took, and how many of them succeeded.
type Pace struct {
	Key      string
	Attempts int // that ended by themselves
	Done     int
	P50, P95 time.Duration
}

// Share is how many of 1 succeeded.
func (p Pace) Share() float64 {
	if p.Attempts == 0 {
		return 0
	}
	return float64(p.Done) / float64(p.Attempts)
}

// GateCount is how often a gate ran, and how often it failed.
type GateCount struct {
	Command string `json:"command"`
	Runs    int    `json:"runs"`
	Failed  int    `json:"failed"`
	Flaky   int    `json:"flaky"` // it failed, and passed when it was run again
}

// Stats is what many attempts have in common.
type Stats struct {
	All      Pace                         `json:"attempts"`
	Models   []Pace                       `json:"models"`
	Agents   []Pace                       `json:"agents"`
	Gates    []GateCount                  `json:"gates"`    // those that refused most first
	Outcomes map[event.AttemptOutcome]int `json:"outcomes"` // of all attempts that ended
}

// StatsOf counts attempts that have ended. What a person or a provider cut short
// says nothing about a model: interrupted and limited attempts are counted as
// outcomes only.
func StatsOf(receipts []dag.Receipt) Stats {
	s := Stats{Outcomes: map[event.AttemptOutcome]int{}, Gates: []GateCount{}}
	var counted []dag.Receipt
	gates := map[string]*GateCount{}
	for _, r := range receipts {
		if r.Outcome == "" {
			continue
		}
		s.Outcomes[r.Outcome]++
		for _, g := range gatesOf(r.GatesJSON) {
			if gates[g.Command] == nil {
				gates[g.Command] = &GateCount{Command: g.Command}
			}
			gates[g.Command].Runs++
			switch {
			case !g.Accepted():
				gates[g.Command].Failed++
			case g.Verdict == event.GateFlaky:
				gates[g.Command].Flaky++
			}
		}
		if !r.Outcome.Fruitless() && r.Agent != "" {
			counted = append(counted, r)
		}
	}
	for _, g := range gates {
		s.Gates = append(s.Gates, *g)
	}
	slices.SortFunc(s.Gates, func(a, b GateCount) int {
		return cmp.Or(cmp.Compare(b.Failed, a.Failed), cmp.Compare(b.Runs, a.Runs), strings.Compare(a.Command, b.Command))
	})
	s.All = pace("all", counted)
	s.Models = paces(counted, func(r dag.Receipt) string { return cmp.Or(ModelOf(r), NoModel) })
	s.Agents = paces(counted, func(r dag.Receipt) string { return r.Agent })
	return s
}

func paces(receipts []dag.Receipt, key func(dag.Receipt) string) []Pace {
	by := map[string][]dag.Receipt{}
	for _, r := range receipts {
		by[key(r)] = append(by[key(r)], r)
	}
	list := []Pace{}
	for k, rs := range by {
		list = append(list, pace(k, rs))
	}
	slices.SortFunc(list, func(a, b Pace) int {
		return cmp.Or(cmp.Compare(b.Attempts, a.Attempts), strings.Compare(a.Key, b.Key))
	})
	return list
}

func pace(key string, receipts []dag.Receipt) Pace {
	p := Pace{Key: key, Attempts: len(receipts)}
	took := make([]time.Duration, 0, len(receipts))
	for _, r := range receipts {
		took = append(took, max(r.EndedAt.Sub(r.StartedAt), 0))
		if r.Outcome.Done() {
			p.Done++
		}
	}
	slices.Sort(took)
	p.P50, p.P95 = forecast.Percentile(took, 50), forecast.Percentile(took, 95)
	return p
}
