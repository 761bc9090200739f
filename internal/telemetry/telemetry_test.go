package telemetry

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"go.uber.org/goleak"

	"ralph/internal/event"
	"ralph/internal/testing/check"
	"ralph/internal/testing/golden"
)

func TestMain(m *testing.M) {
	code := m.Run()
	// A request that is given up ends by itself, later than goleak waits for on a busy machine.
	err := goleak.Find()
	for end := time.Now().Add(time.Minute); err != nil && time.Now().Before(end); {
		err = goleak.Find()
	}
	if err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// sample is a run with two attempts, the second of which fails at its gate.
func sample() []event.Event {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	cost := 0.25
	list := []event.Event{
		{Type: event.RunStarted, PID: 42, Counts: &event.Counts{Remaining: 2, Total: 2}, Setup: &event.Setup{Scope: "feature \"x\"\\\n", Agent: "claude", Model: "fixed", Limits: "none", Sandbox: "none", Verify: "make", Jobs: 1}},
		{Type: event.TaskClaimed, Iteration: 1, Task: "t-1", Attempt: "a-1", Title: "One sk-verysecret", Agent: "claude", Model: "sonnet", Counts: &event.Counts{Remaining: 2, Total: 2}},
		{Type: event.AgentStarted, Task: "t-1", Attempt: "a-1", Agent: "claude", Model: "big"},
		{Type: event.Prompted, Task: "t-1", Attempt: "a-1"},
		{Type: event.AgentText, Task: "t-1", Attempt: "a-1", Text: "hello"},
		{Type: event.AgentTool, Task: "t-1", Attempt: "a-1", Tool: &event.Tool{ID: "c1", Title: "Read it", Kind: "read", Status: "pending", New: true}},
		{Type: event.AgentTool, Task: "t-1", Attempt: "a-1", Tool: &event.Tool{ID: "c1", Status: "completed"}},
		{Type: event.AgentTool, Task: "t-1", Attempt: "a-1", Tool: &event.Tool{ID: "c2", Title: "Run it", Kind: "made up", Status: "in_progress", New: true}},
		{Type: event.AgentTool, Task: "t-1", Attempt: "a-1", Tool: &event.Tool{ID: "never announced", Status: "failed"}},
		{Type: event.Warned, Task: "t-1", Text: "look at this"},
		{Type: event.Anomaly, Task: "t-1", Attempt: "a-1", Outcome: "deletions", Reason: "more than 30 deletions in a minute"},
		{Type: event.Drifted, Task: "t-1", Attempt: "a-1", Outcome: "nudge", Reason: "the same command five times"},
		{Type: event.VerifierStarted, Task: "t-1", Attempt: "a-1"},
		{Type: event.VerifierEnded, Task: "t-1", Attempt: "a-1", Outcome: "pass"},
		{Type: event.AttemptEnded, Iteration: 1, Task: "t-1", Attempt: "a-1", Title: "One", Agent: "claude", Model: "big", Outcome: "done", Status: "done", Duration: 1500, Files: []string{"a"}, Usage: &event.Usage{TokensIn: 100, TokensCached: 50, TokensOut: 7, CostUSD: &cost}},
		{Type: event.TaskAdded, Task: "t-9", Attempt: "a-1", Title: "Nine"},
		{Type: event.LocksChanged, Task: "t-1", Attempt: "a-1", Locks: []string{"port:8080"}, Outcome: event.LocksTaken},
		{Type: event.Learned, Task: "t-1", Attempt: "a-1", Text: "Use the staging server"},
		{Type: event.Waiting, Reason: "rate limited", Until: &at},
		{Type: event.TaskClaimed, Iteration: 2, Task: "t-2", Attempt: "a-2", Title: "Two", Agent: "claude", Model: "sonnet", Counts: &event.Counts{Done: 1, Remaining: 1, Total: 2}},
		{Type: event.GateStarted, Task: "t-2", Attempt: "a-2", Gate: &event.Gate{Command: "make"}, Reason: "before the work"},
		{Type: event.GateEnded, Task: "t-2", Attempt: "a-2", Gate: &event.Gate{Command: "make", Exit: "exit status 2"}, Reason: "before the work"},
		{Type: event.GateStarted, Task: "t-2", Attempt: "a-2", Gate: &event.Gate{Command: "make"}},
		{Type: event.GateEnded, Task: "t-2", Attempt: "a-2", Gate: &event.Gate{Command: "make", Exit: "exit status 2", Verdict: "failed"}},
		{Type: event.AttemptEnded, Iteration: 2, Task: "t-2", Attempt: "a-2", Title: "Two", Agent: "claude", Model: "big", Outcome: "failed", Status: "failed", Reason: "gate \"make\": exit status 2\nmuch\x1b[31m more", Duration: 500, Usage: &event.Usage{}},
		{Type: event.RunInterrupted, Reason: "Ctrl-C"},
		{Type: event.RunEnded, Iteration: 2, Outcome: "complete", Reason: "1 of 2 tasks failed", Counts: &event.Counts{Done: 1, Failed: 1, Total: 2}, Usage: &event.Usage{TokensIn: 100, TokensOut: 7, CostUSD: &cost}, Duration: 3000},
	}
	for i := range list {
		list[i].V, list[i].Run, list[i].At = event.Version, "r-1", at.Add(time.Duration(i)*100*time.Millisecond)
	}
	return list
}

func hide(s string) string { return strings.ReplaceAll(s, "sk-verysecret", "[redacted]") }

func TestLogs(t *testing.T) {
	t.Parallel()
	for name, opts := range map[string]LogOptions{
		"log.json":       {JSON: true, Level: zerolog.InfoLevel},
		"log.debug.json": {JSON: true, Level: zerolog.DebugLevel},
		"log.warn.json":  {JSON: true, Level: zerolog.WarnLevel},
		"log.txt":        {Level: zerolog.InfoLevel},
	} {
		var b bytes.Buffer
		opts.Out, opts.Hide = &b, hide
		l := NewLog(opts)
		for _, e := range sample() {
			l.Event(e)
		}
		check.OK(t, l.Close())
		golden.Check(t, "testdata/"+name, b.String())
		check.That(t, !strings.Contains(b.String(), "\x1b") && !strings.Contains(b.String(), "sk-very"),
			"%s: something slipped through:\n%s", name, b.String())
		if !opts.JSON {
			continue
		}
		for line := range strings.Lines(b.String()) {
			var v map[string]any
			err := json.Unmarshal([]byte(line), &v)
			check.That(t, err == nil && v["run"] == "r-1", "%s: %v: %s", name, err, line)
			check.That(t, (v["task"] != nil) == (v["attempt"] != nil) && (v["task"] == nil || v["attempt"] != ""),
				"%s: a task without its attempt: %s", name, line)
		}
	}
}

type full struct{ writes int }

func (f *full) Write([]byte) (int, error) { f.writes++; return 0, errors.New("no space left") }

func TestALogThatCannotBeWrittenIsToldOnce(t *testing.T) {
	t.Parallel()
	out := &full{}
	l := NewLog(LogOptions{Out: out, JSON: true, Hide: hide})
	for _, e := range sample() {
		l.Event(e)
	}
	check.Err(t, "close", "no space left", l.Close())
	check.Equal(t, "writes", 1, out.writes)
}

func TestMetrics(t *testing.T) {
	t.Parallel()
	var files []string
	m := NewMetrics(func(data []byte) error { files = append(files, string(data)); return nil })
	for _, e := range sample() {
		m.Event(e)
	}
	check.OK(t, m.Close())
	// The beginning, two claims, two ends, a wait, the end.
	check.That(t, len(files) == 7, "it was written %d times, want 7", len(files))
	for _, text := range files {
		checkMetrics(t, text)
	}
	if !strings.Contains(files[2], `ralph_tasks{status="done"} 1`) || !strings.Contains(files[2], `ralph_tasks{status="remaining"} 1`) {
		t.Errorf("after the first attempt:\n%s", files[2])
	}
	golden.Check(t, "testdata/metrics.prom", files[6])
	broken := NewMetrics(func([]byte) error { return errors.New("no space left") })
	broken.Event(sample()[0])
	check.That(t, broken.Close() != nil, "nothing is said about a file that cannot be written")
}

// checkMetrics reads a file as Prometheus does: every sample belongs to a metric with
// help and type before it, no series comes twice, and values are numbers.
func checkMetrics(t *testing.T, text string) {
	t.Helper()
	sample := regexp.MustCompile(`^([a-z_:][a-z0-9_:]*)(\{(?:[a-z_]+="(?:[^"\\\n]|\\["\\n])*",?)*\})? (\S+)$`)
	helped, types, seen := map[string]bool{}, map[string]string{}, map[string]bool{}
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if rest, ok := strings.CutPrefix(line, "# HELP "); ok {
			name, _, _ := strings.Cut(rest, " ")
			helped[name] = true
			continue
		}
		if rest, ok := strings.CutPrefix(line, "# TYPE "); ok {
			name, kind, _ := strings.Cut(rest, " ")
			types[name] = kind
			continue
		}
		parts := sample.FindStringSubmatch(line)
		if parts == nil {
			t.Errorf("no sample: %q", line)
			continue
		}
		name := parts[1]
		if base := strings.TrimSuffix(strings.TrimSuffix(name, "_sum"), "_count"); types[base] == "summary" {
			name = base
		}
		check.That(t, helped[name] && types[name] != "" && !seen[parts[1]+parts[2]], "not described, or twice: %q", line)
		check.That(t, types[name] != "counter" || strings.HasSuffix(name, "_total"), "a counter's name ends with _total: %q", line)
		seen[parts[1]+parts[2]] = true
		_, err := strconv.ParseFloat(parts[3], 64)
		check.That(t, err == nil, "no number: %q", line)
	}
}
