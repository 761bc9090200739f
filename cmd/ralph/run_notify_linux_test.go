package main

import (
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"ralph/internal/testing/check"
	"ralph/internal/testing/fakeagent"
)

// TestARunTellsPeople has a webhook whose address is a secret, one that hangs, a
// command, and one that cannot be used: all of it costs the run nothing.
func TestARunTellsPeople(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var got []string
	works := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		defer mu.Unlock()
		got = append(got, r.URL.Path+" "+string(body))
	}))
	defer works.Close()
	release := make(chan struct{})
	hangs := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-release }))
	defer hangs.Close()
	defer close(release)
	p := newPlace(t, fakeagent.Script{Conversations: []fakeagent.Conversation{
		{When: fakeagent.When{Task: "t-00000002"}, Steps: []step{{Do: "say", Text: "<task-failed>t-00000002: sk-verysecret is refused by " + hangs.URL + "/hanging-s3cr3t</task-failed>\n"}}},
	}}, fmt.Sprintf(`
[[notify]]
on = ["run_end", "task_failed"]
webhook = "${HOOK}"
[[notify]]
on = ["task_failed"]
webhook = "%s/hanging-s3cr3t"
[[notify]]
on = ["blocked"]
command = "cat > blocked.json"
[[notify]]
webhook = "${NOT_SET}"
`, hangs.URL))
	p.env = append(p.env, "HOOK="+works.URL+"/s3cr3t-path", "SOME_API_KEY=sk-verysecret")
	p.plan("one", "two sk-verysecret", "three")
	p.want(0, "task", "deps", "add", "t-00000002", "t-00000003")
	out := p.want(2, "run")
	mu.Lock()
	defer mu.Unlock()
	if len(got) != 2 || !strings.Contains(got[0], "task failed: two [redacted]") || !strings.Contains(got[1], `: blocked\n`) {
		t.Errorf("got %q, want the failed task and the end", got)
	}
	for _, body := range got {
		if !strings.HasPrefix(body, `/s3cr3t-path {"text":"ralph: `) || strings.Contains(body, "sk-verysecret") || strings.Contains(body, "hanging-s3cr3t") {
			t.Errorf("got %s", body)
		}
	}
	p.holds("blocked.json", `"event":"blocked"`)
	out.inStderr("warning: notify.4: webhook: ${NOT_SET} is not set: nothing is sent there",
		"warning: notify: webhook "+strings.TrimPrefix(hangs.URL, "http://")+": 1 of 1 notification did not go out: no answer yet")
	for line := range strings.Lines(out.stderr) {
		if strings.HasPrefix(line, "warning: ") && strings.Contains(line, "s3cr3t") {
			t.Errorf("an address is printed: %s", line)
		}
	}
	if shown := p.want(0, "config", "show"); strings.Contains(shown.stdout, "s3cr3t") || !strings.Contains(shown.stdout, "notify.3") {
		t.Errorf("got %s", shown.stdout)
	}
}

// TestAWebhookGoesThroughTheProxyOfTheEnvironment, which here answers in place of the
// server: that one has no address.
func TestAWebhookGoesThroughTheProxyOfTheEnvironment(t *testing.T) {
	t.Parallel()
	asked := make(chan string, 8)
	proxy := httptest.NewTLSServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { asked <- r.Method + " " + r.RequestURI }))
	defer proxy.Close()
	roots := filepath.Join(t.TempDir(), "roots.pem")
	check.OK(t, os.WriteFile(roots, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: proxy.Certificate().Raw}), 0o600))
	p := newPlace(t, fakeagent.Script{}, "[[notify]]\non = ['run_end']\nwebhook = 'http://hooks.example/x'\n")
	p.env = append(p.env, "HTTP_PROXY="+proxy.URL, "SSL_CERT_FILE="+roots)
	p.plan("one")
	out := p.want(0, "run")
	select {
	case got := <-asked:
		if got != "POST http://hooks.example/x" {
			t.Errorf("got %s", got)
		}
	default:
		t.Errorf("the proxy was not asked: %s", out.stderr)
	}
}

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
	p := newPlace(t, say(step{Do: "tool", Text: "look", Kind: "read", Status: "completed"}, saysDone()), "[verify]\ncommands = ['true']\n")
	p.env = append(p.env, "OTEL_EXPORTER_OTLP_ENDPOINT="+collector.URL, "OTEL_EXPORTER_OTLP_HEADERS=api-key=a%20b",
		"OTEL_SERVICE_NAME=mine", "OTEL_RESOURCE_ATTRIBUTES=service.name=theirs,team=a")
	p.plan("one")
	p.want(0, "run")
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
