package strategy

import "ralph/event"

// trouble reports whether an outcome says that the work itself went wrong. An
// interruption and a rate limit say nothing about the work, and an end without
// a verdict is a matter of form more often than of ability.
func trouble(o event.AttemptOutcome) bool {
	switch o {
	case event.AttemptFailed, event.AttemptRetried, event.AttemptTimeout, event.AttemptRefused, event.AttemptError:
		return true
	case event.AttemptDone, event.AttemptReleased, event.AttemptLimited, event.AttemptInterrupted:
	}
	return false
}
