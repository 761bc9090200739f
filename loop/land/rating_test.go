package land

import (
	"testing"
	"time"

	"ralph/dag"
	"ralph/internal/event"
	"ralph/internal/merge"
	"ralph/internal/risk"
	"ralph/internal/testing/check"
)

// TestMeasureAddsWhatWasKnownBefore: what counts of the past, and what does not.
func TestMeasureAddsWhatWasKnownBefore(t *testing.T) {
	t.Parallel()
	begun := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	task := dag.Task{ID: "t-1", StartedAt: begun}
	tried := func(after time.Duration, outcome event.AttemptOutcome, rejected event.Rejection) dag.Attempt {
		return dag.Attempt{StartedAt: begun.Add(after), Outcome: outcome, Rejected: rejected, Session: "s"}
	}
	seen := risk.Facts{Files: []string{"a.go", "ci.yml", "x_test.go"}, Lines: 7, Checks: []string{"x_test.go", "ci.yml"}, Doubts: []string{"a flaky gate"}}
	before := Before{
		Protect: []string{"*.yml"},
		Authors: merge.Authors{"a.go": {"Ann": true, "Bob": true}, "x_test.go": {"Ann": true}, "other.go": {"Ann": true, "Bob": true, "Cem": true}},
		Attempts: []dag.Attempt{
			tried(-time.Hour, event.AttemptFailed, event.RejectedVerdict), // before the task was reset
			tried(0, event.AttemptRetried, event.RejectedGate),
			tried(time.Hour, event.AttemptRetried, event.RejectedVerdict),
			tried(2*time.Hour, event.AttemptInterrupted, ""),
			tried(2*time.Hour, event.AttemptLimited, ""),
			tried(2*time.Hour, event.AttemptAsked, ""),
			tried(2*time.Hour, event.AttemptTimeout, ""),
			tried(2*time.Hour, event.AttemptReleased, ""),
			{StartedAt: begun.Add(2 * time.Hour), Outcome: event.AttemptError}, // before anything was said to its agent
			tried(3*time.Hour, "", ""),                                         // this one
		},
		Failed: []dag.FailedWork{
			{Task: "t-2", Files: []string{"b.go", "a.go", "x_test.go"}},
			{Task: "t-2", Files: []string{"a.go"}},
			{Task: "t-3", Files: []string{"b.go"}},
			{Task: "t-1", Files: []string{"a.go"}},
		},
	}
	want := risk.Facts{
		Files: seen.Files, Lines: 7, Protected: []string{"ci.yml"}, Checks: []string{"x_test.go"}, Retries: 4,
		Doubts: []string{"a flaky gate", "an earlier attempt was rejected (verdict)"}, Authors: 2, Failures: 2,
	}
	check.Equal(t, "facts", want, Measure(seen, task, before))
	check.Equal(t, "what was seen", []string{"x_test.go", "ci.yml"}, seen.Checks)
	spent := risk.Facts{Files: []string{"a.go"}, Checks: []string{"x_test.go"}, Spent: risk.Spent{CostUSD: 1, Steps: 2}, Content: risk.Content{Deleted: []string{"x_test.go"}}}
	want = spent
	want.Checks, want.Usual = []string{}, risk.Usual{CostUSD: 3, StepUSD: 1}
	past := []risk.Spent{{CostUSD: 1, Steps: 1}, {CostUSD: 2, Steps: 2}, {CostUSD: 3, Steps: 3}, {CostUSD: 4, Steps: 4}, {CostUSD: 5, Steps: 5}}
	check.Equal(t, "compared with the past, and a deleted test once", want, Measure(spent, task, Before{Spent: past}))
	check.Equal(t, "nothing before", seen, Measure(seen, task, Before{}))
}
