package show

import (
	"fmt"
	"strings"
	"time"

	"ralph/internal/human"
	"ralph/internal/term"
)

// patience is how long nothing may be shown before the terminal says that the
// run is still at it.
const patience = 5 * time.Second

// live rewrites the last line at every tick until Close.
func (t *Terminal) live() {
	for {
		select {
		case <-t.stop:
			return
		case now, ok := <-t.opts.Ticks:
			if !ok {
				return
			}
			t.tick(now)
		}
	}
}

func (t *Terminal) tick(now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	text := t.still(now)
	if text == "" {
		return
	}
	// One column stays free: some terminals wrap when the last one is written.
	t.replace(t.opts.Palette.Dim(term.Cut("… "+text, t.width()-1)))
	t.flush()
}

// still says what goes on while nothing is shown, or nothing.
func (t *Terminal) still(now time.Time) string {
	idle := len(t.attempts) == 0
	switch {
	case !idle && now.Sub(t.shown) < patience:
		return ""
	case t.wait.Until != nil:
		return human.Span(t.wait.Until.Sub(now).Round(time.Second)) + " left"
	case idle:
		return ""
	}
	var began time.Time
	tools, cost, tokens, unknown := 0, t.cost, t.tokens, t.unknown
	for _, a := range t.attempts {
		if began.IsZero() || a.began.Before(began) {
			began = a.began
		}
		tools += a.tools
		cost += a.cost
		tokens += a.tokens
		unknown = unknown || a.unknown
	}
	parts := []string{human.Span(now.Sub(began))}
	if n := len(t.attempts); n > 1 {
		parts = append(parts, fmt.Sprintf("%d tasks", n))
	}
	parts = append(parts, human.Count(tools, "tool call"))
	switch {
	case t.known:
		parts = append(parts, human.Roughly(unknown, t.guessed)+human.Dollars(cost)+" so far")
	case tokens > 0: // of an agent that does not tell what it costs
		parts = append(parts, human.Tokens(tokens)+" so far")
	}
	if t.counts.Total > 0 {
		parts = append(parts, fmt.Sprintf("%d of %d done", t.counts.Done, t.counts.Total))
	}
	return strings.Join(parts, ", ")
}
