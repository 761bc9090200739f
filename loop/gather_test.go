package loop

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"ralph/dag"
	"ralph/internal/event"
	"ralph/internal/testing/check"
	"ralph/internal/testing/fakeagent"
	"ralph/journal"
	"ralph/loop/attempt"
	"ralph/prompt"
)

// repository makes the stage's folder a git repository with one commit.
func (s *stage) repository(t *testing.T) {
	t.Helper()
	s.write(t, "old.txt", "old\n")
	for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"add", "-A"}, {"commit", "-qm", "first"}} {
		cmd := exec.CommandContext(t.Context(), "git", append([]string{"-c", "user.name=t", "-c", "user.email=t@localhost"}, args...)...)
		cmd.Dir = s.dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
}

// TestDiffersFilesAreWhatChanged: commits, uncommitted files, the places of tool
// calls, diffs and writes through the client, each once.
func TestDiffersFilesAreWhatChanged(t *testing.T) {
	t.Parallel()
	s := newStage(t, say(
		fakeagent.Step{Do: "file", Path: "committed.txt", Text: "x"},
		fakeagent.Step{Do: "commit", Text: "work"},
		fakeagent.Step{Do: "file", Path: "uncommitted.txt", Text: "x"},
		fakeagent.Step{Do: "write", Path: "written.txt", Text: "x"},
		fakeagent.Step{Do: "tool", Text: "edit", Kind: "edit", Status: "completed", Path: "differs.txt", Paths: []string{"looked.txt"}},
		done(),
	))
	s.repository(t)
	s.add(t, dag.NewTask{Detail: dag.Detail{Title: "mine"}})
	s.run(t)
	got := s.await(t, ofType(event.AttemptEnded)).Files
	want := []string{"committed.txt", "differs.txt", "looked.txt", "uncommitted.txt", "written.txt"}
	check.Equal(t, "files", want, got)
}

// TestGatherTellsAllThatIsKnown has a task with everything a prompt can show.
func TestGatherTellsAllThatIsKnown(t *testing.T) {
	t.Parallel()
	s := newStage(t, fakeagent.Script{Conversations: []fakeagent.Conversation{
		{When: fakeagent.When{Contains: "the leaf", Attempt: 1}, Steps: []fakeagent.Step{
			{Do: "say", Text: "I tried\n<journal>the door is locked</journal>\n"}, done(),
		}},
	}})
	s.repository(t)
	ids := s.add(t, dag.NewTask{Detail: dag.Detail{Title: "the group", Description: "all of it"}}, dag.NewTask{Detail: dag.Detail{Title: "before", Description: "what was before", Kind: dag.Check}})
	leaf := s.add(t, dag.NewTask{Detail: dag.Detail{Title: "the leaf", Description: "do it", Gates: []string{"echo broken; false"}, MayChange: []string{"a_test.go"}}, Parent: ids[0], After: []string{ids[1]}})[0]
	s.opts.Limits.Iterations = 2
	s.opts.Prompt.Recall = journal.Options{Recent: 5, Tokens: 3000}
	s.opts.Prompt.Context = func(dag.Task) attempt.Sources {
		return attempt.Sources{Spec: prompt.Document{Text: "the spec", From: "spec.md"}, Instructions: []string{"AGENTS.md"}}
	}
	r := s.start(t)
	s.finish(t, r, t.Context())
	s.update(t, func(g *dag.Graph) error { return g.Tasks.Log(leaf, dag.LogUser, "use the window") })
	in, err := Gather(t.Context(), s.opts, r.ID(), s.task(t, leaf))
	check.OK(t, err)
	for name, check := range map[string]bool{
		"the task":   reflect.DeepEqual(in.Task, prompt.Task{ID: leaf, Title: "the leaf", Description: "do it", MayChange: []string{"a_test.go"}}),
		"its parent": in.Parent != nil && reflect.DeepEqual(*in.Parent, prompt.Task{ID: ids[0], Title: "the group", Description: "all of it"}),
		"what it waited for": len(in.Prerequisites) == 1 && in.Prerequisites[0].ID == ids[1] &&
			in.Prerequisites[0].Summary == "what was before",
		"the refusal": in.Retry != nil && in.Retry.Attempt == 1 && in.Retry.Max == 3 &&
			strings.Contains(in.Retry.Reason, "broken"),
		"the guidance":      in.Guidance == "use the window",
		"the last answer":   strings.Contains(in.Previous.Text, "I tried"),
		"the journal":       strings.Contains(in.Journal.Text, "the door is locked"),
		"the specification": in.Spec.Text == "the spec",
		"the instructions":  len(in.Instructions) == 1,
		"the state of git":  in.Git != nil && in.Git.Branch == "main" && in.Git.Head != "" && !in.Interrupted,
	} {
		if !check {
			b, _ := json.MarshalIndent(struct{ R, G, P, J any }{in.Retry, in.Git, in.Prerequisites, in.Journal}, "", " ")
			t.Errorf("%s is missing in %s", name, b)
		}
	}
}

