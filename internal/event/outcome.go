package event

import "time"

// RunOutcome is how a run stands or ended.
type RunOutcome string

// The outcomes of a run. The last three are never in an event: reports tell them of runs
// that did not end by themselves.
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

	OutcomeRunning    RunOutcome = "running"
	OutcomeDied       RunOutcome = "died" // its process is gone, and it never reported how it ended
	OutcomeNotStarted RunOutcome = "not_started"
)

// AttemptOutcome is how an attempt at a task ends, in events, the database and the journal.
type AttemptOutcome string

// The outcomes of an attempt.
const (
	AttemptDone        AttemptOutcome = "done"         // completed, and verified if that was asked for
	AttemptAlreadyDone AttemptOutcome = "already_done" // nothing was left to do, as the verifier found
	AttemptFailed      AttemptOutcome = "failed"       // the agent gave up, or a limit of the task was reached
	AttemptRetried     AttemptOutcome = "retried"      // verification sent it back
	AttemptReleased    AttemptOutcome = "released"     // the turn ended without a verdict
	AttemptTimeout     AttemptOutcome = "timeout"      // it was silent or busy for too long
	AttemptRefused     AttemptOutcome = "refused"      // the model would not do it
	AttemptError       AttemptOutcome = "error"        // the agent crashed or broke the protocol
	AttemptLimited     AttemptOutcome = "limited"      // the provider's rate limit was reached
	AttemptInterrupted AttemptOutcome = "interrupted"  // a person or the machine stopped it
	AttemptAsked       AttemptOutcome = "asked"        // it waits for an answer, and continues then
)

// AttemptOutcomes lists them, the best first.
func AttemptOutcomes() []AttemptOutcome {
	return []AttemptOutcome{
		AttemptDone, AttemptAlreadyDone, AttemptFailed, AttemptRetried, AttemptReleased, AttemptTimeout, AttemptRefused, AttemptError, AttemptLimited, AttemptInterrupted, AttemptAsked,
	}
}

// Fruitless reports whether an outcome says nothing about the task: the attempt was cut off from outside, or waits for a person.
func (o AttemptOutcome) Fruitless() bool {
	return o == AttemptLimited || o == AttemptInterrupted || o == AttemptAsked
}

// Trouble reports whether an outcome says that the work itself went wrong. An interruption
// and a rate limit say nothing about the work, and an end without a verdict is a matter of
// form more often than of ability.
func (o AttemptOutcome) Trouble() bool {
	switch o {
	case AttemptFailed, AttemptRetried, AttemptTimeout, AttemptRefused, AttemptError:
		return true
	case AttemptDone, AttemptAlreadyDone, AttemptReleased, AttemptLimited, AttemptInterrupted, AttemptAsked:
	}
	return false
}

// Done reports whether the task was done when the attempt ended.
func (o AttemptOutcome) Done() bool { return o == AttemptDone || o == AttemptAlreadyDone }

// GateVerdict is what a gate's result counts as.
type GateVerdict string

// The verdicts of gates.
const (
	GatePassed  GateVerdict = "passed"
	GateFlaky   GateVerdict = "flaky"   // it passed when it was run again
	GateExcused GateVerdict = "excused" // it failed before the work too, and no worse
	GateFailed  GateVerdict = "failed"

	GateExpected GateVerdict = "expected" // it fails, as the task wants

	GateFirstChecks GateVerdict = "first_checks" // it does not pass with the checks that the feature began with
)

// Baseline is what a gate said before the work began; empty if that is not known.
type Baseline string

// The results of a baseline.
const (
	BaselineGreen Baseline = "green"
	BaselineRed   Baseline = "red"
)

// Verdict is what the verifying agent says about finished work.
type Verdict string

// The verdicts of the verifier.
const (
	VerdictPass Verdict = "pass"
	VerdictFail Verdict = "fail"
	VerdictNone Verdict = "none" // it could not be asked, or its verdict does not count
)

// DriftAction is what is done about an attempt that makes no progress.
type DriftAction string

// The actions, in the order in which they are tried.
const (
	DriftNudge    DriftAction = "nudge"    // say so in the session, once
	DriftStronger DriftAction = "stronger" // end the attempt; the next has a stronger model
	DriftGiveUp   DriftAction = "give_up"  // the task has failed
)

// TaskStatus is where a task stands.
type TaskStatus string

// The statuses of a task.
const (
	TaskPending    TaskStatus = "pending"
	TaskInProgress TaskStatus = "in_progress"
	TaskDone       TaskStatus = "done"
	TaskFailed     TaskStatus = "failed"
	TaskBlocked    TaskStatus = "blocked"
	TaskCancelled  TaskStatus = "cancelled" // nobody will do it
	TaskDeleted    TaskStatus = "deleted"   // never stored: the task is gone
)

// Open reports whether a task with that status is not over.
func (s TaskStatus) Open() bool { return s != TaskDone && s != TaskFailed && s != TaskCancelled }

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
	Work       *Work      // nil if agents worked in the project's own folder
}

// Resolved is what a run did with a task, last.
type Resolved struct {
	ID       string         `json:"id"`
	Title    string         `json:"title"`
	Status   TaskStatus     `json:"status"`
	Outcome  AttemptOutcome `json:"outcome"`
	Reason   string         `json:"reason,omitempty"`
	Rejected Rejection      `json:"rejected,omitempty"`
	Command  string         `json:"command,omitempty"` // that a person types about a rejection
	Attempts int            `json:"attempts"`
}
