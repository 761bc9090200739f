package render

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"ralph/event"
	"ralph/internal/testing/check"
)

// gate is a sink that takes an event only when the test lets it.
type gate struct {
	entered chan struct{}
	open    chan struct{}
	got     []event.Event
	err     error
}

func newGate() *gate { return &gate{entered: make(chan struct{}, 1), open: make(chan struct{})} }

func (g *gate) Event(e event.Event) {
	select {
	case g.entered <- struct{}{}:
	default:
	}
	<-g.open
	g.got = append(g.got, e)
}

func (g *gate) Close() error { return g.err }

func text(s string) event.Event { return event.Event{Type: event.AgentText, Task: "t-1", Text: s} }

func tool(id string) event.Event {
	return event.Event{Type: event.AgentTool, Task: "t-1", Tool: &event.Tool{ID: id}}
}

// told is what reached a sink, in short.
func told(events []event.Event) []string {
	var list []string
	for _, e := range events {
		s := string(e.Type)
		if e.Text != "" {
			s += " " + e.Text
		}
		if e.Tool != nil {
			s += " " + e.Tool.ID
		}
		list = append(list, s)
	}
	return list
}

func TestABlockedOutputNeverBlocksTheRun(t *testing.T) {
	t.Parallel()
	g := newGate()
	a := NewAsync(g, AsyncOptions{Size: 4})
	a.Event(tool("first"))
	<-g.entered // and there it stays
	a.Event(text("a"))
	a.Event(text("b"))
	for i := range 20_000 {
		a.Event(tool(fmt.Sprint(i)))
	}
	a.Event(text("lost"))
	for range 100 {
		a.Event(event.Event{Type: event.AttemptEnded, Task: "t-1"})
	}
	close(g.open)
	check.OK(t, a.Close())
	want := []string{
		"agent_tool first", "agent_text ab", "agent_tool 0", "agent_tool 1", "agent_tool 2",
		"warning 19998 updates of agents not shown: the output was blocked",
	}
	for range 100 {
		want = append(want, "attempt_ended")
	}
	check.Equal(t, "result", want, told(g.got))
}

func TestAnOutputThatKeepsUpGetsEveryEvent(t *testing.T) {
	t.Parallel()
	g := newGate()
	close(g.open)
	g.err = errors.New("broken pipe")
	a := NewAsync(g, AsyncOptions{})
	for _, e := range sampleRun() {
		a.Event(e)
	}
	if err := a.Close(); !errors.Is(err, g.err) {
		t.Errorf("got %v, want what closing the sink gave", err)
	}
	a.Event(text("too late"))
	if err := a.Close(); err != nil {
		t.Errorf("the error is told twice: %v", err)
	}
	want := strings.Join(told(sampleRun()), "\n")
	if last := g.got[len(g.got)-1]; last.Type != event.RunEnded || len(g.got) > strings.Count(want, "\n")+1 {
		t.Errorf("got %v", told(g.got))
	}
}

func TestClosingGivesUpOnABlockedOutput(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { // its clock moves when everyone waits
		g := newGate()
		a := NewAsync(g, AsyncOptions{Wait: 3 * time.Second})
		start := time.Now()
		a.Event(tool("stuck"))
		synctest.Wait()
		a.Event(tool("a"))
		a.Event(tool("b"))
		err := a.Close()
		if err == nil || err.Error() != "show events: the output is blocked: 2 events not shown" {
			t.Errorf("got %v", err)
		}
		if d := time.Since(start); d != 3*time.Second {
			t.Errorf("gave up after %v", d)
		}
		close(g.open)
		synctest.Wait()
		if diff := cmp.Diff([]string{"agent_tool stuck"}, told(g.got)); diff != "" {
			t.Errorf("what was given up is not shown later:\n%s", diff)
		}
	})
}

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
