package report

import (
	"ralph/dag"
	"ralph/event"
	"ralph/internal/human"
)

// steps chooses the commands to type by how the run ended and by what failed.
func (r Run) steps() []Step {
	again := Step{event.ContinueCommand(r.ID), "go on where this stopped"}
	look := Step{"ralph status", "what is done, what is next, what waits and why"}
	switch r.Outcome {
	case event.OutcomeRunning:
		return []Step{{"ralph logs -f", "follow it"}, {"ralph status", "what runs, what is next"}}
	case event.OutcomeDied:
		return []Step{{again.Command, "take up what it left behind"}, {"ralph doctor", "is everything as it should be?"}}
	case event.OutcomeComplete, event.OutcomeFailure:
		return r.afterFailures(nil)
	case event.OutcomeBlocked:
		return r.afterFailures([]Step{look})
	case event.OutcomeNoPlan:
		return []Step{{`ralph task add "TITLE"`, "add a task"}, {"ralph task list --all", "what there is"}}
	case event.OutcomeUnavailable:
		return []Step{{"ralph doctor", "is the project itself in order?"}, again}
	case event.OutcomeInterrupted, event.OutcomeLimit, event.OutcomeStopped:
		return r.afterFailures([]Step{again, look})
	default:
		return r.afterFailures([]Step{look, {"ralph doctor", "is everything as it should be?"}})
	}
}

// afterFailures puts what to do about failed tasks before other steps. What was put
// right since needs nothing.
func (r Run) afterFailures(steps []Step) []Step {
	var open []Failure
	for _, f := range r.Failures {
		if f.Now == dag.Failed {
			open = append(open, f)
		}
	}
	switch len(open) {
	case 0:
		return steps
	case 1:
		return append(open[0].Next, steps...)
	default:
		return append([]Step{
			{"ralph logs " + open[0].Task, "what the agent did in the first that failed"},
			{"ralph task reset --failed && " + event.ContinueCommand(r.ID), "let all that failed run again"},
		}, steps...)
	}
}

// Headline says in one line how the run ended, or how it goes.
func (r Run) Headline() string {
	switch {
	case r.Outcome == event.OutcomeRunning:
		return "still running"
	case r.Outcome == event.OutcomeDied:
		return "died: its process is gone, and it never said how it ended"
	case r.Outcome == event.OutcomeComplete && r.Counts.Failed > 0:
		return "complete, with " + human.Count(r.Counts.Failed, "failed task")
	}
	if words, known := headlines[r.Outcome]; known {
		return words
	}
	return line(r.Outcome) // of a newer ralph
}

var headlines = map[event.RunOutcome]string{
	"":                       "ended",
	event.OutcomeComplete:    "complete",
	event.OutcomeFailure:     "failure",
	event.OutcomeBlocked:     "blocked: nothing could run any more",
	event.OutcomeNoPlan:      "no task was there to be done",
	event.OutcomeLimit:       "a limit was reached",
	event.OutcomeStopped:     "stopped",
	event.OutcomeUnavailable: "no usable agent",
	event.OutcomeInterrupted: "interrupted",
	event.OutcomeError:       "ralph could not go on",
	event.OutcomeNotStarted:  "the run could not begin",
}

// intended says that somebody wanted the run to end as it did: a person, or whoever set
// a limit.
func (r Run) intended() bool {
	return r.Outcome == event.OutcomeStopped || r.Outcome == event.OutcomeLimit || r.Outcome == event.OutcomeInterrupted
}

// Mark is a sign for the headline: good, bad, or worth a look.
func (r Run) Mark() string {
	switch {
	case r.Green():
		return "✓"
	case r.Outcome == event.OutcomeRunning:
		return "…"
	case r.Counts.Failed > 0, r.Outcome == event.OutcomeFailure, r.Outcome == event.OutcomeUnavailable,
		r.Outcome == event.OutcomeError, r.Outcome == event.OutcomeDied, r.Outcome == event.OutcomeNotStarted:
		return "✗"
	default:
		return "!"
	}
}
