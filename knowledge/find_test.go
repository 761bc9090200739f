package knowledge_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ralph/internal/testing/check"
	"ralph/knowledge"
)

func shelf(t *testing.T) string {
	t.Helper()
	return project(t, map[string]string{
		".ralph/knowledge/run-the-tests.md": file("Run the tests", "go, ci", "With -race. See [[Gates]] and [[Nobody]]."),
		".ralph/knowledge/gates.md":         file("Gates", "ci", "They are red or green."),
		".ralph/knowledge/gates-2.md":       file("gates ", "other", "A copy."),
		".ralph/knowledge/all-gates.md":     file("All gates", "ci", strings.Repeat("many ", 600)),
		".ralph/knowledge/plain.md":         file("Plain", "", "No tags."),
		".ralph/knowledge/bad.md":           "bad",
	})
}

func TestFind(t *testing.T) {
	t.Parallel()
	entries, _ := knowledge.Open(shelf(t)).Load()
	for name, want := range map[string]string{
		"Run the tests": "Run the tests", "RUN  the TESTS": "Run the tests", "run-the-tests.md": "Run the tests", "run-the-tests": "Run the tests",
		"run": "Run the tests", "pl": "Plain", "Gates": "gates", "nothing": "", "": "", "ga": "gates", "a": "All gates",
	} {
		got, err := knowledge.Find(entries, name)
		if want == "" {
			if !errors.Is(err, knowledge.ErrNotFound) {
				t.Errorf("%q: got %v, want ErrNotFound", name, err)
			}
			continue
		}
		var ambiguous *knowledge.AmbiguousError
		if name == "ga" {
			if !errors.As(err, &ambiguous) || len(ambiguous.Titles) != 2 {
				t.Errorf("%q: got %v, want two titles", name, err)
			}
			continue
		}
		if err != nil || !strings.EqualFold(got.Title, want) {
			t.Errorf("%q: got %q, %v, want %q", name, got.Title, err, want)
		}
	}
}

func TestATitleIsFoundBeforeAFileThatHasItsName(t *testing.T) {
	t.Parallel()
	entries, _ := knowledge.Open(project(t, map[string]string{
		".ralph/knowledge/env.md":   file("Another", "", "Its file has the name of the other's title."),
		".ralph/knowledge/env-2.md": file("Env", "", "By its title."),
	})).Load()
	for name, want := range map[string]string{"env": "Env", "env.md": "Another", "env-2": "Env"} {
		got, err := knowledge.Find(entries, name)
		check.OK(t, err)
		check.Equal(t, name, want, got.Title)
	}
}

func TestSearchLooksEverywhere(t *testing.T) {
	t.Parallel()
	entries, _ := knowledge.Open(shelf(t)).Load()
	for text, want := range map[string][]string{
		"gates":    {"All gates", "gates", "Gates", "Run the tests"},
		"ci RACE":  {"Run the tests"},
		"red gate": nil,
		"":         nil,
		"!":        nil,
	} {
		got := titles(knowledge.Search(entries, text), titleOf)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", text, diff)
		}
	}
}

func TestRemoveForgetsAtOnce(t *testing.T) {
	t.Parallel()
	store := knowledge.Open(shelf(t))
	store.Load()
	if e, err := store.Remove("plain"); err != nil || e.Title != "Plain" {
		t.Errorf("got %+v, %v", e, err)
	}
	if entries, _ := store.Load(); len(entries) != 4 {
		t.Errorf("got %v", titles(entries, titleOf))
	}
	if _, err := store.Remove("plain"); !errors.Is(err, knowledge.ErrNotFound) {
		t.Errorf("got %v, want ErrNotFound", err)
	}
	if _, err := knowledge.Open(t.TempDir()).Remove("plain"); !errors.Is(err, knowledge.ErrNotFound) {
		t.Errorf("got %v, want ErrNotFound", err)
	}
}

func TestLint(t *testing.T) {
	t.Parallel()
	var got []string
	for _, p := range knowledge.Open(shelf(t)).Lint() {
		got = append(got, fmt.Sprintf("%s %s: %s", strings.TrimPrefix(p.File, ".ralph/knowledge/"), p.Rule, p.Detail))
	}
	want := []string{
		"all-gates.md oversize: 600 words; only the first 500 are used",
		`all-gates.md duplicate: says what .ralph/knowledge/gates.md says: "Gates"`,
		"bad.md unreadable: no front matter: the first line is not ---",
		`gates.md duplicate: says what .ralph/knowledge/gates-2.md says: "gates"`,
		"plain.md untagged: no task will find it by its tags",
		`run-the-tests.md broken-link: no entry is called "nobody"`,
	}
	check.Equal(t, "result", want, got)
}

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// project is a folder with files in it, by their path.
func project(t testing.TB, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		put(t, root, name, text)
	}
	return root
}

func put(t testing.TB, root, name, text string) {
	t.Helper()
	path := filepath.Join(root, name)
	check.OK(t, os.MkdirAll(filepath.Dir(path), 0o700))
	check.OK(t, os.WriteFile(path, []byte(text), 0o600))
}

// file is the text of an entry.
func file(title, tags, body string) string {
	return "---\ntitle: " + title + "\ntags: [" + tags + "]\n---\n\n" + body + "\n"
}

func load(t testing.TB, root string) []knowledge.Entry {
	t.Helper()
	entries, warnings := knowledge.Open(root).Load()
	if len(warnings) > 0 {
		t.Fatalf("warnings: %v", warnings)
	}
	return entries
}

func titles[T any](list []T, title func(T) string) (out []string) {
	for _, v := range list {
		out = append(out, title(v))
	}
	return out
}

func write(t testing.TB, root string, e knowledge.Entry) knowledge.Result {
	t.Helper()
	r, err := knowledge.Open(root).Write(e)
	check.OK(t, err)
	return r
}

func titleOf(e knowledge.Entry) string { return e.Title }
