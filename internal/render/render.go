// Package render puts events, outcomes, verdicts, usage and next commands into words, and
// renders the events of a run: live for a terminal, a line a step
// for logs, JSON lines for machines, and a footer at the end. It never decides
// anything, and behind an Async it never makes the run wait.
package render

import (
	"errors"
	"io"
	"time"

	"ralph/internal/event"
	"ralph/internal/seq"
	"ralph/internal/term"
)

// Sink takes the events of one run, in order. The sinks of this package may be
// called from several goroutines. A sink that cannot write says so at Close; no
// event is ever refused.
type Sink interface {
	Event(e event.Event)
	Close() error
}

// Options are what the sinks for people have in common. Out and Now must be set.
type Options struct {
	Out     io.Writer
	Palette term.Palette
	Width   func() int       // of the terminal; nil or 0 means unknown
	Quiet   bool             // only warnings, failures and the result
	Verbose bool             // also permissions, plans, usage and processes; in logs also each step and thoughts
	Now     func() time.Time // its location is that of the times shown
	// Ticks make a Terminal rewrite its last line: the countdown of a wait, or how
	// long it has been silent. They give a log a sign of life once a minute. A second
	// apart is right; nil means no such line.
	Ticks <-chan time.Time
	// Fold returns the lines around a part of a log that a CI service shows folded,
	// under a title. Nil means that nothing is folded, and each step is left out.
	Fold func(title string) (begin, end string)
	// Scratch says that the project goes with the run: nothing is left to type there.
	Scratch bool
}

func (o Options) at(e event.Event) time.Time {
	if e.At.IsZero() {
		return o.Now()
	}
	return e.At.In(o.Now().Location())
}

// silent says that quiet output leaves an event out.
func (o Options) silent(e event.Event) bool {
	if !o.Quiet {
		return false
	}
	switch e.Type {
	case event.Warned, event.MergeWaiting, event.RunInterrupted, event.RunEnded:
		return false
	case event.AttemptEnded:
		_, tone := Attempt(e.AttemptOutcome(), e.Status)
		return tone != Bad
	default:
		return true
	}
}

// Multi passes every event to all sinks, in their order.
func Multi(sinks ...Sink) Sink { return multi(sinks) }

type multi []Sink

func (m multi) Event(e event.Event) {
	for _, s := range m {
		s.Event(e)
	}
}

// Close closes all of them, even if one fails.
func (m multi) Close() error {
	return errors.Join(seq.Map(m, Sink.Close)...)
}
