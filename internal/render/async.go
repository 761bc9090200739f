package render

import (
	"fmt"
	"sync"
	"time"

	"ralph/event"
	"ralph/internal/human"
)

// What an Async has when nothing else is said.
const (
	defaultSize = 1024
	defaultWait = 2 * time.Second
)

// Async passes events to a sink in a goroutine of its own, so that whoever
// reports them never waits for a terminal that is stopped or a pipe that nobody
// reads. While the sink is busy, pieces of text are joined, and when more than
// Size utterances wait, new ones are left out and counted in one warning. Events
// of tasks and of the run are never left out.
type Async struct {
	sink  Sink
	queue *queue
	wait  time.Duration
	done  chan struct{}
	once  sync.Once
	err   error // of closing; set before done is closed
}

// AsyncOptions are the bounds of an Async. The zero value is right for a terminal.
type AsyncOptions struct {
	Size int           // how many utterances may wait; 0 means 1,024
	Wait time.Duration // how long Close waits for the sink; 0 means two seconds
}

// NewAsync returns a sink in front of sink, which it closes when it is closed.
func NewAsync(sink Sink, opts AsyncOptions) *Async {
	if opts.Size <= 0 {
		opts.Size = defaultSize
	}
	if opts.Wait <= 0 {
		opts.Wait = defaultWait
	}
	a := &Async{sink: sink, queue: newQueue(opts.Size), wait: opts.Wait, done: make(chan struct{})}
	go a.deliver()
	return a
}

// Event keeps the event and returns. After Close it does nothing.
func (a *Async) Event(e event.Event) { a.queue.put(e) }

// Flush waits until what was reported so far is shown, but not longer than
// AsyncOptions.Wait.
func (a *Async) Flush() {
	patience := time.NewTimer(a.wait)
	defer patience.Stop()
	select {
	case <-a.queue.idle():
	case <-a.done:
	case <-patience.C:
	}
}

// Close shows what is left and closes the sink. If that takes longer than
// AsyncOptions.Wait it gives up and says how much was not shown; the goroutine
// then ends as soon as the sink lets go of it.
func (a *Async) Close() error {
	var err error
	a.once.Do(func() {
		a.queue.close(false)
		patience := time.NewTimer(a.wait)
		defer patience.Stop()
		select {
		case <-a.done:
			err = a.err
		case <-patience.C:
			left := a.queue.close(true)
			err = fmt.Errorf("show events: the output is blocked: %s not shown", human.Count(left, "event"))
		}
	})
	return err
}

func (a *Async) deliver() {
	defer close(a.done)
	for {
		e, ok, open := a.queue.take()
		switch {
		case ok:
			a.sink.Event(e)
			a.queue.shown()
		case open:
			<-a.queue.wake
		default:
			a.err = a.sink.Close()
			return
		}
	}
}
