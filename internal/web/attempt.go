package web

import (
	"cmp"
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"ralph/dag"
	"ralph/internal/event"
	"ralph/internal/human"
	"ralph/internal/render"
	"ralph/internal/render/transcript"
	"ralph/internal/seq"
)

// attemptPage is what an agent does at a task, as it does it.
type attemptPage struct {
	dag.Attempt
	Title    string
	Deleted  bool // the task is gone
	Facts    []fact
	Checks   []outcome
	Changed  []string
	Entries  []entry
	Earlier  int64 // where the page before this one ends; 0 if there is none
	After    int64 // where what is streamed begins; meaningless in an earlier page
	Past     bool  // it is an earlier page
	Missing  string
	Newer    *dag.Attempt // at the same task
	Now      time.Time
	Mark     string
	Class    string
	Standing string
}

type fact struct{ Name, Value string }

// outcome is that of a gate or a verdict.
type outcome struct{ Mark, Class, Name, Text, Output string }

// entry is one thing of a transcript. Pieces of speech are one entry, and a tool call with all that became of it.
type entry struct {
	Kind transcript.Kind
	At   time.Time
	Text string
	Note string // what is missing of it
	Tool *transcript.Tool
}

// Bounds of what is shown of a transcript.
const (
	shownEntries = 400
	shownBytes   = 200 << 10
	textAtMost   = 16 << 10 // of one thing
	openCalls    = 100      // tool calls of which more may be said
)

func loadAttempt(v *visit) (any, error) {
	a, err := v.g.History.Attempt(v.PathValue("id"))
	if err != nil {
		return nil, err
	}
	p := &attemptPage{Attempt: a, Now: v.now}
	t, err := v.g.Tasks.Get(a.Task)
	if err != nil && !errors.Is(err, dag.ErrNotFound) {
		return nil, err
	}
	p.Title, p.Deleted = cmp.Or(render.Line(t.Title), a.Task), t.ID == ""
	if !p.Deleted {
		attempts, err := v.g.History.Attempts(t)
		if err != nil {
			return nil, err
		}
		if last := attempts[len(attempts)-1]; last.ID != a.ID && last.StartedAt.After(a.StartedAt) {
			p.Newer = &last
		}
	}
	p.stand()
	path := v.transcript(a)
	before, _ := strconv.ParseInt(v.URL.Query().Get("before"), 10, 64)
	var items []item
	if p.Past = before > 0; p.Past {
		f := &follower{reader: v.readTranscript(path, before), changed: make(chan struct{})}
		f.look()
		items, _, _ = f.after(0)
		p.show(items, f.from)
	} else {
		f := v.files.enter(path, func() reader { return v.readTranscript(path, 0) })
		defer v.files.leave(f)
		items, _, _ = f.after(0)
		p.show(items, f.from)
	}
	if len(items) == 0 && !a.PrunedAt.IsZero() {
		p.Missing = "The transcript was removed by ralph gc on " + a.PrunedAt.Local().Format(time.DateOnly) + "."
	} else if len(items) == 0 {
		p.Missing = "The agent has said nothing yet."
		if !a.EndedAt.IsZero() {
			p.Missing = "There is no transcript of this attempt."
		}
	}
	p.changed(items)
	p.checks(v)
	if v.Header.Get("Ralph-State") != "" {
		p.Entries = nil // the page has them
	}
	return p, nil
}

// stand says how the attempt goes, or went.
func (p *attemptPage) stand() {
	took, model := p.Now.Sub(p.StartedAt), cmp.Or(p.ModelEffective, p.Model)
	if p.EndedAt.IsZero() {
		p.Mark, p.Class, p.Standing = "▶", "running", string(p.Phase)
	} else {
		word, tone := render.Attempt(p.Outcome, "")
		p.Mark, p.Class, p.Standing = tone.Sign(), toneClass(tone), word
		took = p.EndedAt.Sub(p.StartedAt)
	}
	p.Facts = slices.DeleteFunc([]fact{
		{"agent", render.Line(p.Agent)},
		{"model", render.Line(model)},
		{"began", p.StartedAt.Local().Format(time.DateTime)},
		{"took", human.Span(max(took, 0))},
		{"used", strings.Join(render.Used(&p.Usage), ", ")},
		{"sandbox", render.Line(p.Sandbox)},
		{"stop reason", render.Line(p.StopReason)},
	}, func(f fact) bool { return f.Value == "" })
}

func toneClass(t render.Tone) string {
	return map[render.Tone]string{render.Good: "done", render.Bad: "failed", render.Open: "running", render.Notable: "again"}[t]
}

// show takes the last entries that fit into a page.
func (p *attemptPage) show(items []item, from int64) {
	first, size := len(items), 0
	for ; first > 0 && len(items)-first < 10*shownEntries && size < shownBytes; first-- {
		size += items[first-1].size
	}
	p.Entries = entriesOf(items[first:])
	for drop := len(p.Entries) - shownEntries; drop > 0 && first < len(items); drop = len(p.Entries) - shownEntries {
		first += max(drop, 1)
		p.Entries = entriesOf(items[min(first, len(items)):])
	}
	if p.Earlier = from; first > 0 && len(items) > 0 {
		p.Earlier = items[min(first, len(items))-1].end
	}
	if p.After = from; len(items) > 0 {
		p.After = items[len(items)-1].end
	}
}

// changed lists the files that the agent is known to have changed.
func (p *attemptPage) changed(items []item) {
	names := slices.Clone(p.Files)
	for _, i := range items {
		e := i.data.(entry)
		if e.Kind == transcript.Wrote {
			names = append(names, e.Text)
		}
		if e.Tool != nil {
			names = append(names, e.Tool.Files...)
		}
	}
	slices.Sort(names)
	p.Changed = slices.Compact(names)
	p.Changed = p.Changed[:min(len(p.Changed), 200)]
}

