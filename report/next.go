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
	case Running:
		return []Step{{"ralph logs -f", "follow it"}, {"ralph status", "what runs, what is next"}}
	case Died:
		return []Step{{again.Command, "take up what it left behind"}, {"ralph doctor", "is everything as it should be?"}}
	case string(event.OutcomeComplete), string(event.OutcomeFailure):
		return r.afterFailures(nil)
	case string(event.OutcomeBlocked):
		return r.afterFailures([]Step{look})
	case string(event.OutcomeNoPlan):
		return []Step{{`ralph task add "TITLE"`, "add a task"}, {"ralph task list --all", "what there is"}}
	case string(event.OutcomeUnavailable):
		return []Step{{"ralph doctor", "is the project itself in order?"}, again}
	case string(event.OutcomeInterrupted), string(event.OutcomeLimit), "stopped":
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
		if f.Now == string(dag.Failed) {
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
	case r.Outcome == Running:
		return "still running"
	case r.Outcome == Died:
		return "died: its process is gone, and it never said how it ended"
	case r.Outcome == string(event.OutcomeComplete) && r.Counts.Failed > 0:
		return "complete, with " + human.Count(r.Counts.Failed, "failed task")
	}
	if words, known := headlines[r.Outcome]; known {
		return words
	}
	return line(r.Outcome) // of a newer ralph
}

var headlines = map[string]string{
	"":                               "ended",
	string(event.OutcomeComplete):    "complete",
	string(event.OutcomeFailure):     "failure",
	string(event.OutcomeBlocked):     "blocked: nothing could run any more",
	string(event.OutcomeNoPlan):      "no task was there to be done",
	string(event.OutcomeLimit):       "a limit was reached",
	string(event.OutcomeStopped):     "stopped",
	string(event.OutcomeUnavailable): "no usable agent",
	string(event.OutcomeInterrupted): "interrupted",
	string(event.OutcomeError):       "ralph could not go on",
	NotStarted:                       "the run could not begin",
}

// intended says that somebody wanted the run to end as it did: a person, or whoever set
// a limit.
func (r Run) intended() bool {
	return r.Outcome == string(event.OutcomeStopped) || r.Outcome == string(event.OutcomeLimit) || r.Outcome == string(event.OutcomeInterrupted)
}

// Mark is a sign for the headline: good, bad, or worth a look.
func (r Run) Mark() string {
	switch {
	case r.Green():
		return "✓"
	case r.Outcome == Running:
		return "…"
	case r.Counts.Failed > 0, r.Outcome == string(event.OutcomeFailure), r.Outcome == string(event.OutcomeUnavailable),
		r.Outcome == string(event.OutcomeError), r.Outcome == Died, r.Outcome == NotStarted:
		return "✗"
	default:
		return "!"
	}
}
