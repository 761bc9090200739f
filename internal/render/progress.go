package render

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"ralph/internal/event"
	"ralph/internal/human"
)

// maxCalls is how many tool calls of one attempt are remembered by their ID. An
// agent that makes more still has them shown, but changes to them are not.
const maxCalls = 4096

// progress is what has to be remembered of a run to render its next event.
type progress struct {
	setup    event.Setup
	attempts map[string]*attempt
	counts   event.Counts
	counted  bool        // the counts are known
	used     event.Usage // by the attempts that have ended
	wait     event.Event
	failures []Failed // tasks whose last attempt failed
	excused  int      // gates of work that is done
	open     string   // the task that an attempt last left pending
}

// attempt is what is remembered of a running one.
type attempt struct {
	title     string
	began     time.Time
	prompts   int
	tools     int
	conflicts int
	used      event.Usage // so far
	tokens    int64       // the same, or what the context holds if that is more
	obstacle  string      // to its landing
	speech    speech
	refused   *event.Event    // the last gate that failed, if it was shown
	folded    bool            // it was shown in a part of a log that is folded
	held      *event.Event    // a gate that failed and is not shown yet
	calls     map[string]call // by ID
	excused   map[string]bool // gates, by command
}

type call struct {
	title, kind string
	failed      bool
}

// follow takes an event into account and returns the attempt it belongs to. It
// comes before rendering, forget after.
func (p *progress) follow(e event.Event, at time.Time) *attempt {
	if e.Counts != nil {
		p.counts, p.counted = *e.Counts, true
	}
	if e.Setup != nil {
		p.setup = *e.Setup
	}
	a := p.attempts[e.Task]
	if a == nil || e.Type == event.TaskClaimed {
		a = &attempt{began: at, calls: map[string]call{}, excused: map[string]bool{}}
		// A warning about a task does not mean that it runs; what an agent says does, so
		// that a reader may begin in the middle.
		switch e.Type {
		case event.TaskClaimed, event.AgentStarted, event.AgentText, event.AgentThought, event.AgentTool:
			p.attempts[e.Task] = a
		}
	}
	if e.Title != "" {
		a.title = Line(e.Title)
	}
	if u := e.Usage; u != nil && e.Type != event.RunEnded {
		a.used = *u
		a.tokens = max(a.tokens, u.AllTokens(), u.Context)
	}
	if e.Merge != nil {
		a.obstacle = ""
	}
	if e.Type == event.MergeWaiting {
		a.obstacle = Line(e.Task) + " waits to land: " + Line(e.Reason)
	}
	if e.Type == event.GateEnded && e.Gate != nil && e.Reason == "" { // of the work, the last time that it was checked
		delete(a.excused, e.Gate.Command)
		if e.Gate.Verdict == event.GateExcused {
			a.excused[e.Gate.Command] = true
		}
	}
	if e.Type == event.AttemptEnded {
		p.settle(e, a.title)
		if e.Status != event.TaskDone {
			clear(a.excused)
		}
		p.excused += len(a.excused)
	}
	return a
}

// settle keeps the last outcome of a task: one that failed may be reset and done in the
// same run.
func (p *progress) settle(e event.Event, title string) {
	p.failures = slices.DeleteFunc(p.failures, func(f Failed) bool { return f.Task == Line(e.Task) })
	if e.Status == event.TaskPending {
		p.open = Line(e.Task)
	} else if p.open == Line(e.Task) {
		p.open = ""
	}
	if _, tone := Attempt(e.AttemptOutcome(), e.Status); tone == Bad {
		reason, _ := First(e.Reason)
		p.failures = append(p.failures, Failed{Task: Line(e.Task), Title: title, Reason: or(reason, "no reason given"), Rejected: e.Rejected, Ran: true})
	}
}

// countFailed goes by the graph when it is known: a person may have changed it.
func (p *progress) countFailed() int {
	if p.counted {
		return p.counts.Failed
	}
	return len(p.failures)
}

// forget drops what an event has made obsolete.
func (p *progress) forget(e event.Event) {
	switch e.Type {
	case event.AttemptEnded:
		delete(p.attempts, e.Task)
		if e.Usage != nil {
			p.used = p.used.Add(*e.Usage)
		}
	case event.RunEnded:
		clear(p.attempts)
	}
	switch {
	case e.Type == event.Waiting:
		p.wait = e
	case !utterance(e): // others may talk while one worker waits
		p.wait = event.Event{}
	}
}

