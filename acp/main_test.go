package acp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"ralph/internal/proc"
	"ralph/internal/testing/check"
	"ralph/internal/testing/fakeagent"
)

// beEnv makes the test binary be a fake agent.
const beEnv = "RALPH_TEST_BE_AGENT"

func TestMain(m *testing.M) {
	proc.RunHelper(nil)
	switch os.Getenv(beEnv) {
	case "1":
		fakeagent.Main()
		return
	case "ralph":
		beRalph()
		return
	}
	// The race detector holds every exiting process for a second otherwise.
	os.Setenv("GORACE", "atexit_sleep_ms=0")
	goleak.VerifyTestMain(m)
}

// long is a limit that no test waits for.
const long = 5 * time.Minute

// bench is a session under test with all that it leaves behind.
type bench struct {
	cfg        Config
	ledger     string
	transcript lockedBuffer
	stderr     lockedBuffer
}

func newBench(t testing.TB, script fakeagent.Script) *bench {
	t.Helper()
	exe, err := os.Executable()
	check.OK(t, err)
	b := &bench{ledger: t.TempDir()}
	env := append(os.Environ(), beEnv+"=1", fakeagent.ScriptEnv+"="+script.JSON(), fakeagent.LedgerEnv+"="+b.ledger)
	b.cfg = Config{
		Argv:        []string{exe},
		Env:         env,
		Dir:         t.TempDir(),
		Owner:       "test",
		TerminalEnv: os.Environ(),
		Client:      Client{HandshakeTimeout: long, Grace: long},
		Transcript:  &b.transcript,
		Stderr:      &b.stderr,
		Protected:   []string{".ralph", ".ralph.toml"}, ProtectedNames: []string{".git"},
	}
	return b
}

// say is a script that answers every prompt with these steps.
func say(steps ...fakeagent.Step) fakeagent.Script {
	return fakeagent.Script{Conversations: []fakeagent.Conversation{{Steps: steps}}}
}

func (b *bench) start(t testing.TB) *Session {
	t.Helper()
	s, err := Start(context.Background(), b.cfg)
	check.OK(t, err)
	t.Cleanup(func() {
		check.OK(t, s.Close())
	})
	return s
}

// must is a prompt that ends well.
func (b *bench) must(t testing.TB) Turn {
	t.Helper()
	turn, err := b.prompt(t)
	check.OK(t, err)
	return turn
}

// prompt runs a whole session with one prompt.
func (b *bench) prompt(t testing.TB) (Turn, error) {
	t.Helper()
	s := b.start(t)
	turn, err := s.Prompt(t.Context(), "Assigned Task t-0123abcd")
	check.OK(t, s.Close())
	return turn, err
}

// results are the answers that the agent got from us, by step.
func (b *bench) results(t testing.TB) map[string]string {
	t.Helper()
	entries, err := fakeagent.ReadLedger(b.ledger)
	check.OK(t, err)
	out := make(map[string]string)
	for _, e := range entries {
		if e.Event == "result" {
			out[e.Name] = e.Text
		}
	}
	return out
}

// wantNothingLeft fails for every process in the ledger that still lives.
func (b *bench) wantNothingLeft(t testing.TB) {
	t.Helper()
	entries, err := fakeagent.ReadLedger(b.ledger)
	check.OK(t, err)
	seen := make(map[int]bool)
	for _, e := range entries {
		if seen[e.Pid] {
			continue
		}
		seen[e.Pid] = true
		if id, err := proc.Of(e.Pid); err == nil && proc.Liveness(id) != proc.Dead {
			t.Errorf("%s %s (pid %d) is still running", e.Event, e.Name, e.Pid)
		}
	}
	check.That(t, len(seen) != 0, "the ledger is empty")
}

func wantKind(t testing.TB, err error, want Kind) *Error {
	t.Helper()
	var e *Error
	if !errors.As(err, &e) || e.Kind != want || !errors.Is(err, want) {
		t.Fatalf("got %v, want %s", err, want)
	}
	return e
}

// lockedBuffer may be read while it is written.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// checkTranscript fails unless every line is a record.
func (b *bench) checkTranscript(t testing.TB) (in, out int) {
	t.Helper()
	for line := range strings.Lines(b.transcript.String()) {
		var r struct {
			At  time.Time       `json:"at"`
			Dir string          `json:"dir"`
			Msg json.RawMessage `json:"msg"`
			Raw *string         `json:"raw"`
		}
		if err := json.Unmarshal([]byte(line), &r); err != nil || (r.Msg == nil) == (r.Raw == nil) {
			t.Fatalf("bad transcript line %s: %v", cut(line, 300), err)
		}
		if r.Dir == "in" {
			in++
		} else {
			out++
		}
	}
	return in, out
}

func ptr[T any](v T) *T { return &v }
