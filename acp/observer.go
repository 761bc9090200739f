package acp

import (
	"sync"
	"time"

	"ralph/internal/redact"
)

const (
	maxQueued      = 1024    // events waiting to be shown
	maxQueuedBytes = 1 << 20 // text among them
	flushPatience  = time.Second
)

// observer hands events to Config.Observe from a goroutine of its own. push
// never waits: text is joined to text that waits already, and what does not fit
// is dropped and counted. Events are redacted; text is so before it is joined, as
// the one text that its pieces are, so that no secret is seen in two halves.
type observer struct {
	show func(Event)
	hide *redact.Redactor
	wake chan struct{}
	done chan struct{}

	mu      sync.Mutex
	said    *redact.Stream
	thought *redact.Stream
	queue   []queued
	bytes   int
	dropped int
	busy    bool
	stopped bool
	empty   []chan struct{} // closed when nothing waits any more
}

type queued struct {
	event   Event
	text    []byte
	thought bool
}

func newObserver(show func(Event), hide *redact.Redactor) *observer {
	if show == nil {
		return nil
	}
	o := &observer{show: show, hide: hide, said: hide.Stream(), thought: hide.Stream(), wake: make(chan struct{}, 1), done: make(chan struct{})}
	go o.run()
	return o
}

func (o *observer) push(e Event) {
	if o == nil {
		return
	}
	o.mu.Lock()
	if !o.stopped {
		o.take(e)
	}
	o.mu.Unlock()
	o.wakeUp()
}

func (o *observer) wakeUp() {
	select {
	case o.wake <- struct{}{}:
	default:
	}
}

// take redacts an event and adds it to what waits. o.mu is held.
func (o *observer) take(e Event) {
	switch e := e.(type) {
	case Text:
		o.add(Text{Text: o.said.Push(e.Text)})
	case Thought:
		o.add(Thought{Text: o.thought.Push(e.Text)})
	case ToolCall, Plan:
		o.release()
		o.add(redact.Deep(o.hide, e))
	default:
		o.add(redact.Deep(o.hide, e))
	}
}

// release adds the text that was held back to what waits. o.mu is held.
func (o *observer) release() {
	o.add(Thought{Text: o.thought.Flush()})
	o.add(Text{Text: o.said.Flush()})
}

func (o *observer) add(e Event) {
	q := queued{event: e}
	switch e := e.(type) {
	case Text:
		q = queued{text: []byte(e.Text)}
	case Thought:
		q = queued{text: []byte(e.Text), thought: true}
	}
	last := len(o.queue) - 1
	switch {
	case q.event == nil && len(q.text) == 0:
	case o.bytes+len(q.text) > maxQueuedBytes:
		o.dropped++
	case q.event == nil && last >= 0 && o.queue[last].event == nil && o.queue[last].thought == q.thought:
		o.queue[last].text = append(o.queue[last].text, q.text...)
		o.bytes += len(q.text)
	case len(o.queue) >= maxQueued:
		o.dropped++
	default:
		o.queue = append(o.queue, q)
		o.bytes += len(q.text)
	}
}

func (o *observer) run() {
	defer close(o.done)
	for {
		batch, stop := o.waiting()
		for _, q := range batch {
			o.show(q.value())
		}
		if stop {
			return
		}
		if len(batch) == 0 {
			<-o.wake
		}
	}
}

// waiting is everything that waits, with what was dropped at its end.
func (o *observer) waiting() (batch []queued, stop bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	batch, o.queue, o.bytes = o.queue, nil, 0
	if o.dropped > 0 {
		batch = append(batch, queued{event: Dropped{Events: o.dropped}})
		o.dropped = 0
	}
	o.busy = len(batch) > 0
	if !o.busy {
		for _, ch := range o.empty {
			close(ch)
		}
		o.empty = nil
	}
	return batch, o.stopped
}

func (q queued) value() Event {
	switch {
	case q.event != nil:
		return q.event
	case q.thought:
		return Thought{Text: string(q.text)}
	default:
		return Text{Text: string(q.text)}
	}
}

// flush ends the text and waits until everything was shown, but not for somebody who
// blocks.
func (o *observer) flush() {
	if o == nil {
		return
	}
	o.mu.Lock()
	if !o.stopped {
		o.release()
	}
	if len(o.queue) == 0 && o.dropped == 0 && !o.busy {
		o.mu.Unlock()
		return
	}
	shown := make(chan struct{})
	o.empty = append(o.empty, shown)
	o.mu.Unlock()
	o.wakeUp()
	select {
	case <-shown:
	case <-time.After(flushPatience):
	}
}

// stop ends the goroutine after what waits was shown; it does not wait for it.
func (o *observer) stop() {
	if o == nil {
		return
	}
	o.mu.Lock()
	o.stopped = true
	o.mu.Unlock()
	o.wakeUp()
}
