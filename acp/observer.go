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
	done chan struct{}

	mu      sync.Mutex
	change  *sync.Cond
	said    *redact.Stream
	thought *redact.Stream
	queue   []queued
	bytes   int
	dropped int
	stopped bool
}

type queued struct {
	event   Event
	text    []byte
	thought bool
	shown   chan struct{} // instead of the others: closed when all before it was shown
}

// newObserver is nil, which drops everything, if there is nobody to show it to.
func newObserver(show func(Event), hide *redact.Redactor) *observer {
	if show == nil {
		return nil
	}
	o := &observer{show: show, hide: hide, said: hide.Stream(), thought: hide.Stream(), done: make(chan struct{})}
	o.change = sync.NewCond(&o.mu)
	go o.run()
	return o
}

// push redacts an event and adds it to what waits.
func (o *observer) push(e Event) {
	if o == nil {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.stopped {
		return
	}
	switch e := e.(type) {
	case Text:
		o.add(queued{text: []byte(o.said.Push(e.Text))})
	case Thought:
		o.add(queued{text: []byte(o.thought.Push(e.Text)), thought: true})
	case ToolCall, Plan:
		o.release()
		o.add(queued{event: redact.Deep(o.hide, e)})
	default:
		o.add(queued{event: redact.Deep(o.hide, e)})
	}
	o.change.Signal()
}

// release adds the text that was held back to what waits. o.mu is held.
func (o *observer) release() {
	o.add(queued{text: []byte(o.thought.Flush()), thought: true})
	o.add(queued{text: []byte(o.said.Flush())})
}

func (o *observer) add(q queued) {
	var last *queued
	if n := len(o.queue); n > 0 && o.queue[n-1].text != nil {
		last = &o.queue[n-1]
	}
	switch {
	case q.event == nil && len(q.text) == 0:
	case o.bytes+len(q.text) > maxQueuedBytes:
		o.dropped++
	case q.event == nil && last != nil && last.thought == q.thought:
		last.text = append(last.text, q.text...)
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
	for stop := false; !stop; {
		var batch []queued
		batch, stop = o.next()
		for _, q := range batch {
			switch {
			case q.shown != nil:
				close(q.shown)
			case q.event != nil:
				o.show(q.event)
			case q.thought:
				o.show(Thought{Text: string(q.text)})
			default:
				o.show(Text{Text: string(q.text)})
			}
		}
	}
}

// next waits for events, and is all there are, with what was dropped at their end.
func (o *observer) next() (batch []queued, stop bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for len(o.queue) == 0 && o.dropped == 0 && !o.stopped {
		o.change.Wait()
	}
	o.countDropped()
	batch, o.queue, o.bytes = o.queue, nil, 0
	return batch, o.stopped
}

func (o *observer) countDropped() {
	if o.dropped > 0 {
		o.queue = append(o.queue, queued{event: Dropped{Events: o.dropped}})
		o.dropped = 0
	}
}

// flush ends the text and waits until everything was shown, but not for somebody who
// blocks. The last flush stops the observer.
func (o *observer) flush(last bool) {
	if o == nil {
		return
	}
	o.mu.Lock()
	if o.stopped {
		o.mu.Unlock()
		return
	}
	shown := make(chan struct{})
	o.release()
	o.countDropped()
	o.queue = append(o.queue, queued{shown: shown})
	o.stopped = last
	o.change.Signal()
	o.mu.Unlock()
	select {
	case <-shown:
	case <-time.After(flushPatience):
	}
}
