package render

import (
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"ralph/event"
	"ralph/internal/testing/check"
)

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
	a := NewAsync(NewTerminal(Options{Out: out, Now: now}), AsyncOptions{})
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
			if waiting > defaultSize || weight > defaultSize*maxText+maxText {
				t.Fatalf("after %d updates %d wait, of %d bytes", i, waiting, weight)
			}
		}
		if i == updates/2 {
			var mem runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&mem)
			if mem.HeapAlloc > 64<<20 {
				t.Errorf("%d MiB are kept", mem.HeapAlloc>>20)
			}
			close(out.open)
		}
	}
	a.Event(event.Event{Type: event.AttemptEnded, Task: "t-1", Outcome: "done", Status: "done"})
	check.OK(t, a.Close())
	if last, _ := out.last.Load().(string); !strings.Contains(last, "done") {
		t.Errorf("the end is not shown: %q", last)
	}
	if shown := out.bytes.Load(); shown == 0 || shown > updates*int64(len(words)+50) {
		t.Errorf("%d bytes were shown", shown)
	}
}
