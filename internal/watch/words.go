package watch

import (
	"fmt"
	"strconv"
	"time"

	"ralph/dag"
	"ralph/internal/human"
	"ralph/internal/render"
	"ralph/internal/term"
)

// span is in whole seconds: what changes faster is no use to anybody who looks.
func span(d time.Duration) string { return human.Span(d.Truncate(time.Second)) }

// left is how long it is until a time. A wait of 30 s begins with 30.
func left(until, now time.Time) string { return span(until.Sub(now) + time.Second - time.Millisecond) }

// amount writes a number of tokens in few columns: 950, 12.3k, 4.5M.
func amount(n int64) string {
	switch {
	case n < 1000:
		return strconv.FormatInt(n, 10)
	case n < 100_000:
		return fmt.Sprintf("%.1fk", float64(n)/1000)
	case n < 1_000_000:
		return fmt.Sprintf("%dk", n/1000)
	default:
		return fmt.Sprintf("%.1fM", float64(n)/1e6)
	}
}

func tokens(n int64) string {
	if n == 1 {
		return "1 token"
	}
	return amount(n) + " tokens"
}

// face is how a task is shown: a sign and words, so that nothing hangs on colour.
type face struct {
	sign  string
	words string
	paint func(string) string
}

func (m *model) face(t dag.Outline) face {
	p := m.palette
	switch now := m.at; {
	case t.Status == dag.Done:
		return face{"✓", "done", p.Green}
	case t.Status == dag.Failed:
		return face{"✗", "failed", p.Red}
	case t.Status == dag.Blocked:
		return face{"■", "blocked", p.Yellow}
	case t.Status == dag.InProgress:
		words := "running"
		if a, ok := m.attemptAt(t.ID); ok {
			words = span(now.Sub(a.StartedAt))
		}
		return face{"●", words, p.Cyan}
	case t.Paused:
		return face{"‖", "paused", p.Yellow}
	case t.Leaving:
		return face{"●", "being stopped", p.Yellow}
	case t.Doomed:
		return face{"·", "kept back", p.Dim}
	case t.OpenDeps > 0 || t.Held:
		return face{"·", "waits", p.Dim}
	case t.Children > 0:
		return face{"·", "", p.Dim}
	case t.NotBefore.After(now):
		return face{"◷", "in " + left(t.NotBefore, now), p.Yellow}
	case t.Unverified:
		return face{"○", "unverified", plain}
	default:
		return face{"○", "ready", plain}
	}
}

func plain(s string) string { return s }

func phase(a dag.Attempt, doing string) string {
	if doing != "" {
		return harmless(doing)
	}
	switch a.Phase {
	case dag.Prompted:
		return "at work"
	default:
		return string(a.Phase)
	}
}

func used(a dag.Attempt) []string {
	var parts []string
	told := func(n int64, word string) string {
		if n == 0 {
			return word + " unknown"
		}
		return amount(n) + " " + word
	}
	if a.Tokens() > 0 {
		parts = append(parts, told(a.TokensIn+a.TokensCached, "in")+", "+told(a.TokensOut, "out"))
	}
	if cost := render.Cost(a.Usage); cost != "" {
		parts = append(parts, cost)
	}
	return parts
}

func who(a dag.Attempt) string {
	model := a.ModelEffective
	if model == "" {
		model = a.Model
	}
	name := harmless(a.Agent)
	if model = harmless(model); model != "" && model != "default" {
		name += " " + model
	}
	return term.Cut(name, 40)
}
