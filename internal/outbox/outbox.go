// Package outbox sends things away from a goroutine of its own, one at a time and
// with retries, so that the sender never waits.
package outbox

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"
)

// Options are what an Outbox works with. All must be set.
type Options[T any] struct {
	Send    func(context.Context, T) error // tries once
	Size    int                            // things that may wait; the oldest of more are dropped, because the end matters most
	Tries   int
	Backoff time.Duration // after the first try, then twice as long each time
	Timeout time.Duration // for one try
}

// longest is how long a server may make us wait before the next try.
const longest = time.Minute

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
	queue  chan T
	done   chan struct{}

	mu        sync.Mutex
	closed    bool
	put, sent int
	last      error // why the last one was lost, or not sent yet
}

// New starts an Outbox.
func New[T any](opts Options[T]) *Outbox[T] {
	ctx, cancel := context.WithCancel(context.Background())
	o := &Outbox[T]{opts: opts, cancel: cancel, queue: make(chan T, opts.Size), done: make(chan struct{})}
	go o.work(ctx)
	return o
}

// Put keeps a thing until it is sent. After Close it counts as lost.
func (o *Outbox[T]) Put(v T) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.put++
	for !o.closed {
		select {
		case o.queue <- v:
			return
		default:
		}
		select {
		case <-o.queue:
			o.last = cmp.Or(o.last, ErrCrowded)
		default: // it has just been taken to be sent
		}
	}
	o.last = cmp.Or(o.last, ErrCrowded)
}

// Close takes nothing more, and sends what is left.
func (o *Outbox[T]) Close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.closed {
		o.closed = true
		close(o.queue)
	}
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
	return o.sent, o.put - o.sent, cmp.Or(o.last, errors.New("no answer yet"))
}

func (o *Outbox[T]) work(ctx context.Context) {
	defer close(o.done)
	for ctx.Err() == nil {
		select {
		case v, open := <-o.queue:
			if !open {
				return
			}
			o.send(ctx, v)
		case <-ctx.Done():
		}
	}
}

// Send sends a thing beside those that wait, and returns when it is sent or there is no use in trying any more.
func (o *Outbox[T]) Send(ctx context.Context, v T) {
	o.mu.Lock()
	o.put++
	o.mu.Unlock()
	o.send(ctx, v)
}

// send tries until it succeeds, or there is no use in it.
func (o *Outbox[T]) send(ctx context.Context, v T) {
	pause := o.opts.Backoff
	for try := 1; ; try++ {
		err := o.try(ctx, v)
		var never permanent
		if err == nil || errors.As(err, &never) || try >= o.opts.Tries || ctx.Err() != nil {
			return
		}
		delay := pause
		if wait := (later{}); errors.As(err, &wait) {
			delay = min(max(wait.after, pause), longest)
		}
		select {
		case <-time.After(delay):
		case <-ctx.Done():
			return
		}
		pause *= 2
	}
}

func (o *Outbox[T]) try(ctx context.Context, v T) error {
	ctx, cancel := context.WithTimeout(ctx, o.opts.Timeout)
	defer cancel()
	err := o.opts.Send(ctx, v)
	o.mu.Lock()
	defer o.mu.Unlock()
	if err == nil {
		o.sent++
	} else {
		o.last = err
	}
	return err
}
