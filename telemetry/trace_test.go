package telemetry

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ralph/event"
	"ralph/internal/testing/golden"
)

// collector is a server that takes only what OTLP allows.
type collector struct {
	*httptest.Server
	mu    sync.Mutex
	spans []spanJSON
	posts int
	each  chan struct{}
}

// body is the shape of an export; nothing else may be in it.
type body struct {
	ResourceSpans []struct {
		Resource   struct{ Attributes []attribute }
		ScopeSpans []struct {
			Scope struct{ Name, Version string }
			Spans []spanJSON
		}
	}
}

func newCollector(t *testing.T, answer func(n int, w http.ResponseWriter)) *collector {
	t.Helper()
	c := &collector{each: make(chan struct{}, 1000)}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		dec := json.NewDecoder(r.Body)
		dec.DisallowUnknownFields()
		var b body
		if err := dec.Decode(&b); err != nil || r.Method != http.MethodPost || r.URL.Path != "/v1/traces" || r.Header.Get("Content-Type") != "application/json" {
			t.Errorf("%s %s %s: %v", r.Method, r.URL.Path, r.Header.Get("Content-Type"), err)
		}
		_, _ = io.Copy(io.Discard, r.Body)
		c.mu.Lock()
		c.posts++
		n := c.posts
		for _, rs := range b.ResourceSpans {
			if diff := cmp.Diff([]attribute{{"service.name", map[string]any{"stringValue": "ralph"}}}, rs.Resource.Attributes); diff != "" {
				t.Error(diff)
			}
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

func exportTo(c *collector) ExportOptions {
	return ExportOptions{
		Endpoint: c.URL + "/v1/traces", Resource: map[string]string{"service.name": "ralph"}, Version: "1",
		Backoff: time.Millisecond, Flush: time.Minute, Timeout: time.Minute,
	}
}

func TestTracesOfARun(t *testing.T) {
	t.Parallel()
	c := newCollector(t, func(int, http.ResponseWriter) {})
	opts := exportTo(c)
	opts.Trace, opts.Parent = strings.Repeat("ab", 16), strings.Repeat("cd", 8)
	tr := NewTracer(NewExporter(opts), hide)
	for _, e := range sample() {
		tr.Event(e)
	}
	if err := tr.Close(); err != nil {
		t.Fatal(err)
	}
	names := map[string]string{opts.Parent: "outside"}
	for _, s := range c.spans {
		names[s.ID] = s.Name
		if s.Trace != opts.Trace || len(s.ID) != 16 || s.Kind != 1 || s.Start > s.End || len(s.Start) != 19 {
			t.Errorf("got %+v", s)
		}
	}
	var got []string
	for _, s := range c.spans {
		line := names[s.Parent] + " > " + s.Name
		for _, a := range s.Attributes {
			line += fmt.Sprintf(" %s=%v", a.Key, anyOf(a.Value))
		}
		if s.Status.Code != 0 {
			line += fmt.Sprintf(" status %d: %q", s.Status.Code, s.Status.Message)
		}
		got = append(got, line)
	}
	slices.Sort(got)
	golden.Check(t, "testdata/spans.txt", strings.Join(got, "\n")+"\n")
	if strings.Contains(strings.Join(got, ""), "sk-very") {
		t.Error("a secret is told")
	}
}

func anyOf(value map[string]any) any {
	for _, v := range value {
		return v
	}
	return nil
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
		"busy for ever":       {func(_ int, w http.ResponseWriter) { w.WriteHeader(503) }, 3, "traces: 1 spans were not sent to 127.0.0.1"},
		"it does not like it": {func(_ int, w http.ResponseWriter) { w.WriteHeader(400) }, 1, "it answers with status 400"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCollector(t, tc.answer)
			x := NewExporter(exportTo(c))
			x.box.Put(span{name: "x"})
			err := x.Close()
			if c.posts != tc.posts || tc.err == "" && err != nil || tc.err != "" && (err == nil || !strings.Contains(err.Error(), tc.err)) {
				t.Errorf("got %d requests and %v, want %d and %q", c.posts, err, tc.posts, tc.err)
			}
		})
	}
}

func TestACollectorThatHangsHoldsUpNobody(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	c := newCollector(t, func(int, http.ResponseWriter) { <-release })
	opts := exportTo(c)
	opts.Size, opts.Batch, opts.Flush = 10, 4, time.Millisecond
	x := NewExporter(opts)
	for range 4 {
		x.box.Put(span{name: "x"})
	}
	<-c.each
	for range 100 {
		x.box.Put(span{name: "x"}) // returns at once, or this test never ends
	}
	err := x.Close()
	if err == nil || !strings.Contains(err.Error(), "traces: 104 spans were not sent") || !strings.Contains(err.Error(), "too many were waiting") {
		t.Errorf("got %v", err)
	}
	close(release)
}

