package report

import (
	"time"

	"ralph/dag"
	"ralph/event"
)

// Line is a run in a list of runs.
type Line struct {
	Run      dag.Run
	Outcome  event.RunOutcome
	Duration time.Duration
	Done     int // tasks whose last attempt in the run got them done
	Failed   int // and those whose last attempt failed them
	Usage    Usage

	Iterations int // its own; the graph knows them
}

// LineOf sums a run up by its receipts.
func LineOf(run dag.Run, receipts []dag.Receipt, life func(dag.Process) dag.Life, now time.Time) Line {
	l := Line{Run: run, Outcome: run.Outcome, Duration: run.EndedAt.Sub(run.StartedAt)}
	last := map[string]event.AttemptOutcome{}
	heard := run.StartedAt
	for _, r := range receipts {
		last[r.Task] = r.Outcome
		heard = latest(heard, r.StartedAt, r.EndedAt)
		l.Usage = l.Usage.plus(usageOf(r))
	}
	for _, outcome := range last {
		switch outcome {
		case event.AttemptDone:
			l.Done++
		case event.AttemptFailed:
			l.Failed++
		}
	}
	if run.EndedAt.IsZero() {
		l.Outcome, l.Duration = event.OutcomeRunning, now.Sub(run.StartedAt)
		if life != nil && life(run.Process) == dag.Dead {
			l.Outcome, l.Duration = event.OutcomeDied, heard.Sub(run.StartedAt)
		}
	}
	l.Duration = max(l.Duration, 0)
	return l
}
