package render

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"ralph/internal/event"
	"ralph/internal/human"
)

const (
	asyncSize = 1024            // how many utterances may wait
	asyncWait = 2 * time.Second // how long Flush and Close wait for the sink
)

// Async passes events to a sink in a goroutine of its own, so that whoever reports
// them never waits for a terminal that is stopped or a pipe that nobody reads. While
// the sink is busy, pieces of text are joined, and when too many utterances wait, new
// ones are left out and counted in one warning. Events of tasks and of the run are
// never left out.
type Async struct {
	sink  Sink
	queue *queue
	wait  time.Duration
	done  chan struct{}
	once  sync.Once
	err   error // of closing the sink; set before done is closed
}

// NewAsync returns a sink in front of sink, which it closes when it is closed.
func NewAsync(sink Sink) *Async { return newAsync(sink, asyncSize, asyncWait) }

func newAsync(sink Sink, size int, wait time.Duration) *Async {
	a := &Async{sink: sink, queue: newQueue(size), wait: wait, done: make(chan struct{})}
	go a.deliver()
	return a
}

// Event keeps the event and returns. After Close it does nothing.
func (a *Async) Event(e event.Event) { a.queue.put(e) }

// Flush waits until the events so far are shown, or for two seconds.
func (a *Async) Flush() {
	select {
	case <-a.queue.mark():
	case <-a.done:
	case <-time.After(a.wait):
	}
}

// Close shows what is left and closes the sink. If that takes longer than two seconds
// it gives up and says how much was not shown; the goroutine then ends as soon as the
// sink returns.
func (a *Async) Close() (err error) {
	a.once.Do(func() {
		a.queue.close(false)
		select {
		case <-a.done:
			err = a.err
		case <-time.After(a.wait):
			left := a.queue.close(true)
			err = fmt.Errorf("show events: the output is blocked: %s not shown", human.Count(left, "event"))
		}
	})
	return err
}

func (a *Async) deliver() {
	defer close(a.done)
	for {
		next, ok := a.queue.take()
		switch {
		case !ok:
			a.err = a.sink.Close()
			return
		case next.mark != nil:
			close(next.mark)
		default:
			a.sink.Event(next.event)
		}
	}
}

// maxText is how much text that was said in a row becomes one event when the
// reader is slow.
const maxText = 4096

// queue holds events for a reader that may be slower than their writer. What an
// agent utters is joined and then left out when there is too much of it; what
// happens to tasks and to the run is kept, however long the reader sleeps: that is a
// few events an iteration.
type queue struct {
	mu      sync.Mutex
	changed sync.Cond // of mu: there may be something to take
	size    int       // how many utterances are kept
	items   []item
	uttered int // utterances among the items
	weight  int // of their text, in bytes
	missed  int // utterances left out since the last item
	last    event.Event
	closed  bool
}

type item struct {
	event event.Event
	more  []byte        // text that was joined to it
	mark  chan struct{} // to be closed when everything before it is shown; there is no event then
}

func newQueue(size int) *queue {
	q := &queue{size: size}
	q.changed.L = &q.mu
	return q
}

// utterance says that an event may be left out: an agent can make as many of
// these as it likes.
func utterance(e event.Event) bool {
	return (e.Call == nil || e.Call.Allowed) && slices.Contains([]event.Type{
		event.AgentText, event.AgentThought, event.AgentTool, event.AgentPlan, event.AgentUsage, event.AgentAsked,
	}, e.Type)
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
	q.changed.Signal()
}

// mark returns a channel that is closed when everything put so far is shown.
func (q *queue) mark() <-chan struct{} {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.confess()
	shown := make(chan struct{})
	q.items = append(q.items, item{mark: shown})
	q.changed.Signal()
	return shown
}

// full says that an utterance has to be left out. Once one was, half of the rest
// must have been taken before new ones are accepted: one long gap reads better than
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

// take waits for the oldest item and removes it. It fails when the queue is closed and empty.
func (q *queue) take() (next item, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.items) == 0 && q.missed == 0 && !q.closed {
		q.changed.Wait()
	}
	if len(q.items) == 0 {
		q.confess()
	}
	if len(q.items) == 0 {
		return item{}, false
	}
	next = q.items[0]
	q.items[0] = item{} // what was shown need not be kept alive
	q.items = q.items[1:]
	next.event.Text += string(next.more)
	if utterance(next.event) {
		q.uttered--
		q.weight -= weigh(next.event)
	}
	return next, true
}

// close accepts no more events. Those that wait can still be taken, unless they are
// given up.
func (q *queue) close(giveUp bool) (left int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	left = q.missed
	for _, i := range q.items {
		if i.mark == nil {
			left++
		}
	}
	if giveUp {
		q.items, q.missed = nil, 0
	}
	q.changed.Signal()
	return left
}
