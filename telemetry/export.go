package telemetry

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	"ralph/internal/post"
)

// ExportOptions are where spans go. Endpoint must be set; what is 0 has a default.
type ExportOptions struct {
	Endpoint string // the whole address
	Headers  map[string]string
	Resource map[string]string
	Version  string // of ralph
	Trace    string // that the run belongs to; empty means one of its own
	Parent   string // span that the run belongs to
	Client   post.Client

	Size    int           // spans that may wait; 0 means 4,096
	Batch   int           // spans in one request; 0 means 256
	Tries   int           // for each request; 0 means 3
	Backoff time.Duration // after the first try, then twice as long; 0 means a second
	Timeout time.Duration // for one try; 0 means 10 seconds
	Flush   time.Duration // for what is left at the end; 0 means 5 seconds
}

// Exporter sends spans as OTLP over HTTP, in JSON, from a goroutine of its own.
// When too many wait, new ones are left out and counted.
type Exporter struct {
	opts   ExportOptions
	cancel context.CancelFunc
	wake   chan struct{}
	done   chan struct{}
	once   sync.Once

	mu     sync.Mutex
	queue  []span
	closed bool
	flying int // spans of the request that is under way
	lost   int
	last   error
}

// NewExporter starts an exporter.
func NewExporter(opts ExportOptions) *Exporter {
	for _, d := range []struct {
		v  *int
		is int
	}{{&opts.Size, 4096}, {&opts.Batch, 256}, {&opts.Tries, 3}} {
		if *d.v <= 0 {
			*d.v = d.is
		}
	}
	for _, d := range []struct {
		v  *time.Duration
		is time.Duration
	}{{&opts.Backoff, time.Second}, {&opts.Timeout, 10 * time.Second}, {&opts.Flush, 5 * time.Second}} {
		if *d.v <= 0 {
			*d.v = d.is
		}
	}
	opts.Headers = maps.Clone(opts.Headers)
	if opts.Headers == nil {
		opts.Headers = map[string]string{}
	}
	opts.Headers["Content-Type"] = "application/json"
	ctx, cancel := context.WithCancel(context.Background())
	x := &Exporter{opts: opts, cancel: cancel, wake: make(chan struct{}, 1), done: make(chan struct{})}
	go x.work(ctx)
	return x
}

var errCrowded = errors.New("too many were waiting")

// put keeps a span until there are enough, or somebody nudges.
func (x *Exporter) put(s span) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.closed || len(x.queue) >= x.opts.Size {
		x.lost++
		if x.last == nil {
			x.last = errCrowded
		}
		return
	}
	x.queue = append(x.queue, s)
	if len(x.queue) >= x.opts.Batch {
		x.nudge()
	}
}

func (x *Exporter) nudge() {
	select {
	case x.wake <- struct{}{}:
	default:
	}
}

func (x *Exporter) work(ctx context.Context) {
	defer close(x.done)
	for {
		batch, open := x.take()
		switch {
		case len(batch) > 0:
			err := x.send(ctx, batch)
			x.settle(len(batch), err)
		case !open:
			return
		default:
			select {
			case <-x.wake:
			case <-ctx.Done():
				return
			}
		}
		if ctx.Err() != nil {
			return
		}
	}
}

func (x *Exporter) take() (batch []span, open bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	n := min(len(x.queue), x.opts.Batch)
	batch = x.queue[:n:n]
	x.queue = x.queue[n:]
	x.flying = n
	return batch, !x.closed
}

func (x *Exporter) settle(n int, err error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.flying = 0
	if err != nil {
		x.lost += n
		x.last = err
	}
}

// send tries a few times, if that may help.
func (x *Exporter) send(ctx context.Context, batch []span) error {
	body, err := encode(x.opts.Resource, x.opts.Version, batch)
	if err != nil {
		return err
	}
	pause := x.opts.Backoff
	for try := 1; ; try++ {
		reply, err := x.try(ctx, body)
		if err == nil && reply.OK() {
			return nil
		}
		again := err != nil || reply.Again()
		if err == nil {
			err = fmt.Errorf("it answers with status %d", reply.Status)
		}
		if !again || try >= x.opts.Tries || ctx.Err() != nil {
			return err
		}
		timer := time.NewTimer(min(max(reply.After, pause), time.Minute))
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return err
		}
		pause *= 2
	}
}

func (x *Exporter) try(ctx context.Context, body []byte) (post.Reply, error) {
	ctx, cancel := context.WithTimeout(ctx, x.opts.Timeout)
	defer cancel()
	return x.opts.Client.Post(ctx, x.opts.Endpoint, x.opts.Headers, body)
}

// Close sends what is left, for as long as ExportOptions.Flush, and says how many
// spans were not sent.
func (x *Exporter) Close() error {
	var err error
	x.once.Do(func() {
		x.mu.Lock()
		x.closed = true
		x.mu.Unlock()
		x.nudge()
		patience := time.NewTimer(x.opts.Flush)
		defer patience.Stop()
		select {
		case <-x.done:
		case <-patience.C:
		}
		x.mu.Lock()
		lost, why := x.lost+x.flying+len(x.queue), errors.New("no answer yet")
		if x.last != nil {
			why = x.last
		}
		x.mu.Unlock()
		x.cancel()
		<-x.done
		if lost > 0 {
			err = fmt.Errorf("traces: %d spans were not sent to %s: %w", lost, post.Host(x.opts.Endpoint), why)
		}
	})
	return err
}