// TestThePreviousAnswerIsCutAtItsBeginning and does not stop a run when it is unreadable.
func TestThePreviousAnswerIsCutAtItsBeginning(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	last := dag.Attempt{ID: "a-1", Run: "r-1", Outcome: "released"}
	if got := previous(folder, last); got != (prompt.Document{}) {
		t.Errorf("got %+v of an attempt that said nothing", got)
	}
	path := filepath.Join(folder, "r-1", "a-1", "answer.md")
	check.OK(t, os.MkdirAll(filepath.Dir(path), 0o700))
	text := strings.Repeat("x", previousSize) + "the end"
	check.OK(t, os.WriteFile(path, []byte(text), 0o600))
	got := previous(folder, last)
	check.That(t, len(got.Text) == previousSize && strings.HasSuffix(got.Text, "the end") && got.From == path,
		"got %d bytes from %s, want the last %d of %s", len(got.Text), got.From, previousSize, path)
	if got := previous(folder, dag.Attempt{ID: "a-1", Run: "r-1", Outcome: "done"}); got != (prompt.Document{}) {
		t.Errorf("got %+v of an attempt that was done", got)
	}
}

func TestOnlyTheSessionOfAnInterruptedAttemptIsGoneOnWith(t *testing.T) {
	t.Parallel()
	at := func(minute int) time.Time { return time.Date(2026, 1, 2, 3, minute, 0, 0, time.UTC) }
	cost := func(usd float64) *float64 { return &usd }
	try := func(minute int, outcome event.AttemptOutcome, session string, usd *float64) dag.Attempt {
		return dag.Attempt{Agent: "x", StartedAt: at(minute), EndedAt: at(minute + 1), Outcome: outcome, Session: session, SessionUSD: usd}
	}
	earlier := func(session string, usd float64) *attempt.Earlier {
		return &attempt.Earlier{Agent: "x", Session: session, CostUSD: usd}
	}
	current := dag.Attempt{Agent: "x", StartedAt: at(50)}
	for name, tt := range map[string]struct {
		started  int
		attempts []dag.Attempt
		want     *attempt.Earlier
	}{
		"the first attempt":                {0, []dag.Attempt{current}, nil},
		"after an interruption":            {0, []dag.Attempt{try(1, "interrupted", "s", cost(0.5)), current}, earlier("s", 0.5)},
		"after another result":             {0, []dag.Attempt{try(1, "interrupted", "s", nil), try(3, "released", "s2", nil), current}, nil},
		"interrupted before a session":     {0, []dag.Attempt{try(1, "interrupted", "", nil), current}, nil},
		"interrupted before the next one":  {0, []dag.Attempt{try(1, "asked", "s", cost(0.5)), try(3, "interrupted", "", nil), try(5, "limited", "", nil), current}, earlier("s", 0.5)},
		"an error before the next one":     {0, []dag.Attempt{try(1, "asked", "s", nil), try(3, "error", "", nil), current}, nil},
		"interrupted twice":                {0, []dag.Attempt{try(1, "interrupted", "s", cost(0.5)), try(3, "interrupted", "s", cost(0.75)), current}, earlier("s", 0.75)},
		"killed when it was resumed":       {0, []dag.Attempt{try(1, "interrupted", "s", cost(0.5)), try(3, "interrupted", "s", nil), current}, earlier("s", 0.5)},
		"reset by a person after it":       {50, []dag.Attempt{try(1, "interrupted", "s", nil), current}, nil},
		"interrupted after it was reset":   {3, []dag.Attempt{try(1, "interrupted", "s", nil), try(3, "interrupted", "s2", nil), current}, earlier("s2", 0)},
		"another session cost more before": {0, []dag.Attempt{try(1, "failed", "s", cost(9)), try(3, "interrupted", "s2", nil), current}, earlier("s2", 0)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			check.Equal(t, "result", tt.want, earlierSession(dag.Task{StartedAt: at(tt.started)}, tt.attempts))
		})
	}
}
