// Package outbox sends things away from a goroutine of its own, a few at a time and
// with retries, so that the sender never waits.
package outbox

import (
	"context"
	"errors"
	"sync"
	"time"
)

// Options are what an Outbox works with. All must be set.
type Options[T any] struct {
	Send    func(context.Context, []T) error // tries once
	Size    int                              // things that may wait
	Batch   int                              // things sent at once
	Tries   int
	Backoff time.Duration // after the first try, then twice as long each time
	Timeout time.Duration // for one try
	// Oldest has the oldest of too many given up, because the end matters more than
	// the beginning; otherwise it is the newest.
	Oldest bool
}

type permanent struct{ error }

type later struct {
	error
	after time.Duration
}

// Never marks an error that a retry cannot fix.
func Never(err error) error { return permanent{err} }

// After marks an error that is not retried before wait is over.
func After(err error, wait time.Duration) error { return later{err, wait} }

// ErrCrowded is why something was dropped without a try.
var ErrCrowded = errors.New("too many were waiting")

// Outbox is a bounded queue and the goroutine that empties it.
type Outbox[T any] struct {
	opts   Options[T]
	cancel context.CancelFunc
	wake   chan struct{}
	done   chan struct{}

	mu     sync.Mutex
	queue  []T
	closed bool
	flying int // of a try that is under way
	sent   int
	lost   int
	last   error // why the last one was lost, or not sent yet
}

// New starts an Outbox.
func New[T any](opts Options[T]) *Outbox[T] {
	ctx, cancel := context.WithCancel(context.Background())
	o := &Outbox[T]{opts: opts, cancel: cancel, wake: make(chan struct{}, 1), done: make(chan struct{})}
	go o.work(ctx)
	return o
}

// Put keeps a thing until it is sent, which is begun as soon as there are enough for
// a batch. After Close it counts as lost.
func (o *Outbox[T]) Put(v T) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed || len(o.queue) >= o.opts.Size {
		o.lost++
		if o.last == nil {
			o.last = ErrCrowded
		}
		if o.closed || !o.opts.Oldest {
			return
		}
		o.queue = append(o.queue[:0], o.queue[1:]...)
	}
	o.queue = append(o.queue, v)
	if len(o.queue) >= o.opts.Batch {
		o.Nudge()
	}
}

// Nudge has what waits sent now, though it is less than a batch.
func (o *Outbox[T]) Nudge() {
	select {
	case o.wake <- struct{}{}:
	default:
	}
}

// Close takes nothing more, and sends what is left.
func (o *Outbox[T]) Close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = true
	o.Nudge()
}

// Done is closed when nothing is being sent any more, nor ever will be.
func (o *Outbox[T]) Done() <-chan struct{} { return o.done }

// Stop gives up what is not sent yet.
func (o *Outbox[T]) Stop() { o.cancel() }

// Count says how many things were sent, how many were not or not yet, and why the
// last of those was not.
func (o *Outbox[T]) Count() (sent, missing int, why error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	why = o.last
	if why == nil {
		why = errors.New("no answer yet")
	}
	return o.sent, o.lost + o.flying + len(o.queue), why
}
