package inbound_test

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"ralph/dag"
	"ralph/internal/db"
	"ralph/internal/inbound"
	"ralph/internal/project"
	"ralph/internal/testing/check"
	"ralph/internal/testing/emptydb"
)

// GitHub's own example.
const (
	secret    = "It's a Secret to Everybody"
	greeting  = "Hello, World!"
	signature = "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"
)

type server struct {
	t       *testing.T
	hooks   []inbound.Hook
	now     time.Time
	alive   bool
	fails   error
	killed  bool
	handler http.Handler

	mu      sync.Mutex
	did     []string
	logged  []string
	started int64
}

func newServer(t *testing.T, hooks ...inbound.Hook) *server {
	t.Helper()
	path := filepath.Join(t.TempDir(), "progress.db")
	emptydb.Write(t, path)
	d, err := db.Open(t.Context(), path, db.Options{})
	check.OK(t, err)
	t.Cleanup(func() { check.OK(t, d.Close()) })
	s := &server{t: t, hooks: hooks, now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	now := func() time.Time { return s.now }
	s.handler = inbound.New(inbound.Options{
		Hooks: func() []inbound.Hook { return s.hooks }, Update: dag.New(d, dag.Options{Now: now}).Update, Now: now,
		Start: func(_ context.Context, name string, args []string) (dag.Process, error) {
			s.do("run " + name + ": " + strings.Join(args, " "))
			return dag.Process{PID: s.started}, s.fails
		},
		Command: func(_ context.Context, args ...string) (string, error) {
			s.do(fmt.Sprintf("%q", args))
			return "t-00000001\nt-00000002", s.fails
		},
		Life: func(p dag.Process) dag.Life {
			if p.PID == 0 {
				return dag.Unknown
			}
			return map[bool]dag.Life{true: dag.Alive, false: dag.Dead}[s.alive]
		},
		Log: func(text string) { s.mu.Lock(); defer s.mu.Unlock(); s.logged = append(s.logged, text) },
	})
	return s
}

func (s *server) do(what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.did = append(s.did, what)
	if s.started++; s.killed {
		panic(http.ErrAbortHandler)
	}
}

func sign(secret string, parts ...string) string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(strings.Join(parts, "")))
	return "sha256=" + hex.EncodeToString(mac.Sum(nil))
}

// send posts a body to a hook, with pairs of headers, and returns the status and what is answered.
func (s *server) send(name, body string, headers ...string) (status int, answer string) {
	r := httptest.NewRequestWithContext(s.t.Context(), http.MethodPost, "/in/"+name, strings.NewReader(body))
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	func() {
		defer func() { _ = recover() }() // from being killed
		s.handler.ServeHTTP(w, r)
	}()
	return w.Code, strings.TrimSpace(w.Body.String())
}

// github sends as GitHub does, with a signature that is right.
func (s *server) github(name, id, event, body string) (status int, answer string) {
	return s.send(name, body, "X-Hub-Signature-256", sign(secret, body), "X-GitHub-Delivery", id, "X-GitHub-Event", event)
}

func (s *server) expect(what string, status int, answer string, gotStatus int, got string) {
	s.t.Helper()
	check.Equal(s.t, what, fmt.Sprint(status, " ", answer), fmt.Sprint(gotStatus, " ", got))
}

func starts() inbound.Hook {
	return inbound.Hook{InboundConfig: project.InboundConfig{Name: "push", SecretEnv: "PUSH", Run: new(string)}, Secret: []byte(secret), Args: []string{"--feature", "ci"}}
}

func TestGitHubsOwnExample(t *testing.T) {
	t.Parallel()
	s := newServer(t, starts())
	headers := []string{"X-Hub-Signature-256", signature, "X-GitHub-Delivery", "72d3162e", "X-GitHub-Event", "push"}
	status, answer := s.send("push", greeting, headers...)
	s.expect("first", 202, `{"id":"72d3162e","did":"started ralph run"}`, status, answer)
	check.Equal(t, "did", []string{"run push: --feature ci"}, s.did)
}

