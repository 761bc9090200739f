package web

import (
	"bytes"
	"cmp"
	"fmt"
	"html/template"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"ralph/dag"
	"ralph/internal/event"
	"ralph/internal/git"
	"ralph/internal/project"
	"ralph/internal/render"
	"ralph/internal/render/transcript"
	"ralph/internal/report"
)

// runsPage lists runs, the newest first.
type runsPage struct {
	Runs []runLine
	Page paging
}

type runLine struct {
	report.Line
	Word, Mark, Class, Scope string
}

// paging is where a list is, in pages from 1.
type paging struct{ N, Prev, Next int }

const runsShown = 50

func loadRuns(v *visit) (any, error) {
	p := runsPage{}
	n, _ := strconv.Atoi(v.URL.Query().Get("page"))
	p.Page.N = min(max(n, 1), 1<<20)
	runs, err := v.g.History.Runs(p.Page.N*runsShown + 1)
	if err != nil {
		return nil, err
	}
	p.Page.Prev = p.Page.N - 1
	if len(runs) > p.Page.N*runsShown {
		runs, p.Page.Next = runs[:p.Page.N*runsShown], p.Page.N+1
	}
	for _, run := range runs[min((p.Page.N-1)*runsShown, len(runs)):] {
		receipts, err := v.g.History.Receipts(dag.ReceiptFilter{Run: run.ID})
		if err != nil {
			return nil, err
		}
		l := runLine{Line: report.LineOf(run, receipts, v.opts.Life, v.now), Scope: run.Scope.String()}
		word, tone := render.Outcome(l.Outcome, l.Failed)
		l.Word, l.Mark, l.Class = word, tone.Sign(), toneClass(tone)
		p.Runs = append(p.Runs, l)
	}
	return p, nil
}

// runPage is one run: how it goes or went, when each attempt was, what is to land and what happened.
type runPage struct {
	report.Run
	Parts    report.Fragments
	Attempts []report.Attempt // in progress
	Queue    []dag.Merge
	Events   []happenings
	After    int64
	Cut      bool // earlier events are not shown
	Resumes  bool // it can be continued
}

func loadRun(v *visit) (any, error) {
	r, err := v.report()
	if err != nil {
		return nil, err
	}
	p := runPage{Run: r, Resumes: r.Over() && r.Outcome != event.OutcomeComplete}
	if p.Parts, err = r.Fragments(func(task string) string { return "/tasks/" + task }); err != nil {
		return nil, err
	}
	for _, a := range r.Attempts {
		if !a.Ended() {
			p.Attempts = append(p.Attempts, a)
		}
	}
	queue, err := v.g.Queue.OpenMerges("")
	if err != nil {
		return nil, err
	}
	mine := map[string]bool{}
	for _, a := range r.Attempts {
		mine[a.ID] = true
	}
	for _, m := range queue {
		if mine[m.Attempt] {
			p.Queue = append(p.Queue, m)
		}
	}
	path := filepath.Join(r.Folder, "events.jsonl")
	f := v.files.enter(path, func() reader { return v.readHappenings(path) })
	defer v.files.leave(f)
	items, _, _ := f.after(0)
	if len(items) > 0 {
		p.After = items[len(items)-1].end
	}
	p.Cut = f.from > 0 || len(items) > eventsShown
	if v.Header.Get("Ralph-State") == "" { // otherwise the page has them
		p.Events = happeningsOf(items[max(len(items)-eventsShown, 0):])
	}
	return p, nil
}

const eventsShown = 1000

// report reads the run of the address.
func (v *visit) report() (report.Run, error) {
	id := v.PathValue("id")
	if id == "last" {
		id = ""
	}
	run, err := v.g.History.RunOrLast(id)
	if err != nil {
		return report.Run{}, err
	}
	return report.LoadIn(v.g, report.Options{
		Root: v.project.Root, Runs: v.project.Runs(), Run: run.ID, Life: v.opts.Life, Now: v.opts.Now, Zone: time.Local,
	})
}

