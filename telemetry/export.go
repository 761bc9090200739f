package telemetry

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"time"

	"ralph/internal/outbox"
)

// ExportOptions are where spans go. Endpoint must be set; what is 0 has a default.
type ExportOptions struct {
	Endpoint string // the whole address
	Headers  map[string]string
	Resource map[string]string
	Version  string // of ralph
	Trace    string // that the run belongs to; empty means one of its own
	Parent   string // span that the run belongs to
	Web      outbox.Web

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
	opts ExportOptions
	box  *outbox.Outbox[span]
	once sync.Once
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
	x := &Exporter{opts: opts}
	x.box = outbox.New(outbox.Options[span]{
		Send: x.send, Size: opts.Size, Batch: opts.Batch, Tries: opts.Tries, Backoff: opts.Backoff, Timeout: opts.Timeout,
	})
	return x
}

func (x *Exporter) send(ctx context.Context, batch []span) error {
	body, err := encode(x.opts.Resource, x.opts.Version, batch)
	if err != nil {
		return outbox.Never(err)
	}
	return x.opts.Web.Post(ctx, x.opts.Endpoint, x.opts.Headers, body)
}

// Close sends what is left, for as long as ExportOptions.Flush, and says how many
// spans were not sent.
func (x *Exporter) Close() error {
	var err error
	x.once.Do(func() {
		x.box.Close()
		patience := time.NewTimer(x.opts.Flush)
		defer patience.Stop()
		select {
		case <-x.box.Done():
		case <-patience.C:
		}
		_, lost, why := x.box.Count()
		x.box.Stop()
		<-x.box.Done()
		if lost > 0 {
			err = fmt.Errorf("traces: %d spans were not sent to %s: %w", lost, outbox.Host(x.opts.Endpoint), why)
		}
	})
	return err
}
