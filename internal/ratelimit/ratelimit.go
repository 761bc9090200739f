// Package ratelimit recognises that a provider limits our rate, and reads from
// its words when the limit ends. It looks at what an agent reports as
// an error, or a message that is nothing but one; it never waits, and never
// decides what a limit means for a task.
package ratelimit

import (
	"strings"
	"time"
)

// Kind says what there is too little of.
type Kind string

// The kinds there are.
const (
	Rate       Kind = "rate"       // too much in too short a time
	Quota      Kind = "quota"      // an allowance is used up
	Overloaded Kind = "overloaded" // the provider itself has too much to do
)

// Limit is one that was met.
type Limit struct {
	Kind   Kind
	Until  time.Time // when it is over, after now; zero if nobody said
	Reason string    // what was said, in one line
}

// Longest is how far away a reset may be said to be: a week, and a day for
// clocks and zones that disagree. What is said to be later is cut to it.
const Longest = 8 * 24 * time.Hour

// Recognise says whether an error is a limit, and until when. text is what the
// agent said, http a status if the error has one, data whatever JSON came with
// it; any of them may be empty. Clock times without a zone are taken in loc,
// nil for UTC. A time that has passed counts as not given.
func Recognise(text string, http int, data []byte, now time.Time, loc *time.Location) (Limit, bool) {
	e := evidence{now: now, loc: loc, status: http}
	if loc == nil {
		e.loc = time.UTC
	}
	e.addText(text, 0)
	e.parse(data)
	kind, ok := e.classify()
	if !ok {
		return Limit{}, false
	}
	return Limit{Kind: kind, Until: e.until(), Reason: e.reason()}, true
}

func bound(t, now time.Time) time.Time {
	switch {
	case !t.After(now):
		return time.Time{}
	case t.Sub(now) > Longest: // Sub saturates
		return now.Add(Longest)
	default:
		return t
	}
}

func oneLine(text string, most int) string {
	text = strings.Join(strings.Fields(text), " ")
	if len(text) <= most {
		return text
	}
	return strings.TrimSpace(strings.ToValidUTF8(text[:most], "")) + "…"
}
