package render

import (
	"testing"

	"ralph/event"
)

// latch is a sink that shows nothing before it is opened.
type latch struct {
	open  chan struct{}
	shown int
}

func (g *latch) Event(event.Event) { <-g.open; g.shown++ }
func (g *latch) Close() error      { return nil }

func TestFlushReturnsWhenAllIsShown(t *testing.T) {
	t.Parallel()
	g := &latch{open: make(chan struct{})}
	a := NewAsync(g, AsyncOptions{})
	a.Flush() // nothing to wait for
	for range 3 {
		a.Event(event.Event{Type: event.Warned, Text: "x"})
	}
	close(g.open)
	a.Flush()
	if g.shown != 3 {
		t.Errorf("got %d shown, want 3", g.shown)
	}
	if err := a.Close(); err != nil {
		t.Error(err)
	}
}