// serveReport shows the whole report of a run, a page of its own that allows only its own script.
func (s *Server) serveReport(w http.ResponseWriter, r *http.Request) {
	var run report.Run
	var p project.Project
	err := s.visit(r, func(v *visit) (err error) {
		p = v.project.Project
		run, err = v.report()
		return err
	})
	var b bytes.Buffer
	if err == nil {
		err = report.HTML(&b, run, report.HTMLOptions{Hide: s.opts.Redact, Diff: func(before, after string, limit int) (string, bool, error) {
			d, err := git.Trees{Dir: p.Root}.Compare(r.Context(), before, after, limit)
			return d.Patch, d.Cut, err
		}})
	}
	if err != nil {
		s.fail(w, r, err)
		return
	}
	w.Header().Set("Content-Security-Policy", report.Policy()+"; frame-ancestors 'none'")
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(http.StatusOK)
	_, _ = w.Write([]byte(s.opts.Redact(b.String())))
}

// happening is an event of a run, in words.
type happening struct {
	event.Event
	text string
}

// happenings are what happened in one attempt, or, without one, in the run between them.
type happenings struct {
	Attempt, Task, Title string
	Over                 bool
	Text                 string
}

// readHappenings reads the events of a run, in the words of its log.
func (s *Server) readHappenings(path string) reader {
	in := &transcript.Stream{Path: path}
	var said bytes.Buffer
	words := render.NewPlain(render.Options{Out: &said, Verbose: true, Now: func() time.Time { return s.opts.Now().Local() }})
	return reader{in.Begin(), func(add func(item)) error {
		return in.Events(func(e event.Event, end int64) {
			words.Event(e)
			h := happening{e, s.opts.Redact(said.String())}
			said.Reset()
			add(item{end, len(h.text) + 300, h})
		})
	}}
}

// happeningsOf puts events together by attempt.
func happeningsOf(items []item) (list []happenings) {
	at, texts := map[string]int{}, []*strings.Builder(nil)
	for _, i := range items {
		h := i.data.(happening)
		if strings.TrimSpace(h.text) == "" && h.Type != event.TaskClaimed {
			continue
		}
		n, known := at[h.Attempt]
		if h.Attempt == "" {
			n, known = len(list)-1, len(list) > 0 && list[len(list)-1].Attempt == ""
		}
		if !known {
			n = len(list)
			at[h.Attempt], list = n, append(list, happenings{Attempt: h.Attempt, Task: h.Task})
			texts = append(texts, &strings.Builder{})
		}
		texts[n].WriteString(render.Block(h.text))
		list[n].Title = cmp.Or(list[n].Title, render.Line(h.Title))
		list[n].Over = list[n].Over || h.Type == event.AttemptEnded
	}
	for n := range list {
		list[n].Text = texts[n].String()
	}
	return list
}

// serveHappenings streams what happens in a run.
func (s *Server) serveHappenings(w http.ResponseWriter, r *http.Request) {
	path := ""
	err := s.visit(r, func(v *visit) error {
		run, err := v.g.History.ResolveRun(r.PathValue("id"))
		path = filepath.Join(v.project.Runs(), run.ID, "events.jsonl")
		return err
	})
	if err != nil {
		s.fail(w, r, err)
		return
	}
	f := s.files.enter(path, func() reader { return s.readHappenings(path) })
	defer s.files.leave(f)
	f.serve(w, r, func(items []item) (template.HTML, error) { return s.fragment("run", "happenings", happeningsOf(items)) })
}

// viewRoutes are the addresses of what pages of this file and its neighbours need.
func (s *Server) viewRoutes() {
	s.mux.HandleFunc("GET /static/pan.js", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/javascript; charset=utf-8")
		_, _ = fmt.Fprint(w, report.Pan())
	})
	s.mux.HandleFunc("GET /attempts/{id}/live", s.serveTranscript)
	s.mux.HandleFunc("GET /runs/{id}/live", s.serveHappenings)
	s.mux.HandleFunc("GET /runs/{id}/report", s.serveReport)
}
