// Package schedule starts runs by the clock: each time that a schedule is due once, whatever is killed, whoever else looks
// at the same clock, and wherever that is set to. It runs nothing itself: its caller starts processes.
package schedule

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"ralph/dag"
	"ralph/internal/cron"
	"ralph/internal/db"
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
	Self      dag.Process                          // who claims
	Now       func() time.Time                     // nil means time.Now
	Wait      func(context.Context, time.Duration) // nil waits that long, or until the context ends
	Warn      func(string)                         // tells a person
}

// clock starts what is due.
type clock struct {
	Options
	failed map[string]string // by schedule, what was said last, so that it is not said again and again
	known  map[string]known
}

// known is what the last look at a schedule has shown. Until its next time there is nothing to look at, unless the clock was set back.
type known struct {
	line     string
	at, next time.Time
}

// The times of a clock.
const (
	late    = time.Minute      // what is due for longer was missed
	longest = 30 * time.Second // from one look to the next: a machine sleeps, and its clock is set
	soonest = 100 * time.Millisecond
	again   = time.Second      // from one look to the next at a run that is in the way
	fold    = 30 * time.Second // from one note that a schedule is skipped to the next
	astray  = 24 * time.Hour   // a clock that was so far ahead was wrong
	counted = 1000             // times that were missed or skipped
)

// Run starts what is due until the context ends.
func Run(ctx context.Context, opts Options) {
	c := &clock{Options: opts, failed: map[string]string{}, known: map[string]known{}}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Wait == nil {
		c.Wait = wait
	}
	for ctx.Err() == nil {
		now := c.Now()
		next := now.Add(longest)
		for _, s := range c.Schedules() {
			k, line := c.known[s.Name], s.Line.String()
			if k.line != line || now.Before(k.at) || !k.next.IsZero() && !now.Before(k.next) {
				k = known{line, now, c.look(ctx, s)}
				c.known[s.Name] = k
				if k.next.IsZero() {
					c.Warn(fmt.Sprintf("schedule %s is never due: %s", s.Name, line))
				}
			}
			if !k.next.IsZero() && k.next.Before(next) {
				next = k.next
			}
		}
		c.Wait(ctx, max(next.Sub(c.Now()), soonest))
	}
}

