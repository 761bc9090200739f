// Package schedule starts runs by the clock: each time that a schedule is due once, whatever is killed, whoever else looks
// at the same clock, and wherever that is set to. It runs nothing itself: its caller starts processes.
package schedule

import (
	"context"
	"fmt"
	"time"

	"ralph/dag"
	"ralph/internal/cron"
	"ralph/internal/human"
)

// Schedule is a run that is started by the clock.
type Schedule struct {
	Name    string
	Line    cron.Line
	Args    []string // of `ralph run`
	CatchUp bool     // it runs once if nobody was there when it was due
}

// Options are what a clock needs.
type Options struct {
	Update    func(context.Context, func(*dag.Graph) error) error                        // of the database that is the project's at that time
	Schedules func() []Schedule                                                          // read afresh at each look
	Start     func(ctx context.Context, name string, args []string) (dag.Process, error) // begins a run that outlives us
	Life      func(dag.Process) dag.Life
	Self      dag.Process // who claims
	Now       func() time.Time
	Warn      func(string) // tells a person
}

// The times of a clock.
const (
	late    = time.Minute      // what is due for longer was missed
	longest = 30 * time.Second // from one look to the next: a machine sleeps, and its clock is set
	soonest = 100 * time.Millisecond
	again   = time.Second      // from one look to the next at a run that is in the way
	retry   = 5 * time.Second  // from a look that failed to the next
	fold    = 30 * time.Second // from one note that a schedule is skipped to the next
	astray  = 24 * time.Hour   // a clock that was so far ahead was wrong
	counted = 1000             // times that were missed or skipped
)

// known is what the last look at a schedule has shown. Until its next time there is nothing to look at, unless the clock was set back.
type known struct {
	line     string
	at, next time.Time
	failed   string // what was said, so that it is not said again and again
	owed     Fire   // that was started and could not be stored
}

// Run starts what is due until the context ends.
func Run(ctx context.Context, o Options) {
	seen := map[string]known{}
	for ctx.Err() == nil {
		now := o.Now()
		next := now.Add(longest)
		for _, s := range o.Schedules() {
			k, line := seen[s.Name], s.Line.String()
			if k.line != line || now.Before(k.at) || !k.next.IsZero() && !now.Before(k.next) {
				at, owed, err := o.look(ctx, s, k.owed)
				failed := ""
				if err != nil {
					at, failed = now.Add(retry), fmt.Sprintf("schedule %s: %v", s.Name, err)
				} else if at.IsZero() {
					failed = fmt.Sprintf("schedule %s is never due: %s", s.Name, s.Line.Written())
				}
				if failed != "" && failed != k.failed && ctx.Err() == nil {
					o.Warn(failed)
				}
				k = known{line, now, at, failed, owed}
				seen[s.Name] = k
			}
			if !k.next.IsZero() && k.next.Before(next) {
				next = k.next
			}
		}
		select {
		case <-ctx.Done():
		case <-time.After(max(next.Sub(o.Now()), soonest)):
		}
	}
}

// look stores what the last look owes, starts a schedule if it is due, and says when to look again; zero if it is never due.
func (o Options) look(ctx context.Context, s Schedule, owed Fire) (next time.Time, owes Fire, err error) {
	defer func() {
		if p := recover(); p != nil { // the server does more than this
			err = fmt.Errorf("this is a bug in ralph: %v", p)
		}
	}()
	l := glance{Options: o, schedule: s}
	var claim Fire
	err = o.Update(ctx, func(g *dag.Graph) error {
		l.Graph = g
		if owed.N > 0 {
			store(g, &owed)
		}
		claim = l.claim()
		return g.Tx().Err()
	})
	if err != nil {
		return next, owed, err
	}
	for _, text := range l.news {
		o.Warn("schedule " + s.Name + " " + text)
	}
	if claim.N == 0 {
		return l.next, Fire{}, nil
	}
	claim.State = Started
	if claim.Process, err = o.Start(context.WithoutCancel(ctx), s.Name, s.Args); err != nil {
		claim.State, claim.Note = Failed, err.Error()
		o.Warn(fmt.Sprintf("schedule %s could not be started: %v", s.Name, err))
	}
	if err = o.Update(context.WithoutCancel(ctx), func(g *dag.Graph) error { store(g, &claim); return g.Tx().Err() }); err != nil {
		owes = claim
	}
	return l.next, owes, err
}

// glance is a look at one schedule, in a transaction.
type glance struct {
	Options
	*dag.Graph
	schedule Schedule
	next     time.Time
	news     []string
}

func (l *glance) tell(format string, args ...any) {
	l.news = append(l.news, fmt.Sprintf(format, args...))
}

// claim stores what there is to say about the times up to now, and returns the fire that the caller has to start; its N is 0
// if there is none.
func (l *glance) claim() (none Fire) {
	s, now := l.schedule, l.Graph.Now()
	l.next = s.Line.Next(now)
	past, running := history(l.Graph, s.Name), false
	for _, f := range past {
		switch {
		case Running(l.Graph, f, l.Life):
			running = true
		case f.State == Claimed:
			f.State, f.Note = Missed, "ralph was killed while it started it"
			l.tell("was due at %s, and ralph was killed while it started it; look whether it ran: ralph runs list", f.Due.In(s.Line.Zone()).Format(time.DateTime))
			store(l.Graph, &f)
		}
	}
	last := newest(past, func(f Fire) bool { return !f.Until.IsZero() })
	f := Fire{Name: s.Name, Line: s.Line.String(), Due: now, Until: now, Process: l.Self}
	keep := func(state State, count int, note string) Fire {
		f.State, f.Count, f.Note = state, count, note
		store(l.Graph, &f)
		return none
	}
	if last.N == 0 || last.Line != f.Line || last.Until.Sub(now) > astray {
		return keep(Seen, 0, "")
	}
	first, fresh := s.Line.Next(last.Until), s.Line.Next(latest(last.Until, now.Add(-late)))
	if first.IsZero() || first.After(now) {
		return none
	}
	due, missed, since := !fresh.IsZero() && !fresh.After(now), l.count(last.Until, now.Add(-late)), first.Format(time.DateTime)
	f.Due, f.Count, f.State = fresh, 1, Claimed
	switch {
	case due && running:
		l.next = now.Add(again)
		if last.State != Skipped {
			l.tell("is due, and its last run is still at work: it is skipped")
			return keep(Skipped, l.count(last.Until, now), "its last run was still at work")
		}
		if now.Sub(last.Until) >= fold { // a row for every second would be too many
			last.Count, last.Until = min(last.Count+l.count(last.Until, now), counted), now
			store(l.Graph, &last)
		}
		return none
	case due && missed > 0:
		l.tell("was due %s since %s while nobody was there; it runs now because it is due again", human.Count(missed, "time"), since)
	case !due && s.CatchUp && !running:
		f.Due, f.Count = first, missed
		l.tell("was due %s since %s while nobody was there; it catches up now", human.Count(missed, "time"), since)
	case !due:
		l.tell("was due %s since %s while nobody was there; run it with: ralph schedule run %s", human.Count(missed, "time"), since, s.Name)
		f.Due = first
		return keep(Missed, missed, "nobody was there")
	}
	if store(l.Graph, &f) {
		return f
	}
	f.Due = now // the clock was set back, and this time was claimed before
	return keep(Seen, 0, "")
}

// count is how often the schedule is due after a time and up to another, as far as that is counted.
func (l *glance) count(after, until time.Time) (n int) {
	for at := l.schedule.Line.Next(after); n < counted && !at.IsZero() && !at.After(until); at = l.schedule.Line.Next(at) {
		n++
	}
	return n
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
