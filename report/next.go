package report

import (
	"ralph/dag"
	"ralph/internal/human"
	"ralph/loop"
)

// steps chooses the commands to type by how the run ended and by what failed.
func (r Run) steps() []Step {
	again := Step{loop.ContinueCommand(r.ID), "go on where this stopped"}
	look := Step{"ralph status", "what is done, what is next, what waits and why"}
	switch r.Outcome {
	case Running:
		return []Step{{"ralph logs -f", "follow it"}, {"ralph status", "what runs, what is next"}}
	case Died:
		return []Step{{again.Command, "take up what it left behind"}, {"ralph doctor", "is everything as it should be?"}}
	case string(loop.OutcomeComplete), string(loop.OutcomeFailure):
		return r.afterFailures(nil)
	case string(loop.OutcomeBlocked):
		return r.afterFailures([]Step{look})
	case string(loop.OutcomeNoPlan):
		return []Step{{`ralph task add "TITLE"`, "add a task"}, {"ralph task list --all", "what there is"}}
	case string(loop.OutcomeUnavailable):
		return []Step{{"ralph doctor", "is the project itself in order?"}, again}
	case string(loop.OutcomeInterrupted), string(loop.OutcomeLimit), "stopped":
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
			{"ralph task reset --failed && " + loop.ContinueCommand(r.ID), "let all that failed run again"},
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
	case r.Outcome == string(loop.OutcomeComplete) && r.Counts.Failed > 0:
		return "complete, with " + human.Count(r.Counts.Failed, "failed task")
	}
	if words, known := headlines[r.Outcome]; known {
		return words
	}
	return line(r.Outcome) // of a newer ralph
}

var headlines = map[string]string{
	"":                              "ended",
	string(loop.OutcomeComplete):    "complete",
	string(loop.OutcomeFailure):     "failure",
	string(loop.OutcomeBlocked):     "blocked: nothing could run any more",
	string(loop.OutcomeNoPlan):      "no task was there to be done",
	string(loop.OutcomeLimit):       "a limit was reached",
	string(loop.OutcomeStopped):     "stopped",
	string(loop.OutcomeUnavailable): "no usable agent",
	string(loop.OutcomeInterrupted): "interrupted",
	string(loop.OutcomeError):       "ralph could not go on",
	NotStarted:                      "the run could not begin",
}

// intended says that somebody wanted the run to end as it did: a person, or whoever set
// a limit.
func (r Run) intended() bool {
	return r.Outcome == string(loop.OutcomeStopped) || r.Outcome == string(loop.OutcomeLimit) || r.Outcome == string(loop.OutcomeInterrupted)
}

// Mark is a sign for the headline: good, bad, or worth a look.
func (r Run) Mark() string {
	switch {
	case r.Green():
		return "✓"
	case r.Outcome == Running:
		return "…"
	case r.Counts.Failed > 0, r.Outcome == string(loop.OutcomeFailure), r.Outcome == string(loop.OutcomeUnavailable),
		r.Outcome == string(loop.OutcomeError), r.Outcome == Died, r.Outcome == NotStarted:
		return "✗"
	default:
		return "!"
	}
}
