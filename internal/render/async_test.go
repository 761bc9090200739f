package render

import (
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"ralph/internal/event"
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

// reached is what reached a sink, in short.
func reached(events []event.Event) []string {
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
	a := newAsync(g, 4, asyncWait)
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
	check.Equal(t, "result", want, reached(g.got))
}

func TestAnOutputThatKeepsUpGetsEveryEvent(t *testing.T) {
	t.Parallel()
	g := newGate()
	close(g.open)
	g.err = errors.New("broken pipe")
	a := NewAsync(g)
	for _, e := range sampleRun() {
		a.Event(e)
	}
	check.Equal(t, "what closing the sink returned", g.err, a.Close(), cmpopts.EquateErrors())
	a.Event(text("too late"))
	check.OK(t, a.Close()) // the error is reported once
	last := g.got[len(g.got)-1]
	check.That(t, last.Type == event.RunEnded && len(g.got) <= len(sampleRun()), "got %v", reached(g.got))
}

func TestClosingGivesUpOnABlockedOutput(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { // its clock moves when everyone waits
		g := newGate()
		a := NewAsync(g)
		start := time.Now()
		a.Event(tool("stuck"))
		synctest.Wait()
		a.Event(tool("a"))
		a.Event(tool("b"))
		err := a.Close()
		check.That(t, err != nil && err.Error() == "show events: the output is blocked: 2 events not shown", "got %v", err)
		check.Equal(t, "gave up after", asyncWait, time.Since(start))
		close(g.open)
		synctest.Wait()
		check.Equal(t, "what was given up is not shown later", []string{"agent_tool stuck"}, reached(g.got))
	})
}

func TestFlushReturnsWhenAllIsShown(t *testing.T) {
	t.Parallel()
	g := newGate()
	a := NewAsync(g)
	a.Flush() // nothing to wait for
	for range 3 {
		a.Event(event.Event{Type: event.Warned, Text: "x"})
	}
	close(g.open)
	a.Flush()
	check.Equal(t, "shown", 3, len(g.got))
	check.OK(t, a.Close())
}

// TestQueueLaws: nothing of the lifecycle is lost or reordered, no text is
// invented, memory is bounded, and what is missing is counted exactly.
func TestQueueLaws(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.IntRange(1, 8).Draw(t, "size")
		q := newQueue(size)
		var lifecycle, settled []string
		put, joined, shown, missed := 0, 0, 0, 0
		take := func() {
			next, _ := q.take()
			switch e := next.event; e.Type {
			case event.AttemptEnded:
				settled = append(settled, e.Task)
			case event.Warned:
				n := 0
				_, err := fmt.Sscan(e.Text, &n)
				check.OK(t, err)
				missed += n
			default:
				shown++
			}
		}
		for range rapid.IntRange(1, 100).Draw(t, "steps") {
			switch rapid.IntRange(0, 3).Draw(t, "step") {
			case 0:
				if len(q.items)+q.missed > 0 {
					take()
				}
			case 1:
				e := event.Event{Type: event.AttemptEnded, Task: fmt.Sprint(len(lifecycle))}
				lifecycle = append(lifecycle, e.Task)
				q.put(e)
			case 2:
				put++
				before, missed := q.uttered, q.missed
				q.put(text("x"))
				if q.uttered == before && q.missed == missed {
					joined++
				}
			default:
				put++
				q.put(tool("1"))
			}
			if q.uttered > size {
				t.Fatalf("%d utterances wait, at most %d may", q.uttered, size)
			}
		}
		for len(q.items)+q.missed > 0 {
			take()
		}
		check.Equal(t, "events of tasks", lifecycle, settled)
		if shown+joined+missed != put || q.weight != 0 || q.uttered != 0 {
			t.Fatalf("put %d, shown %d, joined %d, missed %d; left %d, %d bytes", put, shown, joined, missed, q.uttered, q.weight)
		}
	})
}

func TestHugeTextsAreBoundedByTheirWeight(t *testing.T) {
	t.Parallel()
	q := newQueue(2)
	for range 100 {
		q.put(text(strings.Repeat("x", maxText*2)))
	}
	check.Equal(t, "kept and missed", []int{1, 99}, []int{len(q.items), q.missed})
}

// slow is an output that takes nothing until it is opened.
type slow struct {
	open  chan struct{}
	bytes atomic.Int64
	last  atomic.Value // the newest piece, as a string
}

func (s *slow) Write(p []byte) (int, error) {
	<-s.open
	s.bytes.Add(int64(len(p)))
	s.last.Store(string(p))
	return len(p), nil
}

// TestAFloodIsShownInBoundedMemory: 200,000 updates as fast as they can be made, half
// of them while the terminal takes nothing. What waits has a bound all the time, the
// rest is shown or counted, and the end is shown.
func TestAFloodIsShownInBoundedMemory(t *testing.T) {
	t.Parallel()
	const updates = 200_000
	out := &slow{open: make(chan struct{})}
	a := NewAsync(NewTerminal(Options{Out: out, Now: now}))
	a.Event(event.Event{Type: event.TaskClaimed, Task: "t-1", Title: "Flood"})
	words := strings.Repeat("word ", 20)
	for i := range updates {
		e := text(words)
		if i%10 == 9 {
			e = tool("call")
			e.Tool.Title, e.Tool.New = words, true
		}
		a.Event(e)
		if i%1000 == 0 {
			a.queue.mu.Lock()
			waiting, weight := a.queue.uttered, a.queue.weight
			a.queue.mu.Unlock()
			if waiting > asyncSize || weight > asyncSize*maxText+maxText {
				t.Fatalf("after %d updates %d wait, of %d bytes", i, waiting, weight)
			}
		}
		if i == updates/2 {
			var mem runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&mem)
			check.That(t, mem.HeapAlloc <= 64<<20, "%d MiB are kept", mem.HeapAlloc>>20)
			close(out.open)
		}
	}
	a.Event(event.Event{Type: event.AttemptEnded, Task: "t-1", Outcome: "done", Status: "done"})
	check.OK(t, a.Close())
	last, _ := out.last.Load().(string)
	check.Contains(t, "the end", "done", last)
	shown := out.bytes.Load()
	check.That(t, shown > 0 && shown <= updates*int64(len(words)+50), "%d bytes were shown", shown)
}

func BenchmarkUpdates(b *testing.B) {
	const updates = 20_000
	events := make([]event.Event, updates)
	for i := range events {
		events[i] = text("some words of an agent, ")
		if i%20 == 0 {
			events[i] = tool(fmt.Sprint(i))
			events[i].Tool.Title, events[i].Tool.New = "go test ./...", true
		}
	}
	opts := Options{Out: io.Discard, Now: now}
	for name, sink := range map[string]func() Sink{
		"terminal": func() Sink { return NewTerminal(opts) },
		"plain":    func() Sink { return NewPlain(opts) },
		"json":     func() Sink { return NewJSON(io.Discard) },
		"async":    func() Sink { return NewAsync(NewTerminal(opts)) },
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				s := sink()
				for _, e := range events {
					s.Event(e)
				}
				check.OK(b, s.Close())
			}
			b.ReportMetric(float64(updates)*float64(b.N)/b.Elapsed().Seconds(), "updates/s")
		})
	}
}