func TestBatchesAreBounded(t *testing.T) {
	t.Parallel()
	c := newCollector(t, func(int, http.ResponseWriter) {})
	opts := exportTo(c)
	opts.Batch = 3
	x := NewExporter(opts)
	for range 10 {
		x.box.Put(span{name: "x"})
	}
	if err := x.Close(); err != nil || len(c.spans) != 10 || c.posts < 4 {
		t.Errorf("got %d spans in %d requests, %v", len(c.spans), c.posts, err)
	}
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
			map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c:4318/"},
			ExportOptions{Endpoint: "http://c:4318/v1/traces", Headers: map[string]string{}, Resource: map[string]string{"service.name": "ralph"}},
			true, "",
		},
		"everything": {
			map[string]string{
				"OTEL_EXPORTER_OTLP_ENDPOINT": "http://other", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "https://c/x", "OTEL_EXPORTER_OTLP_HEADERS": "api-key=a%20b, x=y=z,,nonsense",
				"OTEL_SERVICE_NAME": "mine", "OTEL_RESOURCE_ATTRIBUTES": "service.name=theirs,team=a", "OTEL_EXPORTER_OTLP_TIMEOUT": "2500",
				"OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf", "TRACEPARENT": "00-" + strings.Repeat("ab", 16) + "-" + strings.Repeat("cd", 8) + "-01",
			},
			ExportOptions{
				Endpoint: "https://c/x", Headers: map[string]string{"api-key": "a b", "x": "y=z"}, Resource: map[string]string{"service.name": "mine", "team": "a"},
				Timeout: 2500 * time.Millisecond, Trace: strings.Repeat("ab", 16), Parent: strings.Repeat("cd", 8),
			},
			true, "",
		},
		"switched off": {map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c", "OTEL_SDK_DISABLED": "true"}, ExportOptions{}, false, ""},
		"another kind": {map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c", "OTEL_TRACES_EXPORTER": "none"}, ExportOptions{}, false, ""},
		"another way":  {map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, ExportOptions{}, false, "ralph speaks http/json only"},
		"no address":   {map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "c:4318"}, ExportOptions{}, false, "the OTLP endpoint: "},
	} {
		got, on, err := FromEnvironment(func(name string) string { return tc.env[name] })
		if on != tc.on || tc.err == "" && err != nil || tc.err != "" && (err == nil || !strings.Contains(err.Error(), tc.err)) {
			t.Errorf("%s: got %v, %v", name, on, err)
		}
		if diff := cmp.Diff(tc.want, got, cmp.Comparer(func(a, b ExportOptions) bool {
			return a.Endpoint == b.Endpoint && cmp.Equal(a.Headers, b.Headers) && cmp.Equal(a.Resource, b.Resource) && a.Timeout == b.Timeout && a.Trace == b.Trace && a.Parent == b.Parent
		})); on && diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// TestEventsOutOfOrderDoNoHarm: a run that is taken up may begin in the middle.
func TestEventsOutOfOrderDoNoHarm(t *testing.T) {
	t.Parallel()
	c := newCollector(t, func(int, http.ResponseWriter) {})
	tr := NewTracer(NewExporter(exportTo(c)), nil)
	m := NewMetrics(func(data []byte) error { checkMetrics(t, string(data)); return nil })
	l := NewLog(LogOptions{Out: io.Discard})
	list := sample()
	slices.Reverse(list)
	for range 2 {
		for _, e := range list {
			tr.Event(e)
			m.Event(e)
			l.Event(e)
		}
	}
	if err := tr.Close(); err != nil {
		t.Error(err)
	}
}

func TestASpanSaysThatItsCostIsUnknown(t *testing.T) {
	t.Parallel()
	c := newCollector(t, func(int, http.ResponseWriter) {})
	tr := NewTracer(NewExporter(exportTo(c)), nil)
	tr.Event(event.Event{Type: event.TaskClaimed, Attempt: "1"})
	tr.Event(event.Event{Type: event.AttemptEnded, Attempt: "1", Usage: &event.Usage{Unknown: true}})
	if err := tr.Close(); err != nil {
		t.Fatal(err)
	}
	want := attribute{"ralph.cost_unknown", map[string]any{"boolValue": true}}
	if len(c.spans) != 1 || !slices.ContainsFunc(c.spans[0].Attributes, func(a attribute) bool { return cmp.Equal(a, want) }) {
		t.Errorf("got %+v, want %+v", c.spans, want)
	}
}
