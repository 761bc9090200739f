package loop

import (
	"testing"
	"time"

	"ralph/dag"
	"ralph/event"
	"ralph/internal/testing/check"
	"ralph/loop/attempt"
)

func TestOnlyTheSessionOfAnInterruptedAttemptIsGoneOnWith(t *testing.T) {
	t.Parallel()
	at := func(minute int) time.Time { return time.Date(2026, 1, 2, 3, minute, 0, 0, time.UTC) }
	cost := func(usd float64) *float64 { return &usd }
	try := func(minute int, outcome event.AttemptOutcome, session string, usd *float64) dag.Attempt {
		return dag.Attempt{Agent: "x", StartedAt: at(minute), EndedAt: at(minute + 1), Outcome: outcome, Session: session, SessionUSD: usd}
	}
	earlier := func(session string, usd float64) *attempt.Earlier {
		return &attempt.Earlier{Agent: "x", Session: session, CostUSD: usd}
	}
	current := dag.Attempt{Agent: "x", StartedAt: at(50)}
	for name, tt := range map[string]struct {
		started  int
		attempts []dag.Attempt
		want     *attempt.Earlier
	}{
		"the first attempt":                {0, []dag.Attempt{current}, nil},
		"after an interruption":            {0, []dag.Attempt{try(1, "interrupted", "s", cost(0.5)), current}, earlier("s", 0.5)},
		"after another result":             {0, []dag.Attempt{try(1, "interrupted", "s", nil), try(3, "released", "s2", nil), current}, nil},
		"interrupted before a session":     {0, []dag.Attempt{try(1, "interrupted", "", nil), current}, nil},
		"interrupted twice":                {0, []dag.Attempt{try(1, "interrupted", "s", cost(0.5)), try(3, "interrupted", "s", cost(0.75)), current}, earlier("s", 0.75)},
		"killed when it was resumed":       {0, []dag.Attempt{try(1, "interrupted", "s", cost(0.5)), try(3, "interrupted", "s", nil), current}, earlier("s", 0.5)},
		"reset by a person after it":       {50, []dag.Attempt{try(1, "interrupted", "s", nil), current}, nil},
		"interrupted after it was reset":   {3, []dag.Attempt{try(1, "interrupted", "s", nil), try(3, "interrupted", "s2", nil), current}, earlier("s2", 0)},
		"another session cost more before": {0, []dag.Attempt{try(1, "failed", "s", cost(9)), try(3, "interrupted", "s2", nil), current}, earlier("s2", 0)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			check.Equal(t, "result", tt.want, earlierSession(dag.Task{StartedAt: at(tt.started)}, tt.attempts))
		})
	}
}
