package telemetry

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"ralph/internal/outbox"
)

// FromEnvironment reads the variables that OpenTelemetry defines and that its SDK does not
// read itself. False means that
// nobody asked for traces; an error, that what was asked for cannot be done.
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
