package report

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"ralph/dag"
	"ralph/internal/event"
	"ralph/internal/human"
)

type bar struct {
	X, Width     int // of 1,000
	Class, Words string
}

// strip is what one worker did, from left to right: a path for each colour, because
// a rectangle for each of a thousand attempts would be slow.
type strip struct{ Paths []stripPath }

type stripPath struct{ Class, D string }

func (s *strip) add(b bar) {
	i := slices.IndexFunc(s.Paths, func(p stripPath) bool { return p.Class == b.Class })
	if i < 0 {
		i = len(s.Paths)
		s.Paths = append(s.Paths, stripPath{Class: b.Class})
	}
	s.Paths[i].D += fmt.Sprintf("M%d 0h%dv10h-%dz", b.X, b.Width, b.Width)
}

// timeline shows when each attempt ran: a strip for each that ran at the same time,
// and a row for each task, or for the most telling ones.
func (p *page) timeline() {
	if len(p.Attempts) == 0 {
		return
	}
	to := p.StartedAt.Add(p.Duration)
	for _, a := range p.Attempts {
		to = latest(to, a.StartedAt.Add(a.Duration))
	}
	whole := max(to.Sub(p.StartedAt), time.Millisecond)
	p.Ticks = ticks(whole)
	var free []time.Time // when each worker is free again
	for _, a := range p.Attempts {
		x := min(max(int(1000*a.StartedAt.Sub(p.StartedAt)/whole), 0), 997)
		width := int(1000 * a.Duration / whole)
		b := bar{x, min(max(width, 3), 1000-x), barClass(a), fmt.Sprintf("%s %s, %s", a.Task, a.State(), human.Span(a.Duration))}
		lane := slices.IndexFunc(free, func(t time.Time) bool { return !t.After(a.StartedAt) })
		if lane < 0 {
			lane = len(free)
			free = append(free, time.Time{})
			p.Strip = append(p.Strip, strip{})
		}
		free[lane] = a.StartedAt.Add(a.Duration)
		p.Strip[lane].add(b)
		p.bars = append(p.bars, b)
	}
	p.Rows = p.ran()
	if n := len(p.Rows); n > pageRows {
		p.RowsAre = fmt.Sprintf("%d of %d tasks: what failed, what was tried again, and what took longest.", pageRows, n)
		slices.SortStableFunc(p.Rows, func(a, b Task) int { return cmp.Or(rank(a)-rank(b), cmp.Compare(p.took(b), p.took(a))) })
		p.Rows = p.Rows[:pageRows]
	} else if p.href == nil || len(p.Strip) < 2 {
		p.Strip = nil // the rows show it all
	}
	slices.SortStableFunc(p.Rows, func(a, b Task) int { return a.Attempts[0] - b.Attempts[0] })
}

// Legend says what the colours mean that are there.
func (p *page) Legend() []part {
	return slices.DeleteFunc([]part{
		{Class: "done", Word: "done"},
		{Class: "again", Word: "ended without a result"},
		{Class: "failed", Word: "failed"},
		{Class: "running", Word: "running"},
	}, func(l part) bool { return !slices.ContainsFunc(p.bars, func(b bar) bool { return b.Class == l.Class }) })
}

func (r Run) took(t Task) time.Duration {
	var d time.Duration
	for _, i := range t.Attempts {
		d += r.Attempts[i].Duration
	}
	return d
}

func barClass(a Attempt) string {
	switch {
	case !a.Ended():
		return "running"
	case a.Outcome.Done():
		return "done"
	case a.Status == dag.Failed, a.Outcome == event.AttemptFailed:
		return "failed"
	default:
		return "again"
	}
}

// ticks are the words below a timeline. Quarters of a few seconds would be the same
// words twice without their tenths.
func ticks(whole time.Duration) []string {
	words := []string{"0"}
	for _, share := range []time.Duration{1, 2, 3, 4} {
		at := whole * share / 4
		if whole >= time.Second && whole < 10*time.Second {
			words = append(words, fmt.Sprintf("%.1fs", at.Seconds()))
		} else {
			words = append(words, human.Span(at))
		}
	}
	return words
}
