package render

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"ralph/event"
	"ralph/internal/human"
	"ralph/internal/term"
)

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
