package event

import "time"

// RunOutcome is how a run ends.
type RunOutcome string

// The outcomes of a run.
const (
	OutcomeComplete    RunOutcome = "complete"          // every task in scope is resolved
	OutcomeFailure     RunOutcome = "failure"           // the agent promised FAILURE, or --fail-fast met a failed task
	OutcomeBlocked     RunOutcome = "blocked"           // nothing can run, but work remains
	OutcomeNoPlan      RunOutcome = "no_plan"           // no task in scope
	OutcomeLimit       RunOutcome = "limit"             // iterations, time, cost or tokens
	OutcomeStopped     RunOutcome = "stopped"           // by ralph stop
	OutcomeUnavailable RunOutcome = "agent_unavailable" // cannot be started, needs a login, or failed repeatedly
	OutcomeInterrupted RunOutcome = "interrupted"       // by a signal
	OutcomeError       RunOutcome = "error"             // ralph itself could not go on: the database or a file failed
)

// Result is what came of a run: itself, without those that it continues.
type Result struct {
	Outcome    RunOutcome
	Reason     string
	Run        string
	Iterations int
	Counts     Counts
	Usage      Usage
	Duration   time.Duration
	Tasks      []Resolved // that this run moved, in order
	Together   *Together  // nil if it continues none
}

// Resolved is what a run did with a task, last.
type Resolved struct {
	ID       string `json:"id"`
	Title    string `json:"title"`
	Status   string `json:"status"`
	Outcome  string `json:"outcome"`
	Reason   string `json:"reason,omitempty"`
	Attempts int    `json:"attempts"`
}

// ContinueCommand is what to type to go on with a run: its target, its agent and its
// limits are kept. Without a run it is what begins one.
func ContinueCommand(run string) string {
	if run == "" {
		return "ralph run"
	}
	return "ralph run --continue " + run
}
