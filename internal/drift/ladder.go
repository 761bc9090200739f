package drift

import "strings"

// Rung is what is done about drift.
type Rung string

// The rungs, in the order in which they are tried.
const (
	Nudge    Rung = "nudge"    // say so in the session, once
	Stronger Rung = "stronger" // end the attempt; the next has a stronger model
	GiveUp   Rung = "give_up"  // the task has failed
)

// Past is what was done about it before.
type Past struct {
	Nudged int // follow-ups in this session
	Ended  int // earlier attempts at the task that ended by drift, since it was last reset
}

// Ladder says what is done next. A stronger model is told once, too, before the
// task is given up.
func Ladder(p Past) Rung {
	switch {
	case p.Nudged == 0:
		return Nudge
	case p.Ended == 0:
		return Stronger
	default:
		return GiveUp
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