// TestReplaysAreRefused by the delivery's ID, and under a forged one by the signature, for ever; the same
// request to another hook is another one only if it was signed for that.
func TestReplaysAreRefused(t *testing.T) {
	t.Parallel()
	other := starts()
	other.Name, other.Secret = "other", []byte("another secret")
	s := newServer(t, starts(), other)
	status, answer := s.github("push", "1", "push", `{"n":1}`)
	s.expect("first", 202, `{"id":"1","did":"started ralph run"}`, status, answer)
	for what, id := range map[string]string{"the same": "1", "with a forged ID": "2"} {
		status, answer = s.github("push", id, "push", `{"n":1}`)
		s.expect(what, 409, `{"id":"`+id+`","error":"it was delivered already"}`, status, answer)
	}
	status, _ = s.github("push", "1", "push", `{"n":2}`)
	check.Equal(t, "another body under a known ID", 409, status)
	status, _ = s.github("other", "3", "push", `{"n":1}`)
	check.Equal(t, "at a hook with another secret", 401, status)
	s.now = s.now.Add(10 * 365 * 24 * time.Hour)
	status, _ = s.github("push", "4", "push", `{"n":1}`)
	check.Equal(t, "after ten years", 409, status)
	check.Equal(t, "did", 1, len(s.did))
}

// TestManyAtOnce: of equal requests one counts, and of different ones one starts a run.
func TestManyAtOnce(t *testing.T) {
	t.Parallel()
	s := newServer(t, starts())
	s.alive = true
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() { s.github("push", fmt.Sprint(i), "push", fmt.Sprintf(`{"n":%d}`, i%5)) })
	}
	all.Wait()
	check.Equal(t, "did", []string{"run push: --feature ci"}, s.did)
	status, answer := s.github("push", "busy", "push", `{"n":9}`)
	s.expect("while the run is at work", 503, `{"id":"busy","error":"the run of an earlier request is still at work; send it again later"}`, status, answer)
	s.alive = false
	status, _ = s.github("push", "busy", "push", `{"n":9}`)
	check.Equal(t, "the same when the first is over", 202, status)
	check.Equal(t, "runs", 2, len(s.did))
}

func TestStrangersAreRefused(t *testing.T) {
	t.Parallel()
	body := `{"n":1}`
	good := sign(secret, body)
	tests := map[string][]string{
		"no signature":           {"X-GitHub-Delivery", "1"},
		"another secret":         {"X-Hub-Signature-256", sign("guess", body), "X-GitHub-Delivery", "1"},
		"another body":           {"X-Hub-Signature-256", sign(secret, body+" "), "X-GitHub-Delivery", "1"},
		"SHA-1":                  {"X-Hub-Signature", "sha1=00", "X-GitHub-Delivery", "1"},
		"no prefix":              {"X-Hub-Signature-256", strings.TrimPrefix(good, "sha256="), "X-GitHub-Delivery", "1"},
		"half a signature":       {"X-Hub-Signature-256", good[:20], "X-GitHub-Delivery", "1"},
		"no hexadecimal":         {"X-Hub-Signature-256", "sha256=zz", "X-GitHub-Delivery", "1"},
		"no delivery":            {"X-Hub-Signature-256", good},
		"the plain way":          {"X-Ralph-Timestamp", "1767323045", "X-Ralph-Signature", sign(secret, "1767323045.", body)},
		"an empty one":           {"X-Hub-Signature-256", "sha256=", "X-GitHub-Delivery", "1"},
		"a signature of nothing": {"X-Hub-Signature-256", sign("", body), "X-GitHub-Delivery", "1"},
	}
	for name, headers := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newServer(t, starts())
			status, answer := s.send("push", body, headers...)
			s.expect("answer", 401, `{"error":"the signature is missing or wrong"}`, status, answer)
			wrong := answer
			status, answer = s.send("nobody", body, headers...)
			s.expect("a name that there is none of", 401, wrong, status, answer)
			check.Equal(t, "did", []string(nil), s.did)
			check.Equal(t, "lines in the log", 2, len(s.logged))
			check.Contains(t, "the log", "inbound nobody: there is no hook of that name", s.logged[1])
		})
	}
}

