package outbox

import (
	"context"
	"errors"
	"time"
)

// longest is how long a server may make us wait before the next try.
const longest = time.Minute

func (o *Outbox[T]) work(ctx context.Context) {
	defer close(o.done)
	for ctx.Err() == nil {
		batch, open := o.take()
		switch {
		case len(batch) > 0:
			o.settle(len(batch), o.send(ctx, batch))
		case !open:
			return
		default:
			select {
			case <-o.wake:
			case <-ctx.Done():
			}
		}
	}
}

func (o *Outbox[T]) take() (batch []T, open bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	n := min(len(o.queue), o.opts.Batch)
	batch = append(batch, o.queue[:n]...) // Put moves what stays
	o.queue = o.queue[n:]
	o.flying = n
	return batch, !o.closed
}

func (o *Outbox[T]) settle(n int, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.flying = 0
	if err == nil {
		o.sent += n
		return
	}
	o.lost += n
	o.last = err
}

// send tries until it succeeds, or there is no use in it.
func (o *Outbox[T]) send(ctx context.Context, batch []T) error {
	pause := o.opts.Backoff
	for try := 1; ; try++ {
		err := o.try(ctx, batch)
		var never permanent
		switch {
		case err == nil:
			return nil
		case errors.As(err, &never), try >= o.opts.Tries, ctx.Err() != nil:
			return err
		}
		delay := pause
		if wait := (later{}); errors.As(err, &wait) {
			delay = min(max(wait.after, pause), longest)
		}
		o.mu.Lock()
		o.last = err // for Count, before it has succeeded
		o.mu.Unlock()
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

func (o *Outbox[T]) try(ctx context.Context, batch []T) error {
	ctx, cancel := context.WithTimeout(ctx, o.opts.Timeout)
	defer cancel()
	return o.opts.Send(ctx, batch)
}
