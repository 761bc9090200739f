package report

import (
	"cmp"
	"time"

	"ralph/dag"
	"ralph/event"
	"ralph/internal/render"
)

// Bare is the report, at that time, of a run of which nothing but its outcome is
// known: it could not begin, or what it stored cannot be read.
func Bare(out event.Result, scope dag.Scope, at time.Time) Run {
	r := Run{
		ID: out.Run, Scope: scope.String(), Target: cmp.Or(scope.Task, scope.Feature), Outcome: out.Outcome, Reason: out.Reason, Iterations: out.Iterations,
		Counts: out.Counts, StartedAt: at.Add(-out.Duration), EndedAt: at, Duration: out.Duration, Zone: time.UTC, index: map[string]int{},
	}
	for _, t := range out.Tasks {
		if t.Status != dag.Failed {
			continue
		}
		f := Failure{Task: t.ID, Title: render.Line(t.Title), Attempts: t.Attempts, Gate: gateInReason(t.Reason), Now: t.Status}
		f.Reason, f.Detail = head(t.Reason)
		f.Next = f.steps(r.ID)
		r.Failures = append(r.Failures, f)
	}
	if r.Outcome != event.OutcomeNotStarted {
		r.Next = r.steps()
	}
	return r
}
