package telemetry

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"ralph/internal/outbox"
	"ralph/internal/plain"
)

// ExportOptions are where spans go. Endpoint must be set; what is 0 has a default.
type ExportOptions struct {
	Endpoint string            // the whole address
	Protobuf bool              // instead of JSON
	Gzip     bool              // makes requests smaller
	Headers  map[string]string // of every request
	Version  string            // of ralph
	Parent   trace.SpanContext // that the run belongs to; invalid means none
	Web      outbox.Web

	Backoff time.Duration // after the first try, then longer; 0 means a second
	Retry   time.Duration // no retry begins later than this; 0 means three seconds
	Timeout time.Duration // for one try; 0 means 10 seconds
	Flush   time.Duration // for what is left at the end; 0 means 5 seconds
}

// Bounds of what waits for the collector. When the queue is full, new spans are dropped.
const (
	queueSize  = 4096
	batchSize  = 256
	batchDelay = time.Second
)

const (
	longestPause = 5 * time.Second
	longestReply = 64 << 10 // of what a collector answers
	never        = time.Duration(-1)
)

// exporter posts what the SDK gives it. It counts what was sent and keeps the reason of the last failure: the SDK
// hands errors to a global handler and drops spans silently.
type exporter struct {
	opts     ExportOptions
	endpoint *url.URL
	http     http.RoundTripper
	stopped  context.Context
	stop     context.CancelFunc

	mu   sync.Mutex
	sent int
	last error // without the address, which may be a secret
}

func newExporter(opts ExportOptions) (*exporter, error) {
	endpoint, err := url.Parse(opts.Endpoint)
	if err != nil {
		return nil, errors.New("the OTLP endpoint is not a URL")
	}
	opts.Backoff, opts.Retry = cmp.Or(opts.Backoff, time.Second), cmp.Or(opts.Retry, 3*time.Second)
	opts.Timeout = cmp.Or(opts.Timeout, 10*time.Second)
	x := &exporter{opts: opts, endpoint: endpoint, http: opts.Web.Transport()}
	x.stopped, x.stop = context.WithCancel(context.Background())
	return x, nil
}

// newProvider returns the SDK's provider of tracers, without its global state.
func newProvider(x *exporter) *sdktrace.TracerProvider {
	named := resource.NewSchemaless(attribute.String("service.name", "ralph"))
	if merged, err := resource.Merge(named, resource.Environment()); err == nil {
		named = merged
	}
	return sdktrace.NewTracerProvider(
		sdktrace.WithResource(named),
		sdktrace.WithSampler(sdktrace.AlwaysSample()),
		sdktrace.WithBatcher(x, sdktrace.WithMaxQueueSize(queueSize), sdktrace.WithMaxExportBatchSize(batchSize),
			sdktrace.WithBatchTimeout(batchDelay)),
	)
}

// ExportSpans sends a batch, and again while that may help. It never fails, because the SDK would only print the error.
func (x *exporter) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(x.stopped, cancel)()
	body, err := x.encode(exportRequest(spans))
	if err != nil {
		x.count(0, err)
		return nil
	}
	for pause, over := x.opts.Backoff, time.After(x.opts.Retry); ; pause = min(2*pause, longestPause) {
		answer, after, err := x.post(ctx, body)
		if err == nil {
			refused, err := x.refused(answer)
			x.count(max(0, len(spans)-refused), err)
			return nil
		}
		x.count(0, err)
		if after == never || after > x.opts.Retry {
			return nil
		}
		select {
		case <-time.After(max(after, pause/2+rand.N(pause))):
		case <-over:
			return nil
		case <-ctx.Done():
			return nil
		}
	}
}

// post tries once, and returns the answer, or how long to wait at least before another try. It posts to the whole endpoint
// and follows no redirect.
func (x *exporter) post(ctx context.Context, body []byte) (answer []byte, after time.Duration, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, x.opts.Timeout, errors.New("no answer in time"))
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, x.endpoint.String(), bytes.NewReader(body))
	if err != nil {
		return nil, never, errors.New("the OTLP endpoint is not a URL")
	}
	req.Header.Set("User-Agent", "ralph")
	for name, value := range x.opts.Headers {
		req.Header.Set(name, value)
	}
	req.Header.Set("Content-Type", map[bool]string{true: "application/x-protobuf", false: "application/json"}[x.opts.Protobuf])
	if x.opts.Gzip {
		req.Header.Set("Content-Encoding", "gzip")
	}
	if user := x.endpoint.User; user != nil {
		password, _ := user.Password()
		req.SetBasicAuth(user.Username(), password)
	}
	reply, err := x.http.RoundTrip(req)
	if err != nil {
		return nil, 0, cmp.Or(context.Cause(ctx), err)
	}
	defer reply.Body.Close()
	switch status := reply.StatusCode; status {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return nil, x.opts.Web.RetryAfter(reply.Header), fmt.Errorf("HTTP status %d", status)
	default:
		if status < 200 || status >= 300 {
			return nil, never, fmt.Errorf("HTTP status %d", status)
		}
	}
	answer, _ = io.ReadAll(io.LimitReader(reply.Body, longestReply)) // it has them, even if it does not finish this
	return answer, 0, nil
}

