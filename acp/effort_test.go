package acp

import (
	"testing"

	"ralph/internal/testing/check"
	"ralph/internal/testing/fakeagent"
)

func TestTheEffortIsChosenAsTheAgentOffersIt(t *testing.T) {
	t.Parallel()
	three := []string{"low", "medium", "high"}
	for name, tc := range map[string]struct {
		script fakeagent.Script
		model  string
		effort string
		want   EffortChoice
	}{
		"by the option of that name":     {fakeagent.Script{Efforts: three}, "", "high", EffortChoice{"high", "high", three}},
		"by the option of that category": {fakeagent.Script{Efforts: three, EffortOption: "thinking"}, "", "high", EffortChoice{"high", "high", three}},
		"the one in force":               {fakeagent.Script{Efforts: three}, "", "low", EffortChoice{"low", "low", three}},
		"in other letters":               {fakeagent.Script{Efforts: []string{"auto", "High"}}, "", "high", EffortChoice{"high", "High", []string{"auto", "High"}}},
		"nobody asks for one":            {fakeagent.Script{Efforts: three}, "", "", EffortChoice{}},
		"there is no such effort":        {fakeagent.Script{Efforts: []string{"on", "off"}}, "", "high", EffortChoice{"high", "", []string{"on", "off"}}},
		"there is no choice":             {fakeagent.Script{Models: []string{"a"}, OddOption: true}, "", "high", EffortChoice{"high", "", nil}},
		"the chosen model offers it":     {fakeagent.Script{Models: []string{"a", "b"}, Efforts: three, EffortModel: "b"}, "b", "high", EffortChoice{"high", "high", three}},
		"the chosen model offers none":   {fakeagent.Script{Models: []string{"a", "b"}, Efforts: three, EffortModel: "a"}, "b", "high", EffortChoice{"high", "", nil}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, tc.script)
			b.cfg.Model, b.cfg.Effort = tc.model, tc.effort
			check.Equal(t, "choice", tc.want, b.start(t).Effort())
		})
	}
}
