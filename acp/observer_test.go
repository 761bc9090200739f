package acp

import (
	"strings"
	"testing"
	"time"

	"ralph/internal/testing/check"
)

func TestObserverNeverBlocksAndCountsWhatItDrops(t *testing.T) {
	t.Parallel()
	gate, got := make(chan struct{}), make(chan Event, 5000)
	o := newObserver(func(e Event) { <-gate; got <- e }, nil)
	o.push(Plan{})
	for range 10 {
		o.push(Text{Text: "ab"})
	}
	o.push(Thought{Text: "t"})
	for range 3000 {
		o.push(Plan{})
	}
	o.push(Text{Text: strings.Repeat("x", 2<<20)})
	close(gate)
	o.flush(true)
	<-o.done
	close(got)
	var texts []string
	events, dropped := 0, 0
	for e := range got {
		switch e := e.(type) {
		case Text:
			texts = append(texts, e.Text)
		case Dropped:
			dropped += e.Events
		case Plan:
			events++
		}
	}
	check.Equal(t, "text", strings.Repeat("ab", 10), strings.Join(texts, ""))
	check.That(t, events+dropped == 3002 && dropped != 0, "got %d events and %d dropped, want 3002 together", events, dropped)
}

func TestIdleWatch(t *testing.T) {
	t.Parallel()
	var n int64
	w := newIdleWatch(time.Hour, func() int64 { return n })
	for range idleTicks {
		if w.expired() {
			t.Fatal("too early")
		}
	}
	n++
	for range idleTicks + 1 {
		if w.expired() {
			t.Fatal("activity did not count")
		}
	}
	check.That(t, w.expired(), "not expired")
}
