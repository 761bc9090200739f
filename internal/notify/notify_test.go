package notify

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"ralph/internal/event"
	"ralph/internal/proc"
	"ralph/internal/testing/check"
)

func TestMain(m *testing.M) {
	proc.RunHelper(nil)
	goleak.VerifyTestMain(m)
}

var at = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func failed(n int) event.Event {
	return event.Event{
		Type: event.AttemptEnded, At: at, Run: "r-1", Task: fmt.Sprintf("t-%d", n), Title: fmt.Sprintf("Task %d", n), Status: "failed", Outcome: "failed",
		Reason: "gate \"make\": exit status 2\nmuch more",
	}
}

func ended(outcome event.RunOutcome, counts event.Counts) event.Event {
	cost := 1.2
	return event.Event{
		Type: event.RunEnded, At: at, Run: "r-1", Outcome: string(outcome), Reason: "why", Counts: &counts, Duration: 61_000, Usage: &event.Usage{CostUSD: &cost},
	}
}

// hook is a webhook that keeps what it was sent.
type hook struct {
	*httptest.Server
	mu   sync.Mutex
	got  []string
	each chan struct{} // one for each request, after it was kept
}

// newHook answers with what answer says for the nth request.
func newHook(t *testing.T, answer func(n int, w http.ResponseWriter)) *hook {
	t.Helper()
	h := &hook{each: make(chan struct{}, 1000)}
	h.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var v map[string]string
		err := json.Unmarshal(body, &v)
		check.That(t, err == nil && len(v) == 1, "got %s: no Slack would take it", body)
		h.mu.Lock()
		h.got = append(h.got, v["text"])
		n := len(h.got)
		h.mu.Unlock()
		h.each <- struct{}{}
		answer(n, w)
	}))
	t.Cleanup(h.Close)
	return h
}

func (h *hook) texts() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return append([]string(nil), h.got...)
}

func plainNews() News { return News{Project: "shop", Hide: func(s string) string { return s }} }

func quick(targets ...Target) Options {
	return Options{Targets: targets, Project: "shop", Backoff: time.Millisecond, Flush: time.Minute, Timeout: time.Minute, Env: os.Environ(), Hide: strings.Clone}
}

// deliver sends the notifications of events, and returns what closing says.
func deliver(opts Options, events ...event.Event) error {
	n := New(opts)
	for _, e := range events {
		n.Event(e)
	}
	return n.Close()
}

