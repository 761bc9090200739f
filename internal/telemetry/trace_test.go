package telemetry

import (
	"compress/gzip"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/otel/trace"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"ralph/internal/event"
	"ralph/internal/testing/check"
	"ralph/internal/testing/golden"
)

// collector is a server that takes OTLP, as its own definitions read it.
type collector struct {
	*httptest.Server
	mu    sync.Mutex
	spans []*tracepb.Span
	posts int
	each  chan struct{}
}

func newCollector(t *testing.T, answer func(n int, w http.ResponseWriter)) *collector {
	t.Helper()
	c := &collector{each: make(chan struct{}, 1000)}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body tracepb.TracesData // the same as a request, in a package without gRPC
		from := io.Reader(r.Body)
		var err error
		if r.Header.Get("Content-Encoding") == "gzip" {
			from, err = gzip.NewReader(r.Body)
			check.OK(t, err)
		}
		data, err := io.ReadAll(from)
		check.OK(t, err)
		if r.Header.Get("Content-Type") == "application/json" {
			err = unmarshalJSON(data, &body)
		} else {
			err = proto.Unmarshal(data, &body)
		}
		if user, _, _ := r.BasicAuth(); err != nil || r.Method != http.MethodPost || r.URL.RequestURI() != "/v1/traces?a=b" || user != "me" {
			t.Errorf("%s %s by %s: %v", r.Method, r.URL, user, err)
		}
		c.mu.Lock()
		c.posts++
		n := c.posts
		for _, rs := range body.ResourceSpans {
			check.Equal(t, "resource", " service.name=ralph", attributes(rs.Resource.Attributes))
			for _, ss := range rs.ScopeSpans {
				c.spans = append(c.spans, ss.Spans...)
			}
		}
		c.mu.Unlock()
		c.each <- struct{}{}
		answer(n, w)
	}))
	t.Cleanup(c.Close)
	return c
}

// unmarshalJSON reads IDs in hexadecimal: OTLP's JSON has them so, that of protobuf in base64.
func unmarshalJSON(data []byte, body *tracepb.TracesData) error {
	if err := protojson.Unmarshal(data, body); err != nil {
		return err
	}
	for _, s := range body.ResourceSpans[0].ScopeSpans[0].Spans {
		for _, id := range []*[]byte{&s.TraceId, &s.SpanId, &s.ParentSpanId} {
			var err error
			if *id, err = hex.DecodeString(base64.StdEncoding.EncodeToString(*id)); err != nil {
				return err
			}
		}
	}
	return nil
}

func attributes(list []*commonpb.KeyValue) string {
	var b strings.Builder
	for _, a := range list {
		var v any
		switch is := a.Value.Value.(type) {
		case *commonpb.AnyValue_StringValue:
			v = is.StringValue
		case *commonpb.AnyValue_IntValue:
			v = is.IntValue
		case *commonpb.AnyValue_DoubleValue:
			v = is.DoubleValue
		case *commonpb.AnyValue_BoolValue:
			v = is.BoolValue
		}
		fmt.Fprintf(&b, " %s=%v", a.Key, v)
	}
	return b.String()
}

func tracerTo(t *testing.T, c *collector, with func(*ExportOptions)) *Tracer {
	t.Helper()
	opts := ExportOptions{
		Endpoint: strings.Replace(c.URL, "://", "://me:secret@", 1) + "/v1/traces?a=b", Protobuf: true,
		Version: "1", Backoff: time.Millisecond, Retry: 100 * time.Millisecond, Flush: time.Minute, Timeout: time.Minute,
	}
	if with != nil {
		with(&opts)
	}
	tr, err := NewTracer(opts, hide)
	check.OK(t, err)
	return tr
}

// attempts makes as many spans.
func attempts(tr *Tracer, n int) {
	for i := range n {
		id := fmt.Sprint(i)
		tr.Event(event.Event{Type: event.TaskClaimed, Attempt: id})
		tr.Event(event.Event{Type: event.AttemptEnded, Attempt: id, Outcome: "done"})
	}
}

func TestTracesOfARun(t *testing.T) {
	t.Parallel()
	for name, with := range map[string]func(*ExportOptions){
		"protobuf": func(*ExportOptions) {},
		"JSON":     func(o *ExportOptions) { o.Protobuf = false },
		"gzip":     func(o *ExportOptions) { o.Gzip = true },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tracesOfARun(t, with)
		})
	}
}

