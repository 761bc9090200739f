package notify

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// send tells one message once.
type send func(context.Context, Message) error

// permanent is a failure that trying again does not mend.
type permanent struct{ error }

// later is a failure after which somebody wants to be left alone for a time.
type later struct {
	error
	after time.Duration
}

// way is one way to one target: a bounded queue, and a goroutine that empties it.
type way struct {
	name string
	on   []string
	send send
	opts Options
	wake chan struct{}
	done chan struct{}

	mu     sync.Mutex
	queue  []Message
	closed bool
	busy   int // 1 while a message is being told
	told   int
	lost   int
	last   error // why the last one was lost
}

var errCrowded = errors.New("too many were waiting")

// put queues a message. When too many wait, the oldest is given up: the end of a
// run matters more than its beginning.
func (w *way) put(m Message) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return
	}
	if len(w.queue) >= w.opts.Size {
		w.queue = append(w.queue[:0], w.queue[1:]...)
		w.lost++
		if w.last == nil {
			w.last = errCrowded
		}
	}
	w.queue = append(w.queue, m)
	w.nudge()
}

func (w *way) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = true
	w.nudge()
}

func (w *way) nudge() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

func (w *way) work(ctx context.Context) {
	defer close(w.done)
	for {
		m, ok, open := w.take()
		switch {
		case ok:
			w.settle(w.tell(ctx, m))
		case !open:
			return
		default:
			select {
			case <-w.wake:
			case <-ctx.Done():
				return
			}
		}
		if ctx.Err() != nil {
			return
		}
	}
}

func (w *way) take() (m Message, ok, open bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.queue) == 0 {
		return Message{}, false, !w.closed
	}
	m = w.queue[0]
	w.queue = w.queue[1:]
	w.busy = 1
	return m, true, true
}

func (w *way) settle(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.busy = 0
	if err == nil {
		w.told++
		return
	}
	w.lost++
	w.last = err
}

// longest is how long a server may make us wait before the next try.
const longest = time.Minute

// tell tries until it succeeds, or there is no use in it.
func (w *way) tell(ctx context.Context, m Message) error {
	pause := w.opts.Backoff
	for try := 1; ; try++ {
		err := w.try(ctx, m)
		var never permanent
		var wait later
		switch {
		case err == nil:
			return nil
		case errors.As(err, &never), try >= w.opts.Tries, ctx.Err() != nil:
			return err
		}
		delay := pause
		if errors.As(err, &wait) {
			delay = min(max(wait.after, pause), longest)
		}
		w.mu.Lock()
		w.last = err // for whoever asks before it has succeeded
		w.mu.Unlock()
		timer := time.NewTimer(delay)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return err
		}
		pause *= 2
	}
}

func (w *way) try(ctx context.Context, m Message) error {
	ctx, cancel := context.WithTimeout(ctx, w.opts.Timeout)
	defer cancel()
	return w.send(ctx, m)
}

// report says how many messages did not go out, and why the last of them did not.
func (w *way) report() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	lost := w.lost + w.busy + len(w.queue)
	if lost == 0 {
		return nil
	}
	why := "no answer yet"
	if w.last != nil {
		why = w.opts.Hide(w.last.Error())
	}
	noun := "notifications"
	if lost == 1 {
		noun = "notification"
	}
	return fmt.Errorf("notify: %s: %d of %d %s did not go out: %s", w.name, lost, w.told+lost, noun, why)
}