// TestStrangersDoNotFillTheLog: after ten lines a minute there is one that counts the rest. What was signed is always logged.
func TestStrangersDoNotFillTheLog(t *testing.T) {
	t.Parallel()
	s := newServer(t, starts())
	for range 100 {
		s.send("zzz", "x")
	}
	check.Equal(t, "lines", 10, len(s.logged))
	s.fails = errors.New("no such program")
	s.github("push", "1", "push", `{"n":1}`)
	check.Equal(t, "the last line", "inbound push: no such program", s.logged[len(s.logged)-1])
	s.now = s.now.Add(time.Minute)
	s.send("zzz", "x")
	check.Equal(t, "a minute later", []string{"inbound: 90 more requests refused", "inbound zzz: there is no hook of that name"}, s.logged[11:])
}

func TestPlainSignatures(t *testing.T) {
	t.Parallel()
	hook := starts()
	hook.Format = "plain"
	s := newServer(t, hook)
	send := func(at time.Time, body string) int {
		stamp := fmt.Sprint(at.Unix())
		status, _ := s.send("push", body, "X-Ralph-Timestamp", stamp, "X-Ralph-Signature", sign(secret, stamp, ".", body))
		return status
	}
	check.Equal(t, "now", 202, send(s.now, "a"))
	check.Equal(t, "again", 409, send(s.now, "a"))
	check.Equal(t, "a second later", 202, send(s.now.Add(time.Second), "a"))
	check.Equal(t, "five minutes off", 202, send(s.now.Add(-5*time.Minute), "b"))
	check.Equal(t, "more than that", 401, send(s.now.Add(-5*time.Minute-time.Second), "c"))
	check.Equal(t, "in the future", 401, send(s.now.Add(time.Hour), "d"))
	status, _ := s.send("push", "e", "X-Ralph-Timestamp", "1767323046", "X-Ralph-Signature", sign(secret, "1767323045.", "e"))
	check.Equal(t, "another time than was signed", 401, status)
}

// endless is a body that counts what is read of it.
type endless struct{ read int }

func (e *endless) Read(p []byte) (int, error) {
	e.read += len(p)
	return len(p), nil
}

func TestALargeRequest(t *testing.T) {
	t.Parallel()
	s := newServer(t, starts())
	for what, length := range map[string]int64{"that says so": 10 << 20, "that does not": -1} {
		body := &endless{}
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/in/push", io.NopCloser(body))
		r.ContentLength = length
		w := httptest.NewRecorder()
		s.handler.ServeHTTP(w, r)
		check.Equal(t, what, 413, w.Code)
		check.That(t, body.read <= 1<<20+512, "%s: %d bytes were read", what, body.read)
	}
	largest := strings.Repeat("x", 1<<20)
	status, _ := s.github("push", "1", "push", largest)
	check.Equal(t, "of 1 MiB", 202, status)
}

func TestOtherMethodsAndNoSecret(t *testing.T) {
	t.Parallel()
	hook := starts()
	hook.Secret = nil
	s := newServer(t, hook)
	status, _ := s.send("push", "x", "X-Hub-Signature-256", sign("", "x"), "X-GitHub-Delivery", "1")
	check.Equal(t, "without a secret", 503, status)
	w := httptest.NewRecorder()
	s.handler.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/in/push", nil))
	check.Equal(t, "GET", 405, w.Code)
	twin := starts()
	twin.Name = "twin"
	check.Equal(t, "problems", []string{
		"inbound push: PUSH is not set, so it accepts nothing",
		"inbound twin has the secret of another, so who has recorded a request to one can send it to both; give each its own",
	}, inbound.Problems([]inbound.Hook{hook, starts(), twin}))
}

func bugs() inbound.Hook {
	return inbound.Hook{Secret: []byte(secret), InboundConfig: project.InboundConfig{
		Name: "bugs", Events: []string{"issues.opened", "push"}, Template: "bug-fix", Feature: "bugs",
		Vars: map[string]string{"test": "make test"}, Set: map[string]string{"bug": "issue.title", "number": "issue.number", "label": "issue.labels.0.name"},
	}}
}

