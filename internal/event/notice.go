package event

import "slices"

// notice is a kind of notification, and which events are of it.
type notice struct {
	kind string
	is   func(Event) bool
}

// notices is the one list of kinds: the configuration, completion and package notify read
// it. Of two that fit the later one tells more.
func notices() []notice {
	ended := func(o RunOutcome) func(Event) bool {
		return func(e Event) bool { return e.Type == RunEnded && e.RunOutcome() == o }
	}
	unavailable := ended(OutcomeUnavailable)
	return []notice{
		{"run_end", func(e Event) bool { return e.Type == RunEnded }},
		{"task_failed", func(e Event) bool { return e.Type == AttemptEnded && e.Status == TaskFailed }},
		{"blocked", ended(OutcomeBlocked)},
		{"waiting", func(e Event) bool { return e.Type == Waiting }},
		{"budget", ended(OutcomeLimit)},
		{"needs_input", func(e Event) bool { return unavailable(e) || e.Type == AgentAsked && e.Outcome == "cancelled" }},
		{"question", func(e Event) bool { return e.Type == Asked }},
		{"notify", func(e Event) bool { return e.Type == Notified }},
		{"recovered", func(e Event) bool { return e.Type == RecoveryDone && e.Recovery != nil && *e.Recovery != (Recovery{}) }},
	}
}

// NoticeKinds are the kinds of notifications that a target can ask for.
func NoticeKinds() []string {
	var kinds []string
	for _, n := range notices() {
		kinds = append(kinds, n.kind)
	}
	return kinds
}

// Notices are the kinds of notification that an event is, the most telling first; none
// means that nobody needs to know.
func (e Event) Notices() []string {
	var kinds []string
	for _, n := range slices.Backward(notices()) {
		if n.is(e) {
			kinds = append(kinds, n.kind)
		}
	}
	return kinds
}
