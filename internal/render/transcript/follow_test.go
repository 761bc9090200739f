package transcript

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"ralph/event"
	"ralph/internal/testing/check"
)

func TestFollowingAnAttemptTellsWhatIsNewAndWhatIsBeingSaid(t *testing.T) {
	t.Parallel()
	f := newFiles(t)
	var got []string
	a := &Attempt{Path: filepath.Join(f.dir, "a-1", "transcript.jsonl"), Tell: func(l Line) { got = append(got, string(l.Kind)+": "+l.Text) }}
	poll := func() {
		t.Helper()
		if left, err := a.Poll(); err != nil || left != 0 {
			t.Fatalf("left out %d, %v", left, err)
		}
	}
	poll() // there is no file yet
	f.update("a-1", `{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"I will\nlo"}}`)
	poll()
	if a.Unfinished() != "lo" {
		t.Errorf("got %q, want what is being said", a.Unfinished())
	}
	f.update("a-1", `{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"ok.\n"}}`)
	poll()
	poll()
	check.Equal(t, "result", []string{"said: I will\n", "said: look.\n"}, got)
}

// TestAFloodIsFollowedByItsNewestPart: 200,000 updates, written as fast as a file
// takes them, while somebody looks. What is told at a time has a bound, and so has
// what is kept; the end is told in any case.
func TestAFloodIsFollowedByItsNewestPart(t *testing.T) {
	t.Parallel()
	const updates = 200_000
	path := filepath.Join(t.TempDir(), "transcript.jsonl")
	wrote := make(chan error, 1)
	go func() { wrote <- flood(path, updates) }()
	told, last := 0, ""
	a := &Attempt{Path: path, Tell: func(l Line) { told += len(l.Text); last = l.Text }}
	var left int64
	for over := false; ; {
		before := told
		n, err := a.Poll()
		check.OK(t, err)
		left += n
		if told-before > 2*firstLook+maxLine || len(a.join.text) > 2*longSpeech {
			t.Fatalf("told %d bytes at once and kept %d", told-before, len(a.join.text))
		}
		if over {
			break
		}
		select {
		case err := <-wrote:
			check.OK(t, err)
			over = true
		default:
		}
	}
	if !strings.Contains(last+a.Unfinished(), fmt.Sprintf("word %d", updates-1)) {
		t.Errorf("the end is not told: %.100q", last)
	}
	if left == 0 {
		t.Error("nothing was left out: this was no flood")
	}
	var mem runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&mem)
	if mem.HeapAlloc > 64<<20 {
		t.Errorf("%d MiB are kept", mem.HeapAlloc>>20)
	}
	runtime.KeepAlive(a)
}

// flood writes a transcript in which a line of speech never ends.
func flood(path string, updates int) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer f.Close()
	w := bufio.NewWriter(f)
	for i := range updates {
		fmt.Fprintf(w, `{"at":"2026-01-02T03:04:05Z","dir":"in","msg":{"method":"session/update","params":{"update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"word %d "}}}}}`+"\n", i)
	}
	return w.Flush()
}

func TestEventsLeaveOutWhatAgentsSay(t *testing.T) {
	t.Parallel()
	f := newFiles(t)
	f.event(event.Event{Type: event.AgentText, Text: "hello"})
	f.event(event.Event{Type: event.GateStarted, Gate: &event.Gate{Command: "go test"}})
	var got []event.Type
	e := &Events{Path: filepath.Join(f.dir, "events.jsonl"), Tell: func(e event.Event) { got = append(got, e.Type) }}
	check.OK(t, e.Poll())
	f.event(event.Event{Type: event.Warned, Text: "look"})
	check.OK(t, e.Poll())
	check.Equal(t, "result", []event.Type{event.GateStarted, event.Warned}, got)
}
