package telemetry

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"ralph/internal/lazyregexp"
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
	if traces("PROTOCOL") == "grpc" {
		return opts, false, errors.New("OTEL_EXPORTER_OTLP_PROTOCOL is grpc, and ralph speaks http/json only")
	}
	if ms, err := strconv.Atoi(traces("TIMEOUT")); err == nil && ms > 0 {
		opts.Timeout = time.Duration(ms) * time.Millisecond
	}
	opts.Headers = pairs(traces("HEADERS"))
	opts.Resource = pairs(getenv("OTEL_RESOURCE_ATTRIBUTES"))
	opts.Resource["service.name"] = cmp.Or(getenv("OTEL_SERVICE_NAME"), opts.Resource["service.name"], "ralph")
	if m := traceParent().FindStringSubmatch(getenv("TRACEPARENT")); m != nil {
		opts.Trace, opts.Parent = m[1], m[2]
	}
	return opts, true, nil
}

// traceParent names a trace that this run is a part of, as the W3C defines it.
var traceParent = lazyregexp.New(`^[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}`)

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