func TestMessages(t *testing.T) {
	t.Parallel()
	until := at.Add(time.Hour)
	for name, tc := range map[string]struct {
		event event.Event
		kinds []string
		want  string
	}{
		"a task failed": {
			failed(1),
			[]string{"task_failed"},
			"ralph: shop: task failed: Task 1\ngate \"make\": exit status 2\nnext: ralph logs t-1",
		},
		"a task is tried again":    {event.Event{Type: event.AttemptEnded, Status: "pending", Outcome: "retried"}, nil, ""},
		"a run waits":              {event.Event{Type: event.Waiting, Reason: "rate limited", Until: &until}, []string{"waiting"}, "ralph: shop: waiting until 04:04:05 UTC\nrate limited"},
		"a run waits for somebody": {event.Event{Type: event.Waiting, Reason: "paused"}, []string{"waiting"}, "ralph: shop: waiting\npaused"},
		"nobody could answer": {
			event.Event{Type: event.AgentAsked, Task: "t-1", Text: "rm -rf", Outcome: "cancelled"},
			[]string{"needs_input"},
			"ralph: shop: needs input\nthe agent asked for what nobody could answer: rm -rf\nnext: ralph logs t-1",
		},
		"a question": {
			event.Event{Type: event.Asked, Task: "t-1", Title: "Parser", Text: "Tabs?", Command: "ralph inbox answer q-1", Question: &event.Question{Options: []string{"yes", "no"}}},
			[]string{"question"},
			"ralph: shop: question of t-1: Parser\nTabs?\noptions: yes, no\nnext: ralph inbox answer q-1",
		},
		"a question of an earlier run": {
			event.Event{Type: event.Asked, Task: "t-1", Text: "Tabs?", Command: "ralph inbox answer q-1", Question: &event.Question{Again: true}},
			[]string{"question"},
			"ralph: shop: asked again by t-1\nTabs?\nnext: ralph inbox answer q-1",
		},
		"the policy answered": {event.Event{Type: event.AgentAsked, Outcome: "allow_once"}, nil, ""},
		"text of an agent":    {event.Event{Type: event.AgentText, Text: "x"}, nil, ""},
		"complete":            {ended(event.OutcomeComplete, event.Counts{Done: 3, Total: 3}), []string{"run_end"}, "ralph: shop: complete\nwhy\n3 done, 0 failed, 0 remaining of 3 tasks in 1m01s, $1.20\nnext: ralph report r-1"},
		"complete with failures": {
			ended(event.OutcomeComplete, event.Counts{Done: 2, Failed: 1, Total: 3}),
			[]string{"run_end"},
			"ralph: shop: complete, with 1 failed task\nwhy\n2 done, 1 failed, 0 remaining of 3 tasks in 1m01s, $1.20\nnext: ralph report r-1",
		},
		"blocked":     {ended(event.OutcomeBlocked, event.Counts{}), []string{"blocked", "run_end"}, "ralph: shop: blocked\nwhy\n0 done, 0 failed, 0 remaining of 0 tasks in 1m01s, $1.20\nnext: ralph report r-1"},
		"a limit":     {ended(event.OutcomeLimit, event.Counts{}), []string{"budget", "run_end"}, "ralph: shop: a limit was reached\nwhy\n0 done, 0 failed, 0 remaining of 0 tasks in 1m01s, $1.20\nnext: ralph report r-1"},
		"no agent":    {event.Event{Type: event.RunEnded, Run: "r-1", Outcome: "agent_unavailable", Reason: "log in"}, []string{"needs_input", "run_end"}, "ralph: shop: no usable agent\nlog in\nnext: ralph report r-1"},
		"interrupted": {event.Event{Type: event.RunEnded, Run: "r-1", Outcome: "interrupted"}, []string{"run_end"}, "ralph: shop: interrupted\nnext: ralph report r-1"},
	} {
		n := plainNews()
		m, needed := n.Of(tc.event)
		check.Equal(t, name, tc.kinds, tc.event.Notices())
		if needed {
			check.Equal(t, name, tc.want, m.Text)
		}
	}
}

func TestTheEndOfARunNamesWhatFailed(t *testing.T) {
	t.Parallel()
	n := plainNews()
	for i := range 8 {
		n.Of(failed(i))
	}
	m, _ := n.Of(ended(event.OutcomeBlocked, event.Counts{Failed: 8, Total: 8}))
	check.That(t, strings.Count(m.Text, "\nfailed: Task") == 5 && strings.Contains(m.Text, "\nand 3 more\n"), "got\n%s", m.Text)
}

func TestTheEndOfARunNamesAFailedTaskOnce(t *testing.T) {
	t.Parallel()
	n := plainNews()
	n.Of(failed(1))
	n.Of(failed(2))
	n.Of(failed(1)) // it was reset, and failed again
	done := failed(2)
	done.Status, done.Outcome = "done", "done"
	n.Of(done)
	e := ended(event.OutcomeFailure, event.Counts{Done: 1, Failed: 1, Total: 2})
	e.Reason = `t-1 failed: gate "make": exit status 2`
	m, _ := n.Of(e)
	want := "ralph: shop: failure\n1 done, 1 failed, 0 remaining of 2 tasks in 1m01s, $1.20\n" +
		"failed: Task 1 (t-1): gate \"make\": exit status 2\nnext: ralph report r-1"
	check.That(t, m.Text == want && m.Reason == e.Reason, "got\n%s\nwant\n%s", m.Text, want)
}

