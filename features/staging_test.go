package features

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ralph/dag"
	"ralph/internal/testing/check"
)

// killed is what the death of a process leaves: its lock is free, and nothing was cleared.
func killed(t *testing.T, s *staging) {
	t.Helper()
	check.OK(t, s.lock.Close())
}

func TestAStepSurvivesAKill(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "hello", "spec")
	state := draft{Idea: "say hello", From: "a person", Said: []exchange{{"to whom?", "to all"}}, Drafted: true, Pass: 1, Findings: []string{"too loud"}}
	first, err := stage(dir)
	check.OK(t, err)
	check.OK(t, first.save(state))
	check.OK(t, first.fill(map[string]string{"plan.md": "# Plan\n"}))
	killed(t, first)

	again, err := stage(dir)
	check.OK(t, err)
	var got draft
	found, err := again.load(&got)
	check.OK(t, err)
	check.Equal(t, "found", true, found && again.begun())
	check.Equal(t, "state", state, got)
	check.OK(t, again.fill(map[string]string{"spec.md": "# Spec\n"})) // the next session begins with what it is given, and nothing else
	if _, err := again.read("plan.md"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the folder of an earlier session is still there: %v", err)
	}

	// What a person or a full disk made of the state is not taken for one, and not for none.
	check.OK(t, os.WriteFile(again.path("state.json"), []byte(`{"idea":"say`), 0o600))
	if _, err := again.load(&got); !errors.Is(err, dag.ErrRefused) || !strings.Contains(err.Error(), "state.json") {
		t.Errorf("got %v for a torn state, want a refusal that names the file", err)
	}
	killed(t, again)
	check.OK(t, Discard(dir))
	check.Equal(t, "begun after it was discarded", false, (&staging{dir: dir}).begun())
}

func TestAStepThatIsWorkedOnIsNotDiscarded(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "hello", "spec")
	check.Equal(t, "busy before it began", false, Busy(dir))
	s, err := stage(dir)
	check.OK(t, err)
	check.OK(t, s.save(draft{Idea: "kept"}))
	check.Equal(t, "busy", true, Busy(dir))
	if err := Discard(dir); !errors.Is(err, dag.ErrRefused) {
		t.Errorf("got %v, want a refusal", err)
	}
	check.Equal(t, "begun", true, s.begun())
	check.OK(t, s.close())
	check.Equal(t, "busy afterwards", false, Busy(dir))
}

func TestWhatAnAgentLeavesBesideItsDocumentIsNamed(t *testing.T) {
	t.Parallel()
	s, err := stage(filepath.Join(t.TempDir(), "hello", "spec"))
	check.OK(t, err)
	given := map[string]string{"plan.md": "# Plan\n", "notes.md": "# Notes\n", "gone.md": "# Gone\n"}
	check.OK(t, s.fill(given))
	work := func(name string) string { return filepath.Join(s.work(), name) }
	check.OK(t, errors.Join(
		os.WriteFile(work("spec.md"), []byte("# Spec\n"), 0o600), // what it was asked for
		os.WriteFile(work(".cache"), nil, 0o600),
		os.Remove(work("gone.md")),
		os.WriteFile(work("notes.md"), []byte("# Other notes\n"), 0o600),
		os.Remove(work("plan.md")), os.Symlink("/etc/passwd", work("plan.md")),
		os.Mkdir(work("src"), 0o700),
	))
	check.Equal(t, "strays", []string{"notes.md", "plan.md", "src"}, s.strays(given, "spec.md"))
}