func tracesOfARun(t *testing.T, with func(*ExportOptions)) {
	c := newCollector(t, func(int, http.ResponseWriter) {})
	parent := trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1, 2}, SpanID: trace.SpanID{3, 4}, Remote: true})
	tr := tracerTo(t, c, func(o *ExportOptions) {
		o.Parent = parent
		with(o)
	})
	for _, e := range sample() {
		tr.Event(e)
	}
	check.OK(t, tr.Close())
	id := parent.SpanID()
	names := map[string]string{string(id[:]): "outside"}
	for _, s := range c.spans {
		names[string(s.SpanId)] = s.Name
		if trace.TraceID(s.TraceId) != parent.TraceID() || len(s.SpanId) != 8 || s.Kind != tracepb.Span_SPAN_KIND_INTERNAL || s.StartTimeUnixNano > s.EndTimeUnixNano {
			t.Errorf("got %+v", s)
		}
	}
	var got []string
	for _, s := range c.spans {
		line := names[string(s.ParentSpanId)] + " > " + s.Name + attributes(s.Attributes)
		if s.Status.GetCode() != 0 {
			line += fmt.Sprintf(" status %d: %q", s.Status.Code, s.Status.Message)
		}
		got = append(got, line)
	}
	slices.Sort(got)
	golden.Check(t, "testdata/spans.txt", strings.Join(got, "\n")+"\n")
	check.That(t, !strings.Contains(strings.Join(got, ""), "sk-very"), "a secret is shown")
}

func TestACollectorThatMisbehaves(t *testing.T) {
	t.Parallel()
	drop := func(w http.ResponseWriter) {
		if conn, _, err := http.NewResponseController(w).Hijack(); err == nil {
			conn.Close()
		}
	}
	for name, tc := range map[string]struct {
		answer func(n int, w http.ResponseWriter)
		posts  int
		err    string
	}{
		"busy, then well": {func(n int, w http.ResponseWriter) { w.WriteHeader(map[bool]int{true: 503, false: 200}[n == 1]) }, 2, ""},
		"dropped, then well": {func(n int, w http.ResponseWriter) {
			if n == 1 {
				drop(w)
			}
		}, 2, ""},
		"busy for ever": {func(_ int, w http.ResponseWriter) { w.WriteHeader(503) }, 0, "traces: 1 spans were not sent to 127.0.0.1"},
		"a redirect": {func(_ int, w http.ResponseWriter) {
			w.Header().Set("Location", "/elsewhere")
			w.WriteHeader(307)
		}, 1, "HTTP status 307"},
		"busy for an hour": {func(_ int, w http.ResponseWriter) {
			w.Header().Set("Retry-After", "3600")
			w.WriteHeader(429)
		}, 1, "HTTP status 429"},
		"it refuses one": {func(_ int, w http.ResponseWriter) { // partial_success: rejected_spans, error_message
			_, _ = w.Write([]byte("\x0a\x0a\x08\x01\x12\x06no way"))
		}, 1, ": refused: no way"},
		"it refuses one, in JSON": {func(_ int, w http.ResponseWriter) {
			_, _ = w.Write([]byte(`{"partialSuccess":{"rejectedSpans":"1","errorMessage":"no way"}}`))
		}, 1, ": refused: no way"},
		"it remarks something": {func(_ int, w http.ResponseWriter) { _, _ = w.Write([]byte("\x0a\x04\x12\x02ok")) }, 1, ""},
		"it does not like it":  {func(_ int, w http.ResponseWriter) { w.WriteHeader(400) }, 1, "HTTP status 400"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCollector(t, tc.answer)
			tr := tracerTo(t, c, func(o *ExportOptions) {
				o.Protobuf = !strings.HasSuffix(name, "JSON")
				if tc.err == "" {
					o.Retry = time.Minute // it succeeds, however slow this machine is
				}
			})
			attempts(tr, 1)
			err := tr.Close()
			check.Err(t, "close", tc.err, err)
			check.That(t, c.posts >= tc.posts && (tc.posts != 1 || c.posts == 1), "got %d requests, want at least %d", c.posts, tc.posts)
		})
	}
}

func TestACollectorThatHangsHoldsUpNobody(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	c := newCollector(t, func(int, http.ResponseWriter) { <-release })
	tr := tracerTo(t, c, func(o *ExportOptions) { o.Flush = time.Millisecond })
	attempts(tr, batchSize)
	<-c.each
	attempts(tr, queueSize+1000) // returns at once, or this test never ends
	err := tr.Close()
	check.Err(t, "close", fmt.Sprintf("traces: %d spans were not sent to 127.0.0.1", batchSize+queueSize+1000), err)
	close(release)
}

