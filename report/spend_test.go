package report_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"ralph/dag"
	"ralph/event"
	_ "ralph/internal/testing/seeded"
	"ralph/report"
)

// TestNothingIsCountedTwice adds up the same receipts under every heading.
func TestNothingIsCountedTwice(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var receipts []dag.Receipt
		var cents, told, silent int
		for i := range rapid.IntRange(0, 40).Draw(t, "attempts") {
			r := dag.Receipt{
				ID: fmt.Sprint("a-", i), Run: rapid.SampledFrom([]string{"r-1", "r-2"}).Draw(t, "run"),
				Task: rapid.SampledFrom([]string{"t-1", "t-2", "t-3"}).Draw(t, "task"), Agent: rapid.SampledFrom([]string{"", "claude", "codex"}).Draw(t, "agent"),
				Model: rapid.SampledFrom([]string{"", "opus"}).Draw(t, "model"), ModelEffective: rapid.SampledFrom([]string{"", "claude-opus"}).Draw(t, "effective"),
				Usage: event.Usage{Estimated: rapid.Bool().Draw(t, "estimated")}, Outcome: rapid.SampledFrom([]event.AttemptOutcome{event.AttemptDone, event.AttemptFailed, event.AttemptRetried}).Draw(t, "outcome"),
			}
			if rapid.Bool().Draw(t, "tells") {
				c := rapid.IntRange(0, 500).Draw(t, "cents")
				cost := float64(c) / 100
				r.CostUSD = &cost
				cents, told = cents+c, told+1
			}
			if r.Unknown = r.Agent != "" && rapid.Bool().Draw(t, "hides"); r.Unknown {
				silent++
			}
			receipts = append(receipts, r)
		}
		for name, key := range map[string]func(dag.Receipt) (string, string){
			"model": func(r dag.Receipt) (string, string) { return report.ModelOf(r), "" },
			"task":  func(r dag.Receipt) (string, string) { return r.Task, "" },
			"agent": func(r dag.Receipt) (string, string) { return r.Agent, "" },
			"run":   func(r dag.Receipt) (string, string) { return r.Run, "" },
		} {
			total := report.Total(report.Spend(receipts, key))
			u := total.Usage
			if u.Attempts != len(receipts) || u.Told != told || u.Silent != silent || math.Abs(u.Cost()*100-float64(cents)) > 1e-6 {
				t.Fatalf("by %s: %+v, want %d attempts, %d cents, %d told, %d silent", name, u, len(receipts), cents, told, silent)
			}
			if (u.CostUSD == nil) != (told == 0) {
				t.Fatalf("by %s: an unknown cost is told as %v", name, u.CostUSD)
			}
		}
	})
}

func TestCostSaysWhatIsUnknownAndWhatIsEstimated(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		usage report.Usage
		want  string
	}{
		"nothing happened":         {report.Usage{}, "nothing"},
		"no agent told":            {report.Usage{Silent: 2}, "unknown"},
		"all told":                 {report.Usage{Usage: usd(1.5), Told: 2}, "$1.50"},
		"free is not unknown":      {report.Usage{Told: 1}, "$0.00"},
		"a part was told":          {report.Usage{Usage: usd(2), Told: 1, Silent: 1, Partly: 1}, "at least $2.00 (1 of 1 attempts did not report it)"},
		"only as a judge":          {report.Usage{Usage: usd(2), Told: 1, Silent: 1, Parts: 2}, "at least $2.00"},
		"a part was free":          {report.Usage{Told: 1, Silent: 1, Partly: 1}, "unknown"},
		"less than a cent":         {report.Usage{Usage: usd(0.0042), Told: 1}, "$0.0042"},
		"all estimated":            {report.Usage{Usage: usd(2), EstimatedUSD: 2, Told: 1, Guessed: 1}, "about $2.00 (estimated)"},
		"some estimated":           {report.Usage{Usage: usd(2), EstimatedUSD: 0.5, Told: 2, Guessed: 1}, "$2.00 ($0.50 of it estimated)"},
		"some silent":              {report.Usage{Usage: usd(2), Told: 2, Silent: 1}, "at least $2.00 (1 of 3 attempts did not report it)"},
		"estimated, others silent": {report.Usage{Usage: usd(2), EstimatedUSD: 2, Told: 1, Guessed: 1, Silent: 1}, "at least about $2.00 (estimated; 1 of 2 attempts did not report it)"},
	} {
		if got := tc.usage.CostWords(); got != tc.want {
			t.Errorf("%s: got %q, want %q", name, got, tc.want)
		}
	}
}

func TestStatsCountWhatModelsAreAnsweredFor(t *testing.T) {
	t.Parallel()
	began := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	var receipts []dag.Receipt
	for i := 1; i <= 20; i++ {
		r := dag.Receipt{Agent: "claude", ModelEffective: "opus", StartedAt: began, EndedAt: began.Add(time.Duration(i) * time.Second), Outcome: "done"}
		if i > 15 {
			r.Outcome, r.Gates = "retried", `[{"command":"go test","passed":false},{"command":"","passed":true}]`
		}
		receipts = append(receipts, r)
	}
	receipts = append(receipts,
		dag.Receipt{Agent: "claude", Outcome: "interrupted", StartedAt: began, EndedAt: began.Add(time.Hour)},
		dag.Receipt{Agent: "claude", Outcome: "limited", StartedAt: began, EndedAt: began.Add(time.Hour)},
		dag.Receipt{Agent: "claude", StartedAt: began, Gates: "not JSON"}) // it runs
	s := report.StatsOf(receipts)
	if s.All.Attempts != 20 || s.All.Done != 15 || s.All.P50 != 10*time.Second || s.All.P95 != 19*time.Second {
		t.Errorf("got %+v", s.All)
	}
	if len(s.Gates) != 1 || s.Gates[0] != (report.GateCount{Command: "go test", Runs: 5, Failed: 5}) {
		t.Errorf("got %+v", s.Gates)
	}
	if s.Outcomes["interrupted"] != 1 || s.Outcomes["limited"] != 1 {
		t.Errorf("got %v", s.Outcomes)
	}
}

func usd(cost float64) event.Usage { return event.Usage{CostUSD: &cost} }
