package loop

import "time"

// OutcomeKind is how a run ends.
type OutcomeKind string

// The outcomes of a run.
const (
	OutcomeComplete    OutcomeKind = "complete"          // every task in scope is resolved
	OutcomeFailure     OutcomeKind = "failure"           // the agent promised FAILURE, or --fail-fast met a failed task
	OutcomeBlocked     OutcomeKind = "blocked"           // nothing can run, but work remains
	OutcomeNoPlan      OutcomeKind = "no_plan"           // no task in scope
	OutcomeLimit       OutcomeKind = "limit"             // iterations, time, cost or tokens
	OutcomeStopped     OutcomeKind = "stopped"           // by ralph stop
	OutcomeUnavailable OutcomeKind = "agent_unavailable" // cannot be started, needs a login, or failed repeatedly
	OutcomeInterrupted OutcomeKind = "interrupted"       // by a signal
	OutcomeError       OutcomeKind = "error"             // ralph itself could not go on: the database or a file failed
)

// Outcome is what came of a run.
type Outcome struct {
	Kind       OutcomeKind
	Reason     string
	Run        string
	Iterations int
	Counts     Counts
	Usage      Usage
	Duration   time.Duration
	Tasks      []Resolved // that this run moved, in order
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
