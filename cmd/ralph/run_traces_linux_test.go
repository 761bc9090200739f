package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"ralph/internal/testing/check"
	"ralph/internal/testing/fakeagent"
)

// TestARunSendsTraces to a collector, with the headers that it wants.
func TestARunSendsTraces(t *testing.T) {
	t.Parallel()
	type spans struct {
		ResourceSpans []struct {
			Resource   json.RawMessage
			ScopeSpans []struct {
				Spans []struct{ Name, SpanID, ParentSpanID string }
			}
		}
	}
	var mu sync.Mutex
	names, parents := map[string]string{}, map[string]string{}
	collector := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var s spans
		if err := json.NewDecoder(r.Body).Decode(&s); err != nil || r.Header.Get("Api-Key") != "a b" || r.URL.Path != "/v1/traces" {
			t.Errorf("%v, %v, %s", err, r.Header, r.URL.Path)
		}
		if got := string(s.ResourceSpans[0].Resource); !strings.Contains(got, `"mine"`) || !strings.Contains(got, `"team"`) {
			t.Errorf("the resource is %s", got)
		}
		mu.Lock()
		defer mu.Unlock()
		for _, span := range s.ResourceSpans[0].ScopeSpans[0].Spans {
			names[span.SpanID], parents[span.SpanID] = span.Name, span.ParentSpanID
		}
	}))
	defer collector.Close()
	p := newPlace(t, say(fakeagent.Step{Do: "tool", Text: "look", Kind: "read", Status: "completed"}, saysDone()), "[verify]\ncommands = ['true']\n")
	p.env = append(p.env, "OTEL_EXPORTER_OTLP_ENDPOINT="+collector.URL, "OTEL_EXPORTER_OTLP_HEADERS=api-key=a%20b",
		"OTEL_SERVICE_NAME=mine", "OTEL_RESOURCE_ATTRIBUTES=service.name=theirs,team=a")
	p.plan(t, "one")
	p.want(t, 0, "run")
	mu.Lock()
	defer mu.Unlock()
	var got []string
	for id, name := range names {
		got = append(got, fmt.Sprintf("%s in %q", name, names[parents[id]]))
	}
	slices.Sort(got)
	want := []string{`attempt in "ralph run"`, `ralph run in ""`, `tool read in "attempt"`, `verify gate in "attempt"`, `verify gate in "attempt"`}
	check.Equal(t, "result", want, got)
}
