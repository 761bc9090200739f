package strategy

import "fmt"

// Outcome is one way in which an attempt ends, spelled as the journal does.
type Outcome string

// The outcomes.
const (
	Done        Outcome = "done"        // completed, and verified if that was asked for
	Failed      Outcome = "failed"      // the agent gave up, or a limit of the task was reached
	Retried     Outcome = "retried"     // verification sent it back
	Released    Outcome = "released"    // the turn ended without a verdict
	Interrupted Outcome = "interrupted" // a person or the machine stopped it
	Timeout     Outcome = "timeout"     // it was silent or busy for too long
	Refused     Outcome = "refused"     // the model would not do it
	Error       Outcome = "error"       // the agent crashed or broke the protocol
	Limited     Outcome = "limited"     // the provider had no room for it
)

// Outcomes returns all outcomes.
func Outcomes() []Outcome {
	return []Outcome{Done, Failed, Retried, Released, Interrupted, Timeout, Refused, Error, Limited}
}

// ParseOutcome reads an outcome as the journal spells it.
func ParseOutcome(s string) (Outcome, error) {
	for _, o := range Outcomes() {
		if s == string(o) {
			return o, nil
		}
	}
	return "", fmt.Errorf("unknown outcome %q", s)
}

// trouble reports whether an outcome says that the work itself went wrong. An
// interruption and a rate limit say nothing about the work, and an end without
// a verdict is a matter of form more often than of ability.
func (o Outcome) trouble() bool {
	switch o {
	case Failed, Retried, Timeout, Refused, Error:
		return true
	}
	return false
}