func TestATemplate(t *testing.T) {
	t.Parallel()
	s := newServer(t, bugs())
	status, answer := s.github("bugs", "0", "ping", `{"zen":"Keep it logically awesome."}`)
	s.expect("ping", 200, `{"id":"0","did":"nothing: it is there"}`, status, answer)
	status, answer = s.github("bugs", "1", "issues", `{"action":"closed","issue":{"title":"x"}}`)
	s.expect("another event", 200, `{"id":"1","did":"nothing: it is not one of the events that count"}`, status, answer)
	hostile := "--feature=evil\u0000 \u001b[31m$(rm -rf ~)\\n```sh\\nid\\n```"
	hostile = strings.NewReplacer("\u0000", `\u0000`, "\u001b", `\u001b`).Replace(hostile)
	status, answer = s.github("bugs", "2", "issues", `{"action":"opened","issue":{"title":"`+hostile+`","number":17,"labels":[{"name":"bug"}]}}`)
	s.expect("an issue", 202, `{"id":"2","did":"t-00000001, t-00000002"}`, status, answer)
	check.Equal(t, "did", []string{
		`["template" "apply" "--feature=bugs" "--var=test=make test" "--text=bug=feature=evil [31m$(rm -rf ~) '''sh id '''" "--text=label=bug" "--text=number=17" "--" "bug-fix"]`,
	}, s.did)
	for what, body := range map[string]string{
		"no JSON":   `payload=%7B%7D`,
		"no title":  `{"action":"opened","issue":{"number":17,"labels":[{"name":"x"}]}}`,
		"an object": `{"action":"opened","issue":{"title":{},"number":17,"labels":[{"name":"x"}]}}`,
		"no labels": `{"action":"opened","issue":{"title":"a","number":17,"labels":[]}}`,
		"a list":    `[{"action":"opened"}]`,
		"no text":   `{"issue":{"title":"","number":17,"labels":[{"name":"x"}]}}`,
		"dashes":    `{"issue":{"title":"-- -","number":17,"labels":[{"name":"x"}]}}`,
		"more":      `{"issue":{"title":"a","number":17,"labels":[{"name":"x"}]}} garbage`,
		"twice":     `{"issue":{"title":"a","number":17,"labels":[{"name":"x"}]}}{}`,
	} {
		status, _ = s.github("bugs", what, "push", body)
		check.That(t, status == 400 || status == 422, "%s: status %d", what, status)
	}
	long := strings.Repeat("é", 5000)
	status, _ = s.github("bugs", "3", "push", `{"issue":{"title":"`+long+`","number":-1,"labels":[{"name":"x"}]}}`)
	check.Equal(t, "a long title", 202, status)
	check.That(t, len(s.did) == 2 && len(s.did[1]) < 2300 && strings.Contains(s.did[1], "number=1"), "got %s", s.did)
}

// TestKilledInBetween: what was begun is not done again; what failed may be sent again.
func TestKilledInBetween(t *testing.T) {
	t.Parallel()
	s := newServer(t, starts())
	s.killed = true
	s.github("push", "1", "push", `{"n":1}`)
	s.killed = false
	status, _ := s.github("push", "1", "push", `{"n":1}`)
	check.Equal(t, "again after a kill", 409, status)
	check.Equal(t, "did", 1, len(s.did))

	s.fails = errors.New("no such program")
	s.now = s.now.Add(time.Hour)
	status, answer := s.github("push", "2", "push", `{"n":2}`)
	s.expect("a failure", 500, `{"id":"2","error":"it could not be done; the server's log says why"}`, status, answer)
	check.Contains(t, "the log", "inbound push: no such program", strings.Join(s.logged, "\n"))
	s.fails = nil
	status, _ = s.github("push", "2", "push", `{"n":2}`)
	check.Equal(t, "again after a failure", 202, status)
}

func FuzzRequests(f *testing.F) {
	f.Add("push", []byte(greeting), signature, "1", "push")
	f.Add("bugs", []byte(`{"issue":{"title":"x"}}`), "sha256=", "", "issues")
	f.Fuzz(func(t *testing.T, name string, body []byte, given, id, event string) {
		if strings.ContainsAny(name, "/?#% \x00") || name == "" || name == "." || name == ".." {
			return
		}
		s := newServer(t, starts(), bugs())
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/in/x", bytes.NewReader(body))
		r.URL.Path = "/in/" + name
		r.Header.Set("X-Hub-Signature-256", given)
		r.Header.Set("X-GitHub-Delivery", id)
		r.Header.Set("X-GitHub-Event", event)
		w := httptest.NewRecorder()
		s.handler.ServeHTTP(w, r)
		genuine := given == sign(secret, string(body))
		check.That(t, genuine || len(s.did) == 0, "a forged request did %v", s.did)
	})
}