// seen says that a gate fails as it did when it was shown last.
func (a *attempt) seen(e event.Event) bool {
	if a.refused == nil || e.Text == "" || !refused(e) {
		return false
	}
	return a.refused.Text == e.Text && a.refused.Gate.Command == e.Gate.Command
}

// unseen leaves out of the reason why an attempt ended, or why its agent is prompted, what
// was shown already: the gate that failed, and its output.
func (a *attempt) unseen(reason, evidence string) (string, string) {
	if a.refused == nil {
		return reason, evidence
	}
	gate := fmt.Sprintf("gate %q: %s", a.refused.Gate.Command, a.refused.Gate.Exit)
	before, found := strings.CutSuffix(reason, Line(gate))
	if !found {
		return reason, evidence
	}
	if strings.TrimSpace(evidence) == strings.TrimSpace(a.refused.Text) {
		evidence = ""
	}
	return strings.TrimSuffix(before, ": "), evidence
}

// waitsAlready says that a wait is shown already: the loop may say it again while
// nothing changes.
func (p *progress) waitsAlready(e event.Event) bool {
	if p.wait.Type != event.Waiting || p.wait.Reason != e.Reason || (p.wait.Until == nil) != (e.Until == nil) {
		return false
	}
	return e.Until == nil || e.Until.Equal(*p.wait.Until)
}

// tool takes a tool call or its change into account. Shown says that a line is
// due: for a call not seen before, and for one that has just failed.
func (a *attempt) tool(e *event.Tool) (c call, shown bool) {
	if e == nil {
		return c, false
	}
	c = call{title: Line(e.Title), kind: Line(e.Kind), failed: e.Status == "failed" || e.Error != ""}
	old, known := a.calls[e.ID]
	c.title, c.kind = cmp.Or(c.title, old.title), cmp.Or(c.kind, old.kind)
	full := len(a.calls) >= maxCalls
	switch {
	case c.failed:
		shown = !old.failed
	case known:
		shown = e.New && c.title != old.title
	default:
		// An agent may never announce a call: its first change is then news, but
		// only if it says what it is, and if it could have been remembered.
		shown = e.New || c.title != "" && !full
	}
	if !known && (e.New || shown) {
		a.tools++
	}
	if known || !full {
		a.calls[e.ID] = c
	}
	c.title = cmp.Or(c.title, "a tool")
	return c, shown
}

// soFar says how long a wait still takes, or how long the running attempts take and what
// the run has cost, or nothing if none runs.
func (p *progress) soFar(now time.Time) string {
	switch {
	case p.wait.Until != nil:
		return human.Span(p.wait.Until.Sub(now).Round(time.Second)) + " left"
	case len(p.attempts) == 0:
		return ""
	}
	var began time.Time
	tools, used, tokens, obstacle := 0, p.used, p.used.AllTokens(), ""
	for _, a := range p.attempts {
		if began.IsZero() || a.began.Before(began) {
			began = a.began
		}
		tools += a.tools
		used = used.Add(a.used)
		tokens += a.tokens
		obstacle = cmp.Or(a.obstacle, obstacle)
	}
	tasks, cost := "", Cost(used)
	if n := len(p.attempts); n > 1 {
		tasks = human.Count(n, "task")
	}
	if cost == "" && tokens > 0 { // of an agent that does not report its cost
		cost = human.Tokens(tokens)
	}
	if cost != "" {
		cost += " so far"
	}
	return strings.Join(human.Parts(obstacle, human.Span(now.Sub(began)), tasks, human.Count(tools, "tool call"), cost, share(p.counts)), ", ")
}

// share is how far the run is, if that is known.
func share(c event.Counts) string {
	if c.Total == 0 {
		return ""
	}
	return fmt.Sprintf("%d of %d done", c.Done, c.Total)
}

// beat does something at every tick, in a goroutine of its own. The function that it returns
// ends it and waits for the last tick.
func beat(ticks <-chan time.Time, do func(now time.Time)) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var work sync.WaitGroup
	work.Go(func() {
		for ticks != nil {
			select {
			case <-ctx.Done():
				return
			case now, ok := <-ticks:
				if !ok {
					return
				}
				do(now)
			}
		}
	})
	return func() { cancel(); work.Wait() }
}
