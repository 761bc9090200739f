package telemetry

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"ralph/internal/outbox"
)

// ExportOptions are where spans go. Endpoint must be set; what is 0 has a default.
type ExportOptions struct {
	Endpoint string            // the whole address
	Protobuf bool              // instead of JSON
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

// exporter counts what the SDK sends and keeps the reason of the last failure: the SDK
// itself hands errors to a global handler and drops spans silently.
type exporter struct {
	*otlptrace.Exporter
	endpoint *url.URL
	http     http.RoundTripper

	mu   sync.Mutex
	sent int
	last error // without the address, which may be a secret
}

func newExporter(opts ExportOptions) (*exporter, error) {
	endpoint, err := url.Parse(opts.Endpoint)
	if err != nil {
		return nil, errors.New("the OTLP endpoint is not a URL")
	}
	encoding := otlptracehttp.EncodingJSON
	if opts.Protobuf {
		encoding = otlptracehttp.EncodingProtobuf
	}
	x := &exporter{endpoint: endpoint, http: opts.Web.Transport()}
	x.Exporter, err = otlptracehttp.New(context.Background(),
		otlptracehttp.WithEndpointURL(opts.Endpoint), otlptracehttp.WithEncoding(encoding),
		otlptracehttp.WithHTTPClient(&http.Client{
			Transport: x, Timeout: cmp.Or(opts.Timeout, 10*time.Second),
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		}),
		otlptracehttp.WithRetry(otlptracehttp.RetryConfig{
			Enabled: true, InitialInterval: cmp.Or(opts.Backoff, time.Second), MaxInterval: 5 * time.Second,
			MaxElapsedTime: cmp.Or(opts.Retry, 3*time.Second),
		}),
	)
	return x, err
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

// ExportSpans never fails, because the SDK would only print the error.
func (x *exporter) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	err := x.Exporter.ExportSpans(ctx, spans)
	x.mu.Lock()
	defer x.mu.Unlock()
	if err == nil {
		x.sent += len(spans)
	} else if x.last == nil {
		x.last = err
	}
	return nil
}

// RoundTrip posts to the whole endpoint: otlptracehttp drops its user and its query.
func (x *exporter) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	req.URL = x.endpoint
	if user := x.endpoint.User; user != nil {
		password, _ := user.Password()
		req.SetBasicAuth(user.Username(), password)
	}
	reply, err := x.http.RoundTrip(req)
	x.mu.Lock()
	defer x.mu.Unlock()
	switch {
	case err != nil:
		x.last, err = err, retryable{err}
	case reply.StatusCode >= 300:
		x.last = fmt.Errorf("HTTP status %d", reply.StatusCode)
	}
	return reply, err
}

// retryable makes otlptracehttp retry after a broken connection, too.
type retryable struct{ error }

func (retryable) Temporary() bool { return true }

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
	carrier := propagation.MapCarrier{"traceparent": getenv("TRACEPARENT")}
	opts.Parent = trace.SpanContextFromContext(propagation.TraceContext{}.Extract(context.Background(), carrier))
	return opts, true, nil
}