func wait(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// look starts a schedule if it is due, and says when to look again; zero if it is never due.
func (c *clock) look(ctx context.Context, s Schedule) (next time.Time) {
	var claim Fire
	var news []string
	err := c.Update(ctx, func(g *dag.Graph) (err error) {
		l := glance{Graph: g, schedule: s, clock: c}
		claim, err = l.claim()
		next, news = l.next, l.news
		return err
	})
	if err != nil {
		if text := fmt.Sprintf("schedule %s: %v", s.Name, err); ctx.Err() == nil && c.failed[s.Name] != text {
			c.failed[s.Name] = text
			c.Warn(text)
		}
		return c.Now().Add(longest)
	}
	delete(c.failed, s.Name)
	for _, text := range news {
		c.Warn("schedule " + s.Name + " " + text)
	}
	if claim.N == 0 {
		return next
	}
	process, err := c.Start(context.WithoutCancel(ctx), s.Name, s.Args)
	claim.State, claim.Process = Started, process
	if err != nil {
		claim.State, claim.Process, claim.Note = Failed, c.Self, err.Error()
		c.Warn(fmt.Sprintf("schedule %s could not be started: %v", s.Name, err))
	}
	if err := c.Update(context.WithoutCancel(ctx), func(g *dag.Graph) error { return update(g, claim) }); err != nil {
		c.Warn(fmt.Sprintf("schedule %s: what was started is not on record: %v", s.Name, err))
	}
	return next
}

// glance is a look at one schedule, in a transaction.
type glance struct {
	*dag.Graph
	schedule Schedule
	clock    *clock
	next     time.Time
	news     []string
}

func (l *glance) tell(format string, args ...any) {
	l.news = append(l.news, fmt.Sprintf(format, args...))
}

// claim stores what there is to say about the times up to now, and returns the fire that the caller has to start; its N is 0
// if there is none.
func (l *glance) claim() (none Fire, err error) {
	s, now := l.schedule, l.Now()
	l.next = s.Line.Next(now)
	if err := l.orphans(); err != nil {
		return none, err
	}
	last, err := db.One(l.Tx(), cursorSQL, scanFire, ":name", s.Name)
	if err != nil {
		return none, err
	}
	if last.N == 0 || last.Line != s.Line.String() || last.Until.Sub(now) > astray {
		return none, l.store(Seen, now, now, 0, "")
	}
	first, fresh := s.Line.Next(last.Until), s.Line.Next(latest(last.Until, now.Add(-late)))
	if first.IsZero() || first.After(now) {
		return none, nil
	}
	due := !fresh.IsZero() && !fresh.After(now)
	begun, err := db.One(l.Tx(), begunSQL, scanFire, ":name", s.Name)
	if err != nil {
		return none, err
	}
	running, err := Running(l.Graph, begun, l.clock.Life)
	if err != nil {
		return none, err
	}
	if due && running {
		return none, l.skip(last, fresh)
	}
	f := Fire{Name: s.Name, Line: s.Line.String(), Due: fresh, Until: now, Count: 1, State: Claimed, Process: l.clock.Self}
	if first.Before(fresh) || !due {
		n := l.count(last.Until, now.Add(-late))
		f.Note = times(n) + " missed since " + first.Format(time.DateTime)
		catches := s.CatchUp && !running
		switch {
		case due:
			l.tell("was due %s since %s while nobody was there; it runs now because it is due again", times(n), first.Format(time.DateTime))
		case catches:
			f.Due, f.Count = first, n
			l.tell("was due %s since %s while nobody was there; it catches up now", times(n), first.Format(time.DateTime))
		default:
			l.tell("was due %s since %s while nobody was there; run it with: ralph schedule run %s", times(n), first.Format(time.DateTime), s.Name)
			return none, l.store(Missed, first, now, n, "nobody was there")
		}
	}
	if ok, err := insert(l.Graph, &f); err != nil || ok {
		return f, err
	}
	return none, l.store(Seen, now, now, 0, "") // the clock was set back: this time was claimed before
}

// orphans are fires that were claimed by who was killed before anything else was on record.
func (l *glance) orphans() error {
	list, err := db.All(l.Tx(), claimedSQL, scanFire, ":name", l.schedule.Name)
	for _, f := range list {
		running, rerr := Running(l.Graph, f, l.clock.Life)
		if err = cmp.Or(err, rerr); err != nil || running {
			continue
		}
		f.State, f.Note = Missed, "ralph was killed while it started it"
		l.tell("was due at %s, and ralph was killed while it started it; look whether it ran: ralph runs list", f.Due.In(l.schedule.Line.Zone()).Format(time.DateTime))
		err = update(l.Graph, f)
	}
	return err
}

// skip notes that a schedule is due while its last run is at work: once, and then how often.
func (l *glance) skip(last Fire, due time.Time) error {
	now := l.Now()
	l.next = now.Add(again)
	if last.State != Skipped {
		l.tell("is due, and its last run is still at work: it is skipped")
		return l.store(Skipped, due, now, l.count(last.Until, now), "its last run was still at work")
	}
	if now.Sub(last.Until) < fold {
		return nil
	}
	last.Count, last.Until = min(last.Count+l.count(last.Until, now), counted), now
	return update(l.Graph, last)
}

func (l *glance) store(state State, due, until time.Time, count int, note string) error {
	_, err := insert(l.Graph, &Fire{
		Name: l.schedule.Name, Line: l.schedule.Line.String(), Due: due, Until: until, Count: count, State: state, Note: note, Process: l.clock.Self,
	})
	return err
}

// count is how often the schedule is due after a time and up to another, as far as that is counted.
func (l *glance) count(after, until time.Time) (n int) {
	for at := l.schedule.Line.Next(after); n < counted && !at.IsZero() && !at.After(until); at = l.schedule.Line.Next(at) {
		n++
	}
	return n
}

// times says how often, as far as that was counted.
func times(n int) string {
	if n >= counted {
		return fmt.Sprintf("%d times or more", counted)
	}
	return human.Count(n, "time")
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
