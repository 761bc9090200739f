package report

import (
	"fmt"
	"slices"
	"strings"

	"ralph/internal/human"
	"ralph/internal/plain"
	"ralph/internal/render"
)

// Bounds of what a page holds of the files of a run, so that it is complete where it is
// handed on, and still opens.
const (
	pageLog  = 1 << 20  // bytes of each
	pageLogs = 10 << 20 // bytes of all together
	pageDiff = 256 << 10
	pageRuns = 200 // attempts whose diffs are made
)

// log is a file of an attempt, or what the attempt changed, inside the page.
type log struct {
	Name string
	Size string
	ID   string // where it is in the page; "" if it is not
	Note string // what is missing of it
	Text []render.Span
}

// embed reads the files of all attempts, by attempt: those of failed tasks first, while
// there is space.
func (r Run) embed(o HTMLOptions) map[string][]log {
	e := embedder{HTMLOptions: o, left: pageLogs, diffs: pageRuns}
	if e.Hide == nil {
		e.Hide = func(s string) string { return s }
	}
	logs := make(map[string][]log, len(r.Attempts))
	add := func(a Attempt) {
		if _, done := logs[a.ID]; !done {
			logs[a.ID] = e.attempt(a)
		}
	}
	for _, f := range r.Failures {
		if i := slices.IndexFunc(r.Attempts, func(a Attempt) bool { return a.ID == f.Attempt }); i >= 0 {
			add(r.Attempts[i])
		}
	}
	for _, a := range r.Attempts {
		add(a)
	}
	return logs
}

type embedder struct {
	HTMLOptions
	left  int // bytes
	diffs int
}

func (e *embedder) attempt(a Attempt) []log {
	var list []log
	if d, ok := e.diff(a); ok {
		list = append(list, d)
	}
	for _, ev := range a.Evidence {
		list = append(list, e.file(ev))
	}
	for i := range list {
		if list[i].Text != nil {
			list[i].ID = fmt.Sprintf("log-%s-%d", a.ID, i+1)
		}
	}
	return list
}

// file takes the end of a file, where it says how it ended.
func (e *embedder) file(ev Evidence) log {
	l := log{Name: ev.Name, Size: human.Bytes(ev.Size)}
	limit := min(pageLog, e.left)
	// More is read than is kept, so that a secret at the cut is still recognised as a whole.
	const spare = 64 << 10
	text, err := plain.FileTail(ev.Path, int64(limit+spare))
	begins := len(text) < limit+spare
	switch {
	case err != nil:
		l.Note = "it cannot be read"
		return l
	case limit < 1<<10 && len(text) > limit:
		l.Note = "the page holds no more than " + human.Bytes(pageLogs) + " of logs"
		return l
	}
	text = e.Hide(text)
	if !begins {
		text = text[min(spare, len(text)):]
	}
	if text = render.Block(text); !begins || len(text) > limit {
		text = strings.ToValidUTF8(text[max(len(text)-limit, 0):], "")
		if i := strings.IndexByte(text, '\n'); i < len(text)/2 {
			text = text[i+1:] // whole lines, if there are any
		}
		l.Note = "the last " + human.Bytes(int64(limit)) + " of it"
	}
	e.left -= len(text)
	if text != "" {
		l.Text = []render.Span{{Text: text}}
	}
	return l
}

// Changed reports whether it is known that an attempt left other files than it found.
func (a Attempt) Changed() bool {
	if a.Tree == "" || a.TreeAfter == "" {
		return false
	}
	return a.Tree != a.TreeAfter
}

// diff says what an attempt changed. False means that it is not known, or nothing.
func (e *embedder) diff(a Attempt) (log, bool) {
	if e.Diff == nil || e.diffs == 0 || !a.Changed() {
		return log{}, false
	}
	e.diffs--
	l := log{Name: "diff"}
	text, cut, err := e.Diff(a.Tree, a.TreeAfter, min(pageDiff, e.left))
	switch {
	case err != nil:
		l.Note = "what it changed is not on record any more"
		return l, true
	case cut:
		l.Note = "the beginning of it"
	}
	text = render.Block(e.Hide(text))
	e.left -= len(text)
	l.Size, l.Text = human.Bytes(int64(len(text))), render.DiffSpans(text)
	return l, l.Text != nil || cut
}