// refused is how many spans a collector did not take of a request that it took.
func (x *exporter) refused(answer []byte) (int, error) {
	var reply struct {
		PartialSuccess struct {
			RejectedSpans json.Number
			ErrorMessage  string
		}
	}
	_ = json.Unmarshal(answer, &reply)
	n, _ := strconv.Atoi(reply.PartialSuccess.RejectedSpans.String())
	why := reply.PartialSuccess.ErrorMessage
	if x.opts.Protobuf {
		_, partial := protobufField(answer, 1)
		rejected, _ := protobufField(partial, 1)
		_, text := protobufField(partial, 2)
		n, why = int(rejected), string(text)
	}
	if n <= 0 {
		return 0, nil // what it only remarks is for its own administrators
	}
	return n, fmt.Errorf("refused: %s", valid(plain.Cut(why, most)))
}

// Shutdown ends a request that hangs.
func (x *exporter) Shutdown(context.Context) error {
	x.stop()
	return nil
}

func (x *exporter) count(sent int, err error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.sent, x.last = x.sent+sent, cmp.Or(err, x.last)
}

func (x *exporter) encode(m message) ([]byte, error) {
	data := m.protobuf()
	if !x.opts.Protobuf {
		var err error
		if data, err = json.Marshal(m); err != nil {
			return nil, err
		}
	}
	if !x.opts.Gzip {
		return data, nil
	}
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, err := w.Write(data)
	err = cmp.Or(err, w.Close())
	return b.Bytes(), err
}

// FromEnvironment reads the variables that OpenTelemetry defines and that its SDK does not
// read itself. False means that nobody asked for traces; an error, that what was asked for
// cannot be done.
func FromEnvironment(getenv func(string) string) (ExportOptions, bool, error) {
	var opts ExportOptions
	traces := func(name string) string {
		return cmp.Or(getenv("OTEL_EXPORTER_OTLP_TRACES_"+name), getenv("OTEL_EXPORTER_OTLP_"+name))
	}
	opts.Endpoint = getenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
	if base := getenv("OTEL_EXPORTER_OTLP_ENDPOINT"); opts.Endpoint == "" && base != "" {
		opts.Endpoint = strings.TrimSuffix(base, "/") + "/v1/traces"
	}
	exporter := cmp.Or(getenv("OTEL_TRACES_EXPORTER"), "otlp")
	if opts.Endpoint == "" || strings.EqualFold(getenv("OTEL_SDK_DISABLED"), "true") || exporter != "otlp" {
		return opts, false, nil
	}
	if err := outbox.CheckAddress(opts.Endpoint); err != nil {
		return opts, false, fmt.Errorf("the OTLP endpoint: %w", err)
	}
	switch protocol := traces("PROTOCOL"); protocol {
	case "", "http/json":
	case "http/protobuf":
		opts.Protobuf = true
	default:
		return opts, false, fmt.Errorf("OTEL_EXPORTER_OTLP_PROTOCOL is %s; ralph supports http/json and http/protobuf", protocol)
	}
	if ms, err := strconv.Atoi(traces("TIMEOUT")); err == nil && ms > 0 {
		opts.Timeout = time.Duration(ms) * time.Millisecond
	}
	opts.Gzip, opts.Headers = traces("COMPRESSION") == "gzip", headersOf(traces("HEADERS"))
	carrier := propagation.MapCarrier{"traceparent": getenv("TRACEPARENT")}
	opts.Parent = trace.SpanContextFromContext(propagation.TraceContext{}.Extract(context.Background(), carrier))
	return opts, true, nil
}

// headersOf reads pairs of names and values, which are escaped as in URLs. What is none is left out.
func headersOf(list string) map[string]string {
	const token = "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	headers := map[string]string{}
	for pair := range strings.SplitSeq(list, ",") {
		name, escaped, found := strings.Cut(pair, "=")
		value, err := url.PathUnescape(escaped)
		if name = strings.TrimSpace(name); found && err == nil && name != "" && strings.Trim(name, token) == "" {
			headers[name] = strings.TrimSpace(value)
		}
	}
	return headers
}
