package report

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"ralph/dag"
	"ralph/event"
	"ralph/internal/human"
)

type bar struct {
	X, Width int
	Lane     int
	Class    string
	Words    string
}

type row struct {
	Task  Task
	State state
	Took  string
	Bars  []bar
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
func (r Run) timeline(p *page) {
	if len(r.Attempts) == 0 {
		return
	}
	from, to := r.StartedAt, r.StartedAt.Add(r.Duration)
	for _, a := range r.Attempts {
		to = latest(to, a.StartedAt.Add(a.Duration))
	}
	whole := max(to.Sub(from), time.Millisecond)
	p.Ticks = ticks(whole)
	bars := make([]bar, len(r.Attempts))
	var free []time.Time // when each worker is free again
	for i, a := range r.Attempts {
		x := int(1000 * a.StartedAt.Sub(from) / whole)
		x = min(max(x, 0), 997)
		width := int(1000 * a.Duration / whole)
		bars[i] = bar{X: x, Width: min(max(width, 3), 1000-x), Class: barClass(a)}
		bars[i].Words = fmt.Sprintf("%s %s, %s", a.Task, a.State(), human.Span(a.Duration))
		lane := slices.IndexFunc(free, func(t time.Time) bool { return !t.After(a.StartedAt) })
		if lane < 0 {
			lane = len(free)
			free = append(free, time.Time{})
		}
		free[lane] = a.StartedAt.Add(a.Duration)
		for len(p.Strip) <= lane {
			p.Strip = append(p.Strip, strip{})
		}
		p.Strip[lane].add(bars[i])
	}
	p.Legend = legend(bars)
	r.rows(p, bars)
}

// legend says what the colours mean that are there.
func legend(bars []bar) []part {
	var list []part
	for _, l := range []part{{Class: "done", Word: "done"}, {Class: "again", Word: "ended without a result"}, {Class: "failed", Word: "failed"}, {Class: "running", Word: "running"}} {
		if slices.ContainsFunc(bars, func(b bar) bool { return b.Class == l.Class }) {
			list = append(list, l)
		}
	}
	return list
}

func (r Run) rows(p *page, bars []bar) {
	ran := r.ran()
	if len(ran) > pageRows {
		p.RowsAre = fmt.Sprintf("%d of %d tasks: what failed, what was tried again, and what took longest.", pageRows, len(ran))
		slices.SortStableFunc(ran, func(a, b Task) int { return cmp.Or(rank(a)-rank(b), cmp.Compare(r.took(b), r.took(a))) })
		ran = ran[:pageRows]
	} else {
		p.Strip = nil // the rows tell it all
	}
	slices.SortStableFunc(ran, func(a, b Task) int { return a.Attempts[0] - b.Attempts[0] })
	for _, t := range ran {
		one := row{Task: t, State: r.state(t), Took: human.Span(r.took(t))}
		for _, i := range t.Attempts {
			one.Bars = append(one.Bars, bars[i])
		}
		p.Rows = append(p.Rows, one)
	}
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
	case a.Outcome == event.AttemptDone:
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