func TestARecoveryIsOneMessage(t *testing.T) {
	t.Parallel()
	n := plainNews()
	for i := range 6 {
		e := event.Event{Type: event.Recovered, Task: fmt.Sprint("t-", i), Title: fmt.Sprint("Task ", i), Reason: "its run died; released", Outcome: "released"}
		m, needed := n.Of(e)
		check.That(t, !needed, "got %q, want nothing before the summary", m.Text)
	}
	sum := event.Recovery{Runs: 1, RecoveryCounts: event.RecoveryCounts{Released: 6}}
	m, needed := n.Of(event.Event{Type: event.RecoveryDone, Run: "r-1", Recovery: &sum, Reason: sum.String()})
	if !strings.HasPrefix(m.Text, "ralph: shop: recovered\n1 run had died, 6 tasks released\nTask 0 (t-0): its run died; released\nTask 1 ") ||
		!strings.HasSuffix(m.Text, "\nand 1 more\nnext: ralph status") || !needed {
		t.Errorf("got\n%s", m.Text)
	}
	_, needed = n.Of(event.Event{Type: event.RecoveryDone, Recovery: &event.Recovery{}, Reason: "nothing to recover"})
	check.That(t, !needed, "got a message where nothing was recovered")
}

func TestATargetHearsOnlyWhatItAskedForAndOnce(t *testing.T) {
	t.Parallel()
	h := newHook(t, func(int, http.ResponseWriter) {})
	n := New(quick(Target{Webhook: h.URL, On: []string{"run_end", "blocked"}}))
	n.Event(failed(1))
	n.Event(ended(event.OutcomeBlocked, event.Counts{Failed: 1, Total: 1}))
	check.OK(t, n.Close())
	got := h.texts()
	check.That(t, len(got) == 1 && strings.HasPrefix(got[0], "ralph: shop: blocked\n"), "got %q, want one message", got)
	n.Event(failed(2)) // after the end nobody is notified
	check.OK(t, n.Close())
}

func TestHostileTitlesAndSecretsStayBehind(t *testing.T) {
	t.Parallel()
	h := newHook(t, func(int, http.ResponseWriter) {})
	opts := quick(Target{Webhook: h.URL})
	opts.Hide = func(s string) string { return strings.ReplaceAll(s, "sk-verysecret", "[redacted]") }
	e := failed(1)
	e.Title = "<!channel> & \x1b[31m\u202e sk-verysecret"
	e.Reason = strings.Repeat("x", maxLine-6) + "sk-verysecret" // which is cut in the middle
	check.OK(t, deliver(opts, e))
	got := strings.Join(h.texts(), "")
	for _, bad := range []string{"<!channel>", "sk-v", "\x1b", "\u202e"} {
		check.That(t, !strings.Contains(got, bad), "it says %q: %q", bad, got)
	}
	check.That(t, strings.Contains(got, "&lt;!channel&gt; &amp;") && strings.Contains(got, "[redacted]"), "got %q", got)
}

func TestAWebhookIsTriedAgainWhenThatMayHelp(t *testing.T) {
	t.Parallel()
	drop := func(w http.ResponseWriter) {
		if conn, _, err := http.NewResponseController(w).Hijack(); err == nil {
			conn.Close()
		}
	}
	for name, tc := range map[string]struct {
		answer func(n int, w http.ResponseWriter)
		tries  int
		err    string
	}{
		"an error, then well": {func(n int, w http.ResponseWriter) { w.WriteHeader(map[bool]int{true: 500, false: 200}[n < 3]) }, 3, ""},
		"dropped, then well": {func(n int, w http.ResponseWriter) {
			if n < 3 {
				drop(w)
			}
		}, 3, ""},
		"too many, then well":     {func(n int, w http.ResponseWriter) { w.WriteHeader(map[bool]int{true: 429, false: 200}[n < 2]) }, 2, ""},
		"an error for ever":       {func(_ int, w http.ResponseWriter) { w.WriteHeader(500) }, 4, "1 of 1 notification did not go out: HTTP status 500"},
		"dropped for ever":        {func(_ int, w http.ResponseWriter) { drop(w) }, 4, "1 of 1 notification did not go out: 127.0.0.1"},
		"no such hook":            {func(_ int, w http.ResponseWriter) { w.WriteHeader(404) }, 1, "1 of 1 notification did not go out: HTTP status 404"},
		"moved, which may be bad": {func(_ int, w http.ResponseWriter) { w.Header().Set("Location", "/"); w.WriteHeader(308) }, 1, "HTTP status 308"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHook(t, tc.answer)
			err := deliver(quick(Target{Webhook: h.URL + "/services/s3cr3t"}), failed(1))
			check.Equal(t, "tries", tc.tries, len(h.texts()))
			check.Err(t, "close", tc.err, err)
			check.That(t, !strings.Contains(fmt.Sprint(err), "s3cr3t"), "the error tells the secret: %v", err)
		})
	}
}

