package web

import (
	"fmt"
	"html/template"
	"strings"
	"time"

	"ralph/dag"
	"ralph/internal/human"
	"ralph/internal/plain"
	"ralph/internal/render"
)

// funcs are what templates may call. Nothing here returns a type that html/template does not escape.
var funcs = template.FuncMap{
	"line": func(v any) string { return render.Line(fmt.Sprint(v)) }, "plural": human.Count, "span": human.Span, "bytes": human.Bytes, "dollars": human.Dollars,
	"clock":   func(t time.Time) string { return t.Local().Format("15:04") },
	"stamp":   func(t time.Time) string { return t.Local().Format(time.DateTime) },
	"iso":     func(t time.Time) string { return t.UTC().Format(time.RFC3339) },
	"command": func(args []string) string { return commandLine(args...) },
	"lines":   render.Block, "first": func(s string) string { first, _ := render.First(s); return first }, "mark": markOf,
	"both": func(s shown, r any) both { return both{s, r} }, "inc": func(n int) int { return n + 1 }, "cost": render.Cost, "hasDiff": hasDiff,
	"ago": func(now, t time.Time) string { return human.Span(now.Sub(t).Round(time.Second)) },
}

// mark shows a state by a sign and a colour, never by colour alone.
type mark struct{ Word, Sign, Class string }

// markOf is the mark of a word of dag.Task.State, of the status of a feature, or of the outcome of an attempt.
func markOf(state string) mark {
	state = strings.ReplaceAll(state, "_", " ")
	switch state {
	case "done", "already done", "passed", "landed", "complete":
		return mark{state, "✓", "done"}
	case "failed", "failure", "died", "error", "refused":
		return mark{state, "✗", "failed"}
	case "running", "in progress", "stopping", dag.Landing:
		return mark{state, "▶", "running"}
	case "asks", "asked", "to review", dag.Standing:
		return mark{state, "?", "again"}
	case "blocked", "paused", "retried", "released", "interrupted", "limited", "limit", "timeout", "stopped", "unverified":
		return mark{state, "!", "again"}
	case "ready":
		return mark{state, "○", "ready"}
	case "cancelled":
		return mark{state, "–", "open"}
	}
	return mark{state, "·", "open"}
}

// navigation lists the pages that every page links to.
func navigation() (list []struct{ Path, Name, Title string }) {
	for _, p := range pageTable {
		if !strings.Contains(strings.TrimSuffix(p.path, "{$}"), "{") {
			list = append(list, struct{ Path, Name, Title string }{strings.TrimSuffix(p.path, "{$}"), p.name, p.title})
		}
	}
	return list
}

// commandLine is a command as somebody would type it.
func commandLine(args ...string) string {
	text := "ralph"
	for _, a := range args {
		text += " " + plain.ShellQuote(a)
	}
	return text
}

// Act is a button that carries out a command.
type act struct {
	Label    string
	Args     []string
	Form     string
	Back     string
	ReadOnly bool
	Asks     bool   // it is confirmed first
	Class    string // main or danger
}

// As is the button with another class.
func (a act) As(class string) act { a.Class = class; return a }

// To is the button with another page to come back to.
func (a act) To(back string) act { a.Back = back; return a }

// both is what a part of a page needs: what is around it, and what it shows.
type both struct {
	S shown
	R any
}

// newTask is what the form for a new task offers.
type newTask struct {
	Parent   string
	Features []string
}

// Act makes a button that carries out a command and comes back to this page.
func (s shown) Act(label string, args ...string) act {
	a := act{Label: label, Args: args, Form: s.Form, Back: s.URL, ReadOnly: s.ReadOnly}
	line, _ := firstWords(args) // it always finds some
	if v, _ := find(line); v.confirm != "" {
		a.Asks, a.Class = true, "danger"
	}
	return a
}
