package render

import (
	"slices"
	"strings"

	"ralph/event"
)

// Step is a command to type next, and what it is for.
type Step struct {
	Command string `json:"command"`
	Why     string `json:"why"`
}

// Failed is a task that failed and still has.
type Failed struct {
	Task   string
	Reason string
	Ran    bool // there is something to read about it
}

// Continue is the command that continues a run with its target, agent and limits; without
// a run it is what starts one.
func Continue(run string) string {
	if run == "" {
		return "ralph run"
	}
	return "ralph run --continue " + run
}

// Next chooses the commands to type after a run, by how it ended and by what failed. More
// tasks may have failed than are listed.
func Next(run string, o event.RunOutcome, list []Failed, more bool) []Step {
	again := Step{Continue(run), "continue with the same flags and counters"}
	status := Step{"ralph status", "what is done, what is next, what waits and why"}
	doctor := Step{"ralph doctor", "check the project and its agents"}
	failures := afterFailures(run, list, more)
	switch o {
	case event.OutcomeComplete, event.OutcomeFailure:
		return failures
	case event.OutcomeBlocked:
		return slices.Concat([]Step{status, {"ralph task why ID", "what a task waits for"}}, failures, []Step{again})
	case event.OutcomeNoPlan:
		return []Step{{`ralph task add "TITLE"`, "add a task"}, {"ralph task import FILE", "add many at once"}, {"ralph task list --all", "list all tasks"}}
	case event.OutcomeInterrupted:
		return slices.Concat([]Step{again, {"ralph task log ID -m TEXT", "give the next attempt guidance first"}, status}, failures)
	case event.OutcomeLimit:
		again.Why += "; raise the limit that was reached"
		return slices.Concat([]Step{again, status}, failures)
	case event.OutcomeStopped:
		return slices.Concat([]Step{again, status}, failures)
	case event.OutcomeUnavailable:
		return []Step{doctor, again}
	case event.OutcomeRunning:
		return []Step{{"ralph logs -f", "follow it"}, status}
	case event.OutcomeDied:
		return []Step{{again.Command, "recover its tasks and continue"}, doctor}
	case event.OutcomeError, event.OutcomeNotStarted:
	}
	return slices.Concat([]Step{status, doctor}, failures)
}

func afterFailures(run string, list []Failed, more bool) []Step {
	if len(list) == 1 && !more {
		return list[0].Next(run)
	}
	var steps []Step
	for _, f := range list[:min(len(list), 1)] {
		steps = append(steps, Step{"ralph logs " + f.Task, "what the agent did in the first that failed"})
	}
	if i := slices.IndexFunc(list, Failed.tampered); i >= 0 {
		steps = append(steps, list[i].allow())
	}
	if len(list) > 0 || more {
		steps = append(steps, Step{"ralph task reset --failed && " + Continue(run), "let the failed tasks run again"})
	}
	return steps
}

// Next is what to do about one failed task.
func (f Failed) Next(run string) []Step {
	var steps []Step
	if f.Ran {
		steps = append(steps, Step{"ralph logs " + f.Task, "what the agent did"})
	}
	if f.tampered() {
		steps = append(steps, f.allow())
	}
	return append(steps, Step{"ralph task log " + f.Task + ` -m "TEXT"`, "give the next attempt guidance"},
		Step{"ralph task reset " + f.Task + " && " + Continue(run), "let it run again"})
}

func (f Failed) tampered() bool { return strings.Contains(f.Reason, "tampering: ") }

func (f Failed) allow() Step {
	return Step{"ralph task update " + f.Task + " --allow-tampering", "if that is what the task is for"}
}
