package loop

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ralph/dag"
	"ralph/internal/event"
	"ralph/internal/redact"
	"ralph/internal/testing/check"
	"ralph/internal/testing/fakeagent"
)

// answer is what is kept of what the only attempt at a task said.
func (s *stage) answer(t *testing.T, id string) string {
	t.Helper()
	at := s.attempts(t, id)[0]
	data, err := os.ReadFile(filepath.Join(s.opts.Place.Runs, at.Run, at.ID, "answer.md"))
	check.OK(t, err)
	return string(data)
}

// TestALongAnswerIsKeptWholeWithoutSecrets: it is longer than what fits into memory, and
// secrets stand across every border at which it is cut.
func TestALongAnswerIsKeptWholeWithoutSecrets(t *testing.T) {
	t.Parallel()
	const secret = "correct-horse-battery"
	flood := fakeagent.Step{Do: "flood", N: 30, Text: secret + " ", Chunk: 3000}
	s := newStage(t, say(flood, fakeagent.Step{Do: "tool", Text: "look"}, done()))
	s.opts.Host.Redact = redact.New(secret)
	id := s.add(t, dag.NewTask{Detail: dag.Detail{Title: "x"}})[0]
	out := s.run(t)
	check.That(t, out.Outcome == event.OutcomeComplete && out.Counts.Done == 1, "got %+v: the sigil at the end was lost", out)
	var said strings.Builder
	for i := range flood.N {
		said.WriteString(strings.Repeat(flood.Text, flood.Chunk) + fmt.Sprint(i, "\n"))
	}
	want := s.opts.Host.Redact.Text(said.String()) + "\n<task-done>" + id + "</task-done>\n"
	if got := s.answer(t, id); got != want {
		t.Errorf("got %d bytes, want %d; secrets: %d", len(got), len(want), strings.Count(got, secret[:5]))
	}
}

// TestAnAnswerThatCannotBeStoredIsNotTheTasksFault: the agent says more than fits into
// memory, and there is no place for the rest. The run ends and says so.
func TestAnAnswerThatCannotBeStoredIsNotTheTasksFault(t *testing.T) {
	t.Parallel()
	s := newStage(t, fakeagent.Script{})
	gone := fakeagent.Step{Do: "run", Argv: []string{"sh", "-c", "rm -rf " + s.opts.Place.Runs + "/*/*"}}
	s.script = say(gone, fakeagent.Step{Do: "flood", N: 2000, Text: "x", Chunk: 1 << 10}, done())
	ids := s.add(t, dag.NewTask{Detail: dag.Detail{Title: "x"}}, dag.NewTask{Detail: dag.Detail{Title: "y"}})
	out := s.run(t)
	check.That(t, out.Outcome == event.OutcomeError, "got %s, want error", out.Outcome)
	check.Contains(t, "reason", "no such file or directory", out.Reason)
	for _, id := range ids {
		s.wantUncharged(t, id)
	}
	s.wantNothingLeft(t)
}
