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

// maxText is how much text that was said in a row becomes one event when the
// reader is slow.
const maxText = 4096

// queue holds events for a reader that may be slower than their writer. What an
// agent utters is joined and then left out when there is too much of it; what
// happens to tasks and to the run is kept, however long the reader sleeps. There
// is little of that: a few events an iteration.
type queue struct {
	mu      sync.Mutex
	size    int // how many utterances are kept
	items   []item
	uttered int // utterances among the items
	weight  int // of their text, in bytes
	missed  int // utterances left out since the last item
	last    event.Event
	closed  bool
	busy    bool            // an event was taken and is not shown yet
	waiting []chan struct{} // to be closed when all is shown
	wake    chan struct{}   // holds one token when there may be news for the reader
}

type item struct {
	event event.Event
	more  []byte
}

func newQueue(size int) *queue {
	return &queue{size: size, wake: make(chan struct{}, 1)}
}

// utterance says that an event may be left out: an agent can make as many of
// these as it likes.
func utterance(e event.Event) bool {
	switch e.Type {
	case event.AgentText, event.AgentThought, event.AgentTool, event.AgentPlan, event.AgentUsage, event.AgentAsked:
		return true
	default:
		return false
	}
}

// put never waits for the reader.
func (q *queue) put(e event.Event) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return
	}
	q.last = e
	u := utterance(e)
	switch {
	case u && q.missed == 0 && q.join(e):
	case u && q.full():
		q.missed++
	default:
		q.confess()
		q.items = append(q.items, item{event: e})
		if u {
			q.uttered++
			q.weight += weigh(e)
		}
	}
	q.signal()
}

// full says that an utterance has to be left out. Once one was, half of the rest
// must have been taken before there is room again: one long gap reads better than
// many short ones.
func (q *queue) full() bool {
	size := q.size
	if q.missed > 0 {
		size /= 2
	}
	return q.uttered >= size || q.weight >= size*maxText
}

// weigh is how much memory an utterance may take.
func weigh(e event.Event) int {
	n := len(e.Text)
	if e.Tool != nil {
		n += len(e.Tool.Title) + len(e.Tool.Error)
	}
	for _, step := range e.Plan {
		n += len(step)
	}
	return n
}

// join makes one event of this one and the newest, if they are one utterance.
func (q *queue) join(e event.Event) bool {
	if len(q.items) == 0 {
		return false
	}
	newest := &q.items[len(q.items)-1]
	old := newest.event
	if old.Type != e.Type || old.Task != e.Task || old.Attempt != e.Attempt {
		return false
	}
	switch e.Type {
	case event.AgentText, event.AgentThought:
		if len(old.Text)+len(newest.more)+len(e.Text) > maxText {
			return false
		}
		newest.more = append(newest.more, e.Text...)
		q.weight += len(e.Text)
		return true
	case event.AgentUsage, event.AgentPlan:
		q.weight += weigh(e) - weigh(old)
		newest.event = e // the newer one says all
		return true
	default:
		return false
	}
}

// confess says, where the gap is, how much was left out.
func (q *queue) confess() {
	if q.missed == 0 {
		return
	}
	q.items = append(q.items, item{event: event.Event{
		V: q.last.V, At: q.last.At, Run: q.last.Run, Type: event.Warned,
		Text: human.Count(q.missed, "update") + " of agents not shown: the output was blocked",
	}})
	q.missed = 0
}

// take removes the oldest event. Open says that there may be more later.
func (q *queue) take() (e event.Event, ok, open bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.items) == 0 {
		q.confess()
	}
	if len(q.items) == 0 {
		return event.Event{}, false, !q.closed
	}
	first := q.items[0]
	q.items[0] = item{} // what was shown need not be kept alive
	q.items = q.items[1:]
	first.event.Text += string(first.more)
	if utterance(first.event) {
		q.uttered--
		q.weight -= weigh(first.event)
	}
	q.busy = true
	return first.event, true, true
}

// shown says that the event taken last is through.
func (q *queue) shown() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.busy = false
	if len(q.items) > 0 {
		return
	}
	for _, w := range q.waiting {
		close(w)
	}
	q.waiting = nil
}

// idle is closed when all that was put is shown.
func (q *queue) idle() <-chan struct{} {
	q.mu.Lock()
	defer q.mu.Unlock()
	idle := make(chan struct{})
	if len(q.items) == 0 && !q.busy {
		close(idle)
	} else {
		q.waiting = append(q.waiting, idle)
	}
	return idle
}

// close takes no more events. Those that are there can still be taken, unless
// they are given up.
func (q *queue) close(giveUp bool) (left int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	left = len(q.items) + q.missed
	if giveUp {
		q.items, q.missed = nil, 0
	}
	q.signal()
	return left
}

func (q *queue) signal() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}