func TestAWebhookThatHangsHoldsUpNobody(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	hangs := newHook(t, func(int, http.ResponseWriter) { <-release })
	works := newHook(t, func(int, http.ResponseWriter) {})
	hurry := make(chan os.Signal)
	opts := quick(Target{Webhook: hangs.URL + "/s3cr3t"}, Target{Webhook: works.URL})
	opts.Hurry, opts.Size = hurry, 3
	n := New(opts)
	n.Event(failed(0))
	<-hangs.each
	<-works.each
	for i := range 9 {
		n.Event(failed(i + 1)) // returns at once, or this test never ends
		<-works.each
	}
	close(hurry)
	err := n.Close()
	check.Err(t, "close", "10 of 10 notifications did not go out: too many were waiting", err)
	check.That(t, !strings.Contains(fmt.Sprint(err), "s3cr3t"), "the error tells the secret: %v", err)
	check.Equal(t, "messages that the other one got", 10, len(works.texts()))
	close(release)
}

func TestTheEndWaitsOnlySoLong(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	hangs := newHook(t, func(int, http.ResponseWriter) { <-release })
	opts := quick(Target{Webhook: hangs.URL})
	opts.Flush = time.Millisecond
	check.Err(t, "close", "1 of 1 notification did not go out: no answer yet", deliver(opts, failed(1)))
	close(release)
}

func TestASlowWebhookGetsEverythingBeforeTheEnd(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	slow := newHook(t, func(int, http.ResponseWriter) { <-release })
	opts := quick(Target{Webhook: slow.URL})
	opts.Size = 2
	n := New(opts)
	n.Event(failed(0))
	<-slow.each
	for i := range 4 {
		n.Event(failed(i + 1))
	}
	n.Event(ended(event.OutcomeBlocked, event.Counts{}))
	close(release)
	err := n.Close()
	check.Err(t, "close", "3 of 6 notifications did not go out: too many were waiting", err)
	var got []string
	for _, text := range slow.texts() {
		first, _, _ := strings.Cut(text, "\n")
		got = append(got, first)
	}
	want := []string{"ralph: shop: task failed: Task 0", "ralph: shop: task failed: Task 4", "ralph: shop: blocked"}
	check.Equal(t, "result", want, got)
}

// stuck is a terminal that nobody reads.
type stuck struct{ release chan struct{} }

func (s stuck) Write(p []byte) (int, error) { <-s.release; return len(p), nil }

func TestTerminals(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	opts := quick(Target{Bell: true, Title: true})
	opts.Terminal = &out
	e := failed(1)
	e.Title = "x\a\x1b]0;evil\a"
	check.OK(t, deliver(opts, e))
	check.Equal(t, "result", "\x1b]2;ralph: shop: task failed: x\x1b\\\a", out.String())
	n := New(quick(Target{Bell: true})) // in a pipeline there is none
	n.Event(e)
	check.OK(t, errors.Join(n.Missing(), n.Close()))
	s := stuck{make(chan struct{})}
	opts.Terminal, opts.Flush = s, time.Millisecond
	n = New(opts)
	n.Event(e)
	check.Err(t, "a terminal that is stopped", "did not go out", n.Close())
	close(s.release)
	<-n.channels[0].Done()
}

// TestAKindStandsInOneList: package event has it, and nothing else repeats it.
func TestAKindStandsInOneList(t *testing.T) {
	t.Parallel()
	for _, folder := range []string{".", "../project", "../../cmd/ralph", "../event"} {
		files, err := filepath.Glob(filepath.Join(folder, "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatal(folder, err)
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") || strings.HasSuffix(file, "event/notice.go") {
				continue
			}
			text, err := os.ReadFile(file)
			check.OK(t, err)
			for _, kind := range event.NoticeKinds() {
				check.That(t, !strings.Contains(kind, "_") || !strings.Contains(string(text), strconv.Quote(kind)),
					"%s repeats the kind %s", file, kind)
			}
		}
	}
}
