package provenance_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"ralph/internal/project"
	"ralph/internal/provenance"
	"ralph/internal/testing/check"
)

// watched is a new project with a history that begins at its configuration.
func watched(t *testing.T, config string) (p project.Project, write func(string)) {
	t.Helper()
	p = project.Project{Root: t.TempDir()}
	check.OK(t, os.Mkdir(p.State(), 0o755))
	write = func(text string) {
		check.OK(t, os.WriteFile(p.Config(), []byte(text), 0o644))
	}
	write(config)
	return p, write
}

func storeOf(p project.Project) provenance.Store {
	return provenance.Store{Dir: filepath.Join(p.Root, "elsewhere")}
}

func historyOf(p project.Project) *provenance.History { return storeOf(p).History(p.Texts) }

func begun(t *testing.T, p project.Project) *provenance.History {
	t.Helper()
	h := historyOf(p)
	check.OK(t, h.Begin())
	return h
}

func wantChanges(t *testing.T, h *provenance.History, want ...string) {
	t.Helper()
	var got []string
	for _, change := range h.Changes() {
		got = append(got, change.String())
	}
	check.Equal(t, "result", want, got)
}

// TestConfigChangesNameWhoWrote each line, also when the run was killed meanwhile.
func TestConfigChangesNameWhoWrote(t *testing.T) {
	t.Parallel()
	p, write := watched(t, "a\nb\n")
	h := begun(t, p)
	end := h.During("t-1", "a-1")
	write("a\nb\n\nc\n")
	check.OK(t, end())
	write("a\nb\nd\nc\n")
	end = h.During("t-3", "a-3")
	wantChanges(t, h, "1 new line since the last run, written by t-3, attempt a-3, which did not end", "1 new line since the last run, written by t-1, attempt a-1")
	check.OK(t, end())
	write("b\nc\nc\n")
	wantChanges(t, h, "2 new lines since the last run, written by t-1, attempt a-1", "1 line removed since the last run, written outside any attempt")
}

// TestParallelRunsKeepEachOthersWriters: which of them saves last makes no difference.
func TestParallelRunsKeepEachOthersWriters(t *testing.T) {
	t.Parallel()
	p, write := watched(t, "")
	one, other := begun(t, p), begun(t, p)
	end := one.During("t-1", "a-1")
	write("a\n")
	check.OK(t, end())
	check.OK(t, other.During("t-2", "a-2")())
	wantChanges(t, other, "1 new line since the last run, written by t-1, attempt a-1")
}

// TestWhatAPersonConfirmsIsNoChange any more, also when a run that began before saves its own record; what an agent of it
// changes afterwards is one, and so is another order of the same lines.
func TestWhatAPersonConfirmsIsNoChange(t *testing.T) {
	t.Parallel()
	p, write := watched(t, "[a]\nx\n[b]\n")
	h := begun(t, p)
	end := h.During("t-1", "a-1")
	write("[a]\n[b]\nx\n")
	wantChanges(t, h, "lines in another order since the last run, written by t-1, attempt a-1, which did not end")
	check.OK(t, begun(t, p).During("t-2", "a-2")())
	wantChanges(t, h)
	write("[a]\n[b]\nx\ny\n")
	wantChanges(t, h, "1 new line since the last run, written by t-1, attempt a-1, which did not end")
	check.OK(t, end())
	wantChanges(t, h, "1 new line since the last run, written by t-1, attempt a-1")
	check.OK(t, historyOf(p).Begin())
	check.OK(t, h.During("t-3", "a-3")())
	wantChanges(t, h)
	write("x\n[a]\n[b]\ny\n")
	wantChanges(t, h, "lines in another order since the last run, written outside any attempt")
}

// TestAConfigurationThatIsAPipeHoldsNobodyUp: an agent may have put it there.
func TestAConfigurationThatIsAPipeHoldsNobodyUp(t *testing.T) {
	t.Parallel()
	p, _ := watched(t, "a\n")
	h := begun(t, p)
	end := h.During("t-1", "a-1")
	check.OK(t, os.Remove(p.Config()))
	check.OK(t, exec.Command("mkfifo", p.Config()).Run())
	check.OK(t, end())
	wantChanges(t, h, "1 line removed since the last run, written by t-1, attempt a-1")
	_, err := project.Load("", p.Config(), func(string) string { return "" })
	check.Err(t, "loading it", "not a regular file", err)
}

// What a person changes with a command while an attempt works is not the attempt's, and what the attempt changes is.
func TestAPersonsChangeDuringAnAttemptIsTheirs(t *testing.T) {
	t.Parallel()
	p, write := watched(t, "a\nb\n")
	h := begun(t, p)
	end := h.During("t-1", "a-1")
	check.OK(t, h.ByPerson(func() error { write("a\nc\n"); return nil }))
	wantChanges(t, h, "1 new line, 1 line removed since the last run, written with ralph config")
	write("a\nc\nd\n")
	check.OK(t, end())
	wantChanges(t, h, "1 new line, 1 line removed since the last run, written with ralph config", "1 new line since the last run, written by t-1, attempt a-1")
	check.OK(t, h.Begin())
	wantChanges(t, h)
}