// checks are what the run reported of gates and verdicts, or, without its file, what is on record.
func (p *attemptPage) checks(v *visit) {
	path := filepath.Join(v.project.Runs(), p.Run, "events.jsonl")
	f := v.files.enter(path, func() reader { return v.readHappenings(path) })
	defer v.files.leave(f)
	items, _, _ := f.after(0)
	add := func(g event.Gate, output string) {
		result, aside, tone := render.Gate(g)
		p.Checks = append(p.Checks, outcome{tone.Sign(), toneClass(tone), render.Line(g.Command), result + aside, cutText(render.Block(output))})
	}
	for _, i := range items {
		switch e := i.data.(happening).Event; {
		case e.Attempt != p.ID:
		case e.Type == event.GateEnded && e.Gate != nil:
			add(*e.Gate, e.Text)
		case e.Type == event.VerifierEnded:
			text, tone := render.Verdict(e.Verdict(), e.Reason)
			p.Checks = append(p.Checks, outcome{tone.Sign(), toneClass(tone), "verdict", text, ""})
		}
	}
	if len(p.Checks) > 0 {
		return
	}
	for _, g := range p.Gates {
		add(event.Gate{Command: g.Command, Passed: g.Passed, Exit: g.Exit, Baseline: g.Baseline, Verdict: g.Verdict, Tests: g.Tests, TestsBefore: g.TestsBefore}, "")
	}
	if p.Verdict != "" {
		p.Checks = append(p.Checks, outcome{"", "", "verdict", render.Line(p.Verdict), ""})
	}
}

// transcript is the file of what was said in an attempt.
func (v *visit) transcript(a dag.Attempt) string {
	return filepath.Join(v.project.Runs(), a.Run, a.ID, "transcript.jsonl")
}

// readTranscript reads the entries of a transcript, to its end or to a place in it.
func (s *Server) readTranscript(path string, until int64) reader {
	in := &transcript.Stream{Path: path, Until: until}
	calls, begun := map[string]entry{}, []string(nil) // the last ones, as they are by now
	return reader{in.Begin(), func(add func(item)) error {
		return in.Lines(func(l transcript.Line, end int64) {
			e := entry{Kind: l.Kind, At: l.At}
			e.Text, e.Note = s.text(l.Text)
			size := len(e.Text) + 100
			if l.Tool != nil {
				t, was := *l.Tool, transcript.Tool{}
				if before, known := calls[t.ID]; known {
					was, e.Note = *before.Tool, before.Note
				} else if begun = append(begun, t.ID); len(begun) > openCalls {
					delete(calls, begun[0])
					begun = begun[1:]
				}
				t.Title, t.Kind, t.Status, t.Input = cmp.Or(render.Line(s.opts.Redact(t.Title)), was.Title), cmp.Or(render.Line(t.Kind), was.Kind), cmp.Or(t.Status, was.Status), cmp.Or(t.Input, was.Input)
				if t.Input, _ = s.text(t.Input); t.Output == "" {
					t.Output = was.Output
				} else {
					t.Output, e.Note = s.text(t.Output)
				}
				t.Files = slices.Compact(append(was.Files, seq.Map(t.Files, render.Line[string])...))
				e.Tool = &t
				calls[t.ID] = e
				size += len(t.Output) + len(t.Input)
			}
			add(item{end, size, e})
		})
	}}
}

// text makes what an agent said fit to be shown: harmless, without secrets and not too long.
func (s *Server) text(text string) (shown, note string) {
	if len(text) > 4*textAtMost {
		note = fmt.Sprintf("of %s; ralph logs --full has all of it", human.Bytes(int64(len(text))))
		text = text[:textAtMost] + "\n…\n" + text[len(text)-textAtMost:]
	}
	return render.Block(s.opts.Redact(text)), note
}

func cutText(text string) string {
	return strings.ToValidUTF8(text[max(len(text)-textAtMost, 0):], "")
}

// entriesOf puts pieces of speech together, and what became of a tool call in the place where it began.
func entriesOf(items []item) []entry {
	var list []entry
	var speech strings.Builder // of the last one
	end := func() {
		if speech.Len() > 0 {
			list[len(list)-1].Text = speech.String()
			speech.Reset()
		}
	}
	tools := map[string]int{}
	for _, i := range items {
		e := i.data.(entry)
		n, speaks := len(list), e.Kind == transcript.Said || e.Kind == transcript.Thought
		if e.Tool != nil {
			if at, known := tools[e.Tool.ID]; known {
				list[at] = e
				continue
			}
			tools[e.Tool.ID] = n
		}
		if !speaks || n == 0 || list[n-1].Kind != e.Kind {
			end()
			list = append(list, e)
		}
		if speaks {
			speech.WriteString(e.Text)
		}
	}
	end()
	return list
}

// serveTranscript streams an attempt.
func (s *Server) serveTranscript(w http.ResponseWriter, r *http.Request) {
	path := ""
	err := s.visit(r, func(v *visit) error {
		a, err := v.g.History.Attempt(r.PathValue("id"))
		path = v.transcript(a)
		return err
	})
	if err != nil {
		s.fail(w, r, err)
		return
	}
	f := s.files.enter(path, func() reader { return s.readTranscript(path, 0) })
	defer s.files.leave(f)
	f.serve(w, r, func(items []item) (template.HTML, error) { return s.fragment("attempt", "entries", entriesOf(items)) })
}
