package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ralph/internal/project"
	"ralph/internal/sandbox"
)

// TestConfigChangesNameWhoWrote each line, also when the run was killed meanwhile.
func TestConfigChangesNameWhoWrote(t *testing.T) {
	t.Parallel()
	p := project.Project{Root: t.TempDir()}
	if err := os.Mkdir(p.State(), 0o755); err != nil {
		t.Fatal(err)
	}
	write := func(text string) {
		if err := os.WriteFile(p.Config(), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("a\nb\n")
	x := newConfigChanges(p)
	x.record.Lines = sumsOf(x.read())
	end := x.during("t-1", "a-1", sandbox.None)
	write("a\nb\n\nc\n")
	prevented := x.during("t-2", "a-2", sandbox.Namespaces)
	if err := end(); err != nil {
		t.Fatal(err)
	}
	write("a\nb\nd\nc\n")
	if err := prevented(); err != nil {
		t.Fatal(err)
	}
	_ = x.during("t-3", "a-3", sandbox.Landlock)
	parts := map[string]string{}
	for _, part := range x.record.since(x.read()) {
		parts[part.writer] = part.String()
	}
	want := map[string]string{"by t-1, attempt a-1": "1 new line", "by t-3, attempt a-3, which did not end": "1 new line"}
	if diff := cmp.Diff(want, parts); diff != "" {
		t.Error(diff)
	}
	x.record.Open = nil
	write("b\nc\nc\n")
	parts = map[string]string{}
	for _, part := range x.record.since(x.read()) {
		parts[part.writer] = part.String()
	}
	want = map[string]string{"by t-1, attempt a-1": "2 new lines", "outside any attempt": "1 line removed"}
	if diff := cmp.Diff(want, parts); diff != "" {
		t.Error(diff)
	}
	if _, err := os.Stat(filepath.Join(p.State(), "runs", "configuration.json")); err != nil {
		t.Error(err)
	}
}

// TestRunsSideBySideKeepEachOthersWriters: which of them saves last makes no difference.
func TestRunsSideBySideKeepEachOthersWriters(t *testing.T) {
	t.Parallel()
	p := project.Project{Root: t.TempDir()}
	if err := os.Mkdir(p.State(), 0o755); err != nil {
		t.Fatal(err)
	}
	begin := func() *configChanges {
		x := newConfigChanges(p)
		x.record.Lines = sumsOf(x.read())
		return x
	}
	one, other := begin(), begin()
	end := one.during("t-1", "a-1", sandbox.None)
	if err := os.WriteFile(p.Config(), []byte("a\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := end(); err != nil {
		t.Fatal(err)
	}
	if err := other.during("t-2", "a-2", sandbox.None)(); err != nil {
		t.Fatal(err)
	}
	var writers []string
	for _, part := range other.stored().since(other.read()) {
		writers = append(writers, part.writer)
	}
	if diff := cmp.Diff([]string{"by t-1, attempt a-1"}, writers); diff != "" {
		t.Error(diff)
	}
}
