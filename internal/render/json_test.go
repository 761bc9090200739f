package render

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"ralph/internal/event"
	"ralph/internal/testing/check"
)

// writes remembers each call, and fails as it is set.
type writes struct {
	calls []string
	limit []int // how much of each call is taken before the error; -1 means all
}

var errFull = errors.New("no space left on device")

func (w *writes) Write(b []byte) (int, error) {
	n := -1
	if i := len(w.calls); i < len(w.limit) {
		n = w.limit[i]
	}
	if n < 0 {
		w.calls = append(w.calls, string(b))
		return len(b), nil
	}
	w.calls = append(w.calls, string(b[:n]))
	return n, errFull
}

func TestEveryEventIsOneWriteOfOneLine(t *testing.T) {
	t.Parallel()
	w := &writes{}
	j := NewJSON(w)
	events := sampleRun()
	var senders sync.WaitGroup
	for _, e := range events {
		senders.Go(func() { j.Event(e) })
	}
	senders.Wait()
	check.OK(t, j.Close())
	check.Equal(t, "writes", len(events), len(w.calls))
	for _, line := range w.calls {
		check.OK(t, json.Unmarshal([]byte(line), &event.Event{}))
		check.Equal(t, "its only line break is at", len(line)-1, strings.Index(line, "\n"))
	}
}

func TestAFullDiskLosesLinesNotTheRun(t *testing.T) {
	t.Parallel()
	w := &writes{limit: []int{-1, 10, 0, -1, -1}}
	j := NewJSON(w)
	for range 5 {
		j.Event(event.Event{Type: event.Warned})
	}
	err := j.Close()
	check.That(t, errors.Is(err, errFull) && err.Error() == "write events, 2 lines lost: no space left on device", "got %v", err)
	check.OK(t, j.Close()) // the error is reported once
	whole := w.calls[0]
	want := []string{whole, whole[:10], "", "\n" + whole, whole}
	check.Equal(t, "one line is torn, and the next starts a new line", want, w.calls)
}

func TestShortWriteIsAnError(t *testing.T) {
	t.Parallel()
	j := NewJSON(shortWriter{})
	j.Event(event.Event{Type: event.Warned})
	err := j.Close()
	check.That(t, errors.Is(err, io.ErrShortWrite), "got %v", err)
}

type shortWriter struct{}

func (shortWriter) Write([]byte) (int, error) { return 3, nil }

func TestJSONKeepsTextAndEscapesWhatActs(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := strings.ToValidUTF8(hostile(t, "text"), "?")
		var b bytes.Buffer
		j := NewJSON(&b)
		j.Event(event.Event{Type: event.AgentText, Text: text})
		for _, r := range strings.TrimSuffix(b.String(), "\n") {
			if r < ' ' || acts(r) {
				t.Fatalf("wrote %U", r)
			}
		}
		var e event.Event
		if err := json.Unmarshal(b.Bytes(), &e); err != nil || e.Text != text {
			t.Fatalf("got %q, %v, want %q", e.Text, err, text)
		}
	})
}
