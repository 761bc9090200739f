package render

import (
	"cmp"
	"fmt"
	"strings"
	"sync"
	"time"

	"ralph/event"
	"ralph/internal/human"
	"ralph/internal/term"
)

// maxCalls is how many tool calls of one attempt are remembered by their ID. An
// agent that makes more still has them shown, but changes to them are not.
const maxCalls = 4096

// progress is what has to be remembered of a run to render its next event.
type progress struct {
	jobs     int // how many tasks may run at once
	attempts map[string]*attempt
	counts   event.Counts
	used     event.Usage // by the attempts that have ended
	wait     event.Event
	tally    tally
}

// attempt is what is remembered of a running one.
type attempt struct {
	title   string
	began   time.Time
	prompts int
	tools   int
	used    event.Usage // so far
	tokens  int64       // the same, or what the context holds if that is more
	speech  speech
	refused *event.Event    // the last gate that failed, if it was shown
	folded  bool            // it was shown in a part of a log that is folded
	held    *event.Event    // a gate that failed and is not shown yet
	calls   map[string]call // by ID
}

type call struct {
	title, kind string
	failed      bool
}

// follow takes an event into account and returns the attempt it belongs to. It
// comes before rendering, forget after.
func (p *progress) follow(e event.Event, at time.Time) *attempt {
	p.tally.add(e)
	if e.Counts != nil {
		p.counts = *e.Counts
	}
	if e.Setup != nil {
		p.jobs = e.Setup.Jobs
	}
	a := p.attempts[e.Task]
	if a == nil || e.Type == event.TaskClaimed {
		a = &attempt{began: at}
		p.remember(e, a)
	}
	if e.Title != "" {
		a.title = Line(e.Title)
	}
	if u := e.Usage; u != nil && e.Type != event.RunEnded {
		a.used = *u
		a.tokens = max(a.tokens, u.AllTokens(), u.Context)
	}
	return a
}

// remember keeps an attempt that runs. A warning about a task does not make it
// run; what an agent says does, so that a reader may begin in the middle.
func (p *progress) remember(e event.Event, a *attempt) {
	switch e.Type {
	case event.TaskClaimed, event.AgentStarted, event.AgentText, event.AgentThought, event.AgentTool:
		if p.attempts == nil {
			p.attempts = map[string]*attempt{}
		}
		p.attempts[e.Task] = a
	}
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
		p.attempts = nil
	}
	switch {
	case e.Type == event.Waiting:
		p.wait = e
	case !utterance(e): // others may talk while one worker waits
		p.wait = event.Event{}
	}
}

// complained notes that a failed gate is shown now, and returns its output.
func (a *attempt) complained(e event.Event) string {
	a.refused = &e
	return e.Text
}

// seen says that a gate fails as it did when it was shown last.
func (a *attempt) seen(e event.Event) bool {
	return a.refused != nil && refused(e) && e.Text != "" && a.refused.Text == e.Text && a.refused.Gate.Command == e.Gate.Command
}

// unsaid is why an agent is prompted, without the gate that was shown.
func (a *attempt) unsaid(e event.Event) string {
	reason, _ := a.unseen(Line(or(e.Reason, e.Text)), "")
	return reason
}

// unseen leaves out of the reason why an attempt ended what was shown already: the
// gate that failed, and its output.
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
		if a.calls == nil {
			a.calls = map[string]call{}
		}
		a.calls[e.ID] = c
	}
	c.title = cmp.Or(c.title, "a tool")
	return c, shown
}

// How long nothing may be shown before it is said that the run is still at it: on a
// terminal, in the middle of a line that an agent is writing, and in a log.
const (
	patience       = time.Second
	patienceInLine = 5 * time.Second
	patienceInLog  = time.Minute
)

func (t *Terminal) tick(now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	text := t.still(now)
	if text == "" {
		if now.Sub(t.shown) >= patience { // a word must not wait for long
			t.showHeld()
			t.flush()
		}
		return
	}
	// One column stays free: some terminals wrap when the last one is written.
	t.replace(t.opts.Palette.Dim(term.Cut("… "+text, t.width()-1)))
	t.flush()
}

// still says what goes on while nothing is shown, or nothing.
func (t *Terminal) still(now time.Time) string {
	silence := patience
	if t.midline {
		silence = patienceInLine
	}
	switch {
	case len(t.attempts) > 0 && now.Sub(t.shown) < silence:
		return ""
	case t.wait.Until != nil:
		return human.Span(t.wait.Until.Sub(now).Round(time.Second)) + " left"
	default:
		return t.soFar(now)
	}
}

// tick shows a sign of life in a log that would be silent otherwise.
func (p *Plain) tick(now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.shown.IsZero() || now.Sub(p.shown) < patienceInLog {
		return
	}
	about := event.Event{At: now, Run: p.run}
	text := p.soFar(now)
	if p.wait.Until != nil {
		text = human.Span(p.wait.Until.Sub(now).Round(time.Second)) + " left"
	}
	if len(p.attempts) == 1 {
		for about.Task = range p.attempts {
		}
	}
	if text == "" {
		return
	}
	p.say(about, "still at it: "+text)
	p.flush()
	p.shown = now
}

// soFar says how long the running attempts take and what the run has cost, or
// nothing if none runs.
func (p *progress) soFar(now time.Time) string {
	if len(p.attempts) == 0 {
		return ""
	}
	var began time.Time
	tools, used, tokens := 0, p.used, p.used.AllTokens()
	for _, a := range p.attempts {
		if began.IsZero() || a.began.Before(began) {
			began = a.began
		}
		tools += a.tools
		used = used.Add(a.used)
		tokens += a.tokens
	}
	parts := []string{human.Span(now.Sub(began))}
	if n := len(p.attempts); n > 1 {
		parts = append(parts, fmt.Sprintf("%d tasks", n))
	}
	parts = append(parts, human.Count(tools, "tool call"))
	switch {
	case used.CostUSD != nil:
		parts = append(parts, Cost(used)+" so far")
	case tokens > 0: // of an agent that does not tell what it costs
		parts = append(parts, human.Tokens(tokens)+" so far")
	}
	if p.counts.Total > 0 {
		parts = append(parts, fmt.Sprintf("%d of %d done", p.counts.Done, p.counts.Total))
	}
	return strings.Join(parts, ", ")
}

// pulse does something at every tick, in a goroutine of its own, until it is ended.
type pulse struct {
	stop chan struct{}
	once sync.Once
	work sync.WaitGroup
}

// beat begins. Nil ticks never come.
func (p *pulse) beat(ticks <-chan time.Time, do func(now time.Time)) {
	p.stop = make(chan struct{})
	if ticks == nil {
		return
	}
	p.work.Go(func() {
		for {
			select {
			case <-p.stop:
				return
			case now, ok := <-ticks:
				if !ok {
					return
				}
				do(now)
			}
		}
	})
}

// end returns when the last tick is done with.
func (p *pulse) end() {
	p.once.Do(func() { close(p.stop) })
	p.work.Wait()
}
