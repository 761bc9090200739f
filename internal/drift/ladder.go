package drift

import (
	"strings"

	"ralph/event"
)

// Past is what was done about it before.
type Past struct {
	Nudged int // follow-ups in this session
	Ended  int // earlier attempts at the task that ended by drift, since it was last reset
}

// Ladder says what is done next. A stronger model is nudged once, too, before the
// task is given up.
func Ladder(p Past) event.DriftAction {
	switch {
	case p.Nudged == 0:
		return event.DriftNudge
	case p.Ended == 0:
		return event.DriftStronger
	default:
		return event.DriftGiveUp
	}
}

// Texts are the sentences of signals as one.
func Texts(signals []Signal) string {
	texts := make([]string, len(signals))
	for i, s := range signals {
		texts[i] = s.Text
	}
	return strings.Join(texts, "; ")
}

// Kinds are the names of signals, for storing.
func Kinds(signals []Signal) []string {
	kinds := make([]string, len(signals))
	for i, s := range signals {
		kinds[i] = string(s.Kind)
	}
	return kinds
}
