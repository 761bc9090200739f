package telemetry

import (
	"crypto/rand"
	"encoding/hex"
	"sync"
	"time"

	"ralph/event"
)

// Tracer makes spans of events: the run, in it its attempts, in those what was
// verified and the calls of tools.
type Tracer struct {
	to     *Exporter
	trace  string
	parent string // of the run
	hide   func(string) string

	mu       sync.Mutex
	run      *span
	attempts map[string]*attempt
}

type attempt struct {
	span  *span
	gate  *span
	judge *span
	tools map[string]*span
}

// maxTools is how many calls of one attempt may be open at once.
const maxTools = 1000

// NewTracer returns a tracer that gives its spans to an exporter, which it closes.
func NewTracer(to *Exporter, hide func(string) string) *Tracer {
	if hide == nil {
		hide = func(s string) string { return s }
	}
	t := &Tracer{to: to, trace: to.opts.Trace, parent: to.opts.Parent, hide: hide, attempts: map[string]*attempt{}}
	if t.trace == "" {
		t.trace = randomID(16)
	}
	return t
}

func randomID(bytes int) string {
	b := make([]byte, bytes)
	_, _ = rand.Read(b) // it never fails
	return hex.EncodeToString(b)
}

// Close sends what is left.
func (t *Tracer) Close() error { return t.to.Close() }

// Event begins and ends spans.
func (t *Tracer) Event(e event.Event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch e.Type {
	case event.RunStarted:
		t.run = t.begin("ralph run", t.parent, e.At)
		t.run.set("ralph.run", e.Run)
		if e.Setup != nil {
			t.run.set("ralph.scope", t.hide(e.Setup.Scope))
			t.run.set("ralph.agent", e.Setup.Agent)
		}
	case event.RunEnded:
		t.runEnded(e)
	case event.TaskClaimed:
		a := &attempt{span: t.begin("attempt", t.runID(), e.At), tools: map[string]*span{}}
		a.span.set("ralph.run", e.Run)
		a.span.set("ralph.task", e.Task)
		a.span.set("ralph.attempt", e.Attempt)
		a.span.set("ralph.title", t.hide(e.Title))
		a.span.set("ralph.iteration", int64(e.Iteration))
		a.span.set("gen_ai.request.model", e.Model)
		t.attempts[e.Attempt] = a
	default:
		if a := t.attempts[e.Attempt]; a != nil {
			t.within(a, e)
		}
	}
}

// within is what happens in an attempt.
func (t *Tracer) within(a *attempt, e event.Event) {
	switch e.Type {
	case event.GateStarted:
		a.gate = t.begin("verify gate", a.span.id, e.At)
		a.gate.set("ralph.gate", t.hide(e.Gate.Command))
		a.gate.set("ralph.when", e.Reason)
	case event.GateEnded:
		if a.gate == nil {
			return
		}
		a.gate.set("ralph.exit", e.Gate.Exit)
		a.gate.set("ralph.verdict", string(e.Gate.Verdict))
		t.end(a.gate, e.At, !e.Gate.Passed && e.Reason == "", e.Gate.Exit)
		a.gate = nil
	case event.VerifierStarted:
		a.judge = t.begin("verify judge", a.span.id, e.At)
	case event.VerifierEnded:
		if a.judge == nil {
			return
		}
		a.judge.set("ralph.verdict", e.Outcome)
		t.end(a.judge, e.At, e.Verdict() == event.VerdictFail, e.Reason)
		a.judge = nil
	case event.AgentTool:
		t.tool(a, e)
	case event.AttemptEnded:
		t.attemptEnded(a, e)
	}
}

func (t *Tracer) tool(a *attempt, e event.Event) {
	open := a.tools[e.Tool.ID]
	if open == nil {
		if !e.Tool.New || len(a.tools) >= maxTools {
			return
		}
		open = t.begin("tool "+kindOf(e.Tool.Kind), a.span.id, e.At)
		open.set("ralph.tool", t.hide(cut(e.Tool.Title)))
		a.tools[e.Tool.ID] = open
	}
	if e.Tool.Status == "completed" || e.Tool.Status == "failed" {
		t.end(open, e.At, e.Tool.Status == "failed", e.Tool.Error)
		delete(a.tools, e.Tool.ID)
	}
}

func (t *Tracer) attemptEnded(a *attempt, e event.Event) {
	for _, open := range a.tools {
		t.end(open, e.At, false, "")
	}
	for _, open := range []*span{a.gate, a.judge} {
		if open != nil {
			t.end(open, e.At, false, "")
		}
	}
	a.span.set("ralph.outcome", e.Outcome)
	a.span.set("ralph.status", string(e.Status))
	a.span.set("ralph.agent", e.Agent)
	a.span.set("gen_ai.response.model", e.Model)
	a.span.usage(e.Usage)
	t.end(a.span, e.At, e.AttemptOutcome() != event.AttemptDone, e.Reason)
	delete(t.attempts, e.Attempt)
	t.to.box.Nudge()
}

func (t *Tracer) runEnded(e event.Event) {
	for _, a := range t.attempts { // whose end nobody told
		t.end(a.span, e.At, true, "it was not settled")
	}
	clear(t.attempts)
	if t.run == nil {
		return
	}
	t.run.set("ralph.outcome", e.Outcome)
	if c := e.Counts; c != nil {
		t.run.set("ralph.done", int64(c.Done))
		t.run.set("ralph.failed", int64(c.Failed))
		t.run.set("ralph.remaining", int64(c.Remaining))
	}
	t.run.usage(e.Usage)
	t.end(t.run, e.At, e.RunOutcome() != event.OutcomeComplete || e.Counts != nil && e.Counts.Failed > 0, e.Reason)
	t.run = nil
	t.to.box.Nudge()
}

func (t *Tracer) runID() string {
	if t.run == nil {
		return t.parent
	}
	return t.run.id
}

func (t *Tracer) begin(name, parent string, at time.Time) *span {
	return &span{trace: t.trace, id: randomID(8), parent: parent, name: name, start: at}
}

func (t *Tracer) end(s *span, at time.Time, failed bool, why string) {
	s.end, s.failed, s.why = at, failed, t.hide(cut(why))
	t.to.box.Put(*s)
}

// cut keeps the beginning of what somebody said.
func cut(s string) string {
	const most = 1000
	if len(s) <= most {
		return s
	}
	return s[:most] + "…"
}
