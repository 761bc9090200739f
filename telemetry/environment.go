package telemetry

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"ralph/internal/outbox"
)

// FromEnvironment reads the variables that OpenTelemetry defines. False means that
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
	opts.Headers = pairs(traces("HEADERS"))
	opts.Resource = pairs(getenv("OTEL_RESOURCE_ATTRIBUTES"))
	opts.Resource["service.name"] = cmp.Or(getenv("OTEL_SERVICE_NAME"), opts.Resource["service.name"], "ralph")
	carrier := propagation.MapCarrier{"traceparent": getenv("TRACEPARENT")}
	opts.Parent = trace.SpanContextFromContext(propagation.TraceContext{}.Extract(context.Background(), carrier))
	return opts, true, nil
}

// pairs reads "a=b,c=d", with values escaped as in addresses.
func pairs(text string) map[string]string {
	out := map[string]string{}
	for _, pair := range strings.Split(text, ",") {
		name, value, ok := strings.Cut(pair, "=")
		if name = strings.TrimSpace(name); !ok || name == "" {
			continue
		}
		value = strings.TrimSpace(value)
		if plain, err := url.PathUnescape(value); err == nil {
			value = plain
		}
		out[name] = value
	}
	return out
}