func TestBatchesAreBounded(t *testing.T) {
	t.Parallel()
	c := newCollector(t, func(int, http.ResponseWriter) {})
	tr := tracerTo(t, c, nil)
	attempts(tr, 3*batchSize+1)
	err := tr.Close()
	check.That(t, err == nil && len(c.spans) == 3*batchSize+1 && c.posts >= 4, "got %d spans in %d requests, %v", len(c.spans), c.posts, err)
}

func TestEnvironment(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		env  map[string]string
		want ExportOptions
		on   bool
		err  string
	}{
		"nothing": {nil, ExportOptions{}, false, ""},
		"an endpoint": {
			map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c:4318/"}, ExportOptions{Endpoint: "http://c:4318/v1/traces"}, true, "",
		},
		"everything": {
			map[string]string{
				"OTEL_EXPORTER_OTLP_ENDPOINT": "http://other", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "https://c/x",
				"OTEL_EXPORTER_OTLP_TIMEOUT": "2500", "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf",
				"OTEL_EXPORTER_OTLP_TRACES_COMPRESSION": "gzip", "OTEL_EXPORTER_OTLP_HEADERS": "a=b", "OTEL_EXPORTER_OTLP_TRACES_HEADERS": "x=a%20b, y =c=d,b c=d,e,f=%zz",
				"TRACEPARENT": "00-" + strings.Repeat("ab", 16) + "-" + strings.Repeat("cd", 8) + "-01",
			},
			ExportOptions{
				Endpoint: "https://c/x", Timeout: 2500 * time.Millisecond, Protobuf: true, Gzip: true, Headers: map[string]string{"x": "a b", "y": "c=d"}, Parent: trace.NewSpanContext(trace.SpanContextConfig{
					TraceID: trace.TraceID(slices.Repeat([]byte{0xab}, 16)), SpanID: trace.SpanID(slices.Repeat([]byte{0xcd}, 8)), TraceFlags: 1, Remote: true,
				}),
			},
			true, "",
		},
		"switched off": {map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c", "OTEL_SDK_DISABLED": "true"}, ExportOptions{}, false, ""},
		"another kind": {map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c", "OTEL_TRACES_EXPORTER": "none"}, ExportOptions{}, false, ""},
		"another way":  {map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, ExportOptions{}, false, "ralph supports http/json and http/protobuf"},
		"no address":   {map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "c:4318"}, ExportOptions{}, false, "the OTLP endpoint: "},
	} {
		got, on, err := FromEnvironment(func(name string) string { return tc.env[name] })
		check.Err(t, name, tc.err, err)
		check.Equal(t, name, tc.on, on)
		same := got.Endpoint == tc.want.Endpoint && got.Timeout == tc.want.Timeout && got.Parent.Equal(tc.want.Parent) && got.Protobuf == tc.want.Protobuf &&
			got.Gzip == tc.want.Gzip && maps.Equal(got.Headers, tc.want.Headers)
		check.That(t, !on || same, "%s: got %+v, want %+v", name, got, tc.want)
	}
}

// TestEventsOutOfOrderDoNoHarm: a run that is taken up may begin in the middle.
func TestEventsOutOfOrderDoNoHarm(t *testing.T) {
	t.Parallel()
	c := newCollector(t, func(int, http.ResponseWriter) {})
	tr := tracerTo(t, c, nil)
	m := NewMetrics(func(data []byte) error { checkMetrics(t, string(data)); return nil })
	l := NewLog(LogOptions{Out: io.Discard, Hide: hide})
	list := sample()
	slices.Reverse(list)
	for range 2 {
		for _, e := range list {
			tr.Event(e)
			m.Event(e)
			l.Event(e)
		}
	}
	check.OK(t, tr.Close())
}

func TestASpanSaysThatItsCostIsUnknown(t *testing.T) {
	t.Parallel()
	c := newCollector(t, func(int, http.ResponseWriter) {})
	tr := tracerTo(t, c, nil)
	tr.Event(event.Event{Type: event.TaskClaimed, Attempt: "1"})
	tr.Event(event.Event{Type: event.AttemptEnded, Attempt: "1", Usage: &event.Usage{Unknown: true}})
	check.OK(t, tr.Close())
	check.That(t, len(c.spans) == 1 && strings.Contains(attributes(c.spans[0].Attributes), " ralph.cost_unknown=true"), "got %v", c.spans)
}
