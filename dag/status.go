package dag

import (
	"slices"

	"ralph/internal/event"
)

// Status is where a task stands.
type Status = event.TaskStatus

// The six statuses of a task.
const (
	Pending    = event.TaskPending
	InProgress = event.TaskInProgress
	Done       = event.TaskDone
	Failed     = event.TaskFailed
	Blocked    = event.TaskBlocked
	Cancelled  = event.TaskCancelled
)

// Statuses lists them in the order people read them.
func Statuses() []Status { return []Status{Pending, InProgress, Done, Failed, Blocked, Cancelled} }

// Trigger is who or what changes a status.
type Trigger string

// The triggers: the loop's verbs, the roll-up, and what people may do.
const (
	ByClaim    Trigger = "claim"
	ByComplete Trigger = "complete"
	ByFail     Trigger = "fail"
	ByRelease  Trigger = "release"
	ByRetry    Trigger = "retry"
	ByRollUp   Trigger = "roll-up"
	ByDone     Trigger = "task done"
	ByGiveUp   Trigger = "task fail"
	ByReset    Trigger = "task reset"
	ByBlock    Trigger = "task block"
	ByUnblock  Trigger = "task unblock"
	ByAccept   Trigger = "task accept"
	ByCancel   Trigger = "task cancel"
	BySkip     Trigger = "when"
	ByDoubt    Trigger = "when in doubt"
)

// Transition is one allowed change of status.
type Transition struct {
	From, To Status
	By       Trigger
}

// Transitions is the whole state machine: what is not listed cannot happen.
func Transitions() []Transition {
	return []Transition{
		{Pending, InProgress, ByClaim},
		{InProgress, Done, ByComplete},
		{InProgress, Failed, ByFail},
		{InProgress, Pending, ByRelease},
		{InProgress, Pending, ByRetry},

		{Pending, Done, ByRollUp},
		{Failed, Done, ByRollUp},
		{Pending, Failed, ByRollUp},
		{Done, Pending, ByRollUp},
		{Failed, Pending, ByRollUp},
		{Pending, Cancelled, ByRollUp},
		{Failed, Cancelled, ByRollUp},
		{Done, Cancelled, ByRollUp},
		{Cancelled, Done, ByRollUp},
		{Cancelled, Pending, ByRollUp},

		{Pending, Done, ByDone},
		{Blocked, Done, ByDone},
		{Failed, Done, ByDone},
		{InProgress, Done, ByDone},
		{Pending, Failed, ByGiveUp},
		{Blocked, Failed, ByGiveUp},
		{InProgress, Failed, ByGiveUp},
		{InProgress, Pending, ByReset},
		{Done, Pending, ByReset},
		{Failed, Pending, ByReset},
		{Blocked, Pending, ByReset},
		{Pending, Blocked, ByBlock},
		{Blocked, Pending, ByUnblock},
		{Failed, Pending, ByAccept},
		{Pending, Cancelled, ByCancel},
		{Blocked, Cancelled, ByCancel},
		{Failed, Cancelled, ByCancel},
		{InProgress, Cancelled, ByCancel},
		{Pending, Cancelled, BySkip},
		{Pending, Blocked, ByDoubt},
		{Cancelled, Pending, ByReset},
		{Cancelled, Done, ByDone},
	}
}

// allowed is asked before every change of a status.
func allowed(from, to Status, by Trigger) bool {
	return slices.Contains(Transitions(), Transition{from, to, by})
}

// Kind says what a task is for.
type Kind string

// A work task changes the project; a check only looks at it.
const (
	Work  Kind = "work"
	Check Kind = "check"
)
