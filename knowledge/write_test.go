package knowledge_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"ralph/internal/testing/check"
	"ralph/knowledge"
)

const written = `---
title: "Gates: \"red\" is red"
kind: failure
tags: [go, error handling]
feature: auth
created_at: "2026-01-02T12:00:00Z"
task: t-1
run: r-1
---

Run [[Tests]] first.
`

func TestAWrittenFile(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	got, err := knowledge.Open(root).Write(knowledge.Entry{
		Title: "Gates:\n\"red\" is red", Kind: knowledge.Failure, Tags: []string{"go", " error handling ", "", "GO"}, Feature: "auth", CreatedAt: noon, Task: "t-1", Run: "r-1",
		Body: "Run [[Tests]] first.\n\n",
	})
	if err != nil || got.File != "gates-red-is-red.md" || got.Updated || got.Cut {
		t.Fatalf("got %+v, %v", got, err)
	}
	path := filepath.Join(root, ".ralph/knowledge", got.File)
	data, err := os.ReadFile(path)
	check.OK(t, err)
	check.Equal(t, "result", written, string(data))
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("got mode %v, %v", info.Mode(), err)
	}
	if names, _ := os.ReadDir(filepath.Dir(path)); len(names) != 1 {
		t.Errorf("something is left over: %v", names)
	}
}

func TestWritingTheSameTwiceChangesNothing(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	e := knowledge.Entry{Title: "A", Tags: []string{"x"}, Body: "b", CreatedAt: noon}
	first := write(t, root, e)
	path := filepath.Join(root, ".ralph/knowledge", first.File)
	before, err := os.Stat(path)
	check.OK(t, err)
	e.CreatedAt = noon.Add(time.Hour)
	again, err := knowledge.Open(root).Write(e)
	if err != nil || !again.Updated || !again.Unchanged {
		t.Errorf("got %+v, %v", again, err)
	}
	if after, err := os.Stat(path); err != nil || !os.SameFile(before, after) {
		t.Errorf("the file was replaced: %v", err)
	}
}

func TestWhatSaysTheSameIsUpdated(t *testing.T) {
	t.Parallel()
	old := knowledge.Entry{Title: "Run the tests", Tags: []string{"go", "test", "ci"}, Feature: "auth", Body: "old", CreatedAt: noon, Task: "t-1", Run: "r-1"}
	for name, tt := range map[string]struct {
		title   string
		tags    []string
		updates bool
	}{
		"the same title":                            {"Run the tests", nil, true},
		"the same but for case and blanks":          {"  run THE\ttests ", []string{"other"}, true},
		"a longer title and more than half of tags": {"Run the tests with -race", []string{"go", "test"}, true},
		"a shorter title":                           {"the tests", []string{"ci", "go", "test"}, true},
		"a longer title but half of the tags":       {"Run the tests again", []string{"go", "test", "x", "y"}, false},
		"a longer title, no tags":                   {"Run the tests again", nil, false},
		"the tags, but another title":               {"Write the tests", []string{"go", "test", "ci"}, false},
		"half a word is not within, either":         {"the test", []string{"go", "test", "ci"}, false},
		"within a word is not within":               {"Prerun the testsuite", []string{"go", "test", "ci"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			store := knowledge.Open(root)
			write(t, root, old)
			got, err := store.Write(knowledge.Entry{Title: tt.title, Tags: tt.tags, Body: "new", CreatedAt: noon.Add(time.Hour), Task: "t-2", Run: "r-2"})
			if err != nil || got.Updated != tt.updates {
				t.Fatalf("got %+v, %v", got, err)
			}
			entries := load(t, root)
			if !tt.updates {
				if len(entries) != 2 {
					t.Errorf("got %v", titles(entries, titleOf))
				}
				return
			}
			want := old
			want.Body, want.Task, want.Run, want.Kind, want.File, want.Words = "new", "t-2", "r-2", knowledge.Lesson, "run-the-tests.md", 1
			for _, tag := range tt.tags {
				if tag == "other" {
					want.Tags = append(want.Tags, tag)
				}
			}
			check.Equal(t, "result", []knowledge.Entry{want}, entries, cmpopts.IgnoreUnexported(knowledge.Entry{}))
		})
	}
}

func TestALongBodyIsCutAndSaysSo(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]string{
		"many words":             strings.Repeat("word ", 812),
		"one word without end":   strings.Repeat("x", 60_000),
		"a script without words": strings.Repeat("知識は力なり。", 4000),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			got, err := knowledge.Open(root).Write(knowledge.Entry{Title: "Long", Body: body})
			if err != nil || !got.Cut || len(strings.Fields(got.Body)) > 500 || len(got.Body) > 8000 {
				t.Fatalf("got %d bytes, %v", len(got.Body), err)
			}
			if want := fmt.Sprintf("[cut: %d words were written]", len(strings.Fields(body))); !strings.HasSuffix(got.Body, want) {
				t.Errorf("the end is %q, want %q", got.Body[len(got.Body)-40:], want)
			}
			if entries := load(t, root); entries[0].Body != got.Body {
				t.Errorf("it is cut again when it is read")
			}
		})
	}
}

// TestHostileTitles also gives two titles of the same slug a file each.
func TestHostileTitles(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	outside, err := os.ReadDir(filepath.Dir(root))
	check.OK(t, err)
	store := knowledge.Open(root)
	list := []string{
		"../../etc/passwd", "/etc/passwd", "..", ".", "a/b", `a\b`, "CON", "com1", ".hidden", "-rf", "a\x00b", "日本語", "日本", "🚀", "C", "C++", "C#",
		strings.Repeat("long ", 200), strings.Repeat("é", 500), "---", "title: x", "\"", "'", "- a", "[a]", "{a: b}", "&a", "*a", "!!str a", "# a", "| a", "> a", "%a", "@a", "`a`",
		"null", "~", "true", "1e3", "0x10", "2026-01-02", "a: b: c", "a #b", "\u202etxt.exe", "é", "e\u0301", "<<", "=", "?", "? a", "a:", ":a", "\t", "x\ry",
	}
	for _, title := range list {
		r, err := store.Write(knowledge.Entry{Title: title, Body: title})
		if strings.TrimSpace(title) == "" {
			if err == nil {
				t.Errorf("%q is no title", title)
			}
			continue
		}
		if err != nil || r.Updated {
			t.Errorf("%q: %+v, %v", title, r, err)
		}
		if !isSlug(r.File) {
			t.Errorf("%q is in %q", title, r.File)
		}
	}
	entries, warnings := knowledge.Open(root).Load()
	if len(entries) != len(list)-1 || len(warnings) != 0 {
		t.Errorf("got %d entries of %d, %v", len(entries), len(list)-1, warnings)
	}
	if now, _ := os.ReadDir(filepath.Dir(root)); len(now) != len(outside) {
		t.Errorf("files appeared outside: %v", now)
	}
}

func isSlug(file string) bool {
	name, ok := strings.CutSuffix(file, ".md")
	return ok && name != "" && len(name) <= 80 && strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789-") == "" && name[0] != '-'
}

func TestANameThatIsTakenIsLeftAlone(t *testing.T) {
	t.Parallel()
	root := project(t, map[string]string{".ralph/knowledge/a-b.md": "broken", ".ralph/knowledge/keep": ""})
	check.OK(t, os.Mkdir(filepath.Join(root, ".ralph/knowledge/c.md"), 0o700))
	store := knowledge.Open(root)
	for _, title := range []string{"A b", "A/b", "c"} {
		if r, err := store.Write(knowledge.Entry{Title: title, Body: "x"}); err != nil || r.Updated || r.File == "a-b.md" || r.File == "c.md" {
			t.Errorf("%q: %+v, %v", title, r, err)
		}
	}
	if data, err := os.ReadFile(filepath.Join(root, ".ralph/knowledge/a-b.md")); err != nil || string(data) != "broken" {
		t.Errorf("a broken file was overwritten: %q, %v", data, err)
	}
	entries, warnings := store.Load()
	if len(entries) != 3 || len(warnings) != 2 {
		t.Errorf("got %v and %v", titles(entries, titleOf), warnings)
	}
}

func TestLeftoversOfTheDeadAreSwept(t *testing.T) {
	t.Parallel()
	root := project(t, map[string]string{".ralph/knowledge/.tmp-old": "x", ".ralph/knowledge/.tmp-new": "x"})
	check.OK(t, os.Chtimes(filepath.Join(root, ".ralph/knowledge/.tmp-old"), noon.AddDate(-9, 0, 0), noon.AddDate(-9, 0, 0)))
	write(t, root, knowledge.Entry{Title: "x"})
	names, err := os.ReadDir(filepath.Join(root, ".ralph/knowledge"))
	if diff := cmp.Diff([]string{".tmp-new", "x.md"}, titles(names, os.DirEntry.Name)); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

// TestManyWritersLoseNothing writes with several stores on one folder, as several
// processes would.
func TestManyWritersLoseNothing(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	var group sync.WaitGroup
	for w := range 4 {
		store := knowledge.Open(root)
		for half := range 2 {
			group.Go(func() {
				for i := range 10 {
					title := fmt.Sprintf("%s %d of %d", strings.Repeat("same ", 20), i*2+half, w)
					if _, err := store.Write(knowledge.Entry{Title: fmt.Sprintf("%d.%d.%d %s", w, half, i, title)}); err != nil {
						t.Error(err)
					}
					if _, err := store.Write(knowledge.Entry{Title: strings.Repeat("!", 1+w*20+half*10+i)}); err != nil {
						t.Error(err)
					}
				}
			})
		}
	}
	group.Wait()
	if entries := load(t, root); len(entries) != 160 {
		t.Errorf("got %d entries, want 160", len(entries))
	}
}

// TestWhatIsWrittenIsRead holds for any text.
func TestWhatIsWrittenIsRead(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		check.OK(t, os.RemoveAll(filepath.Join(root, ".ralph")))
		e := knowledge.Entry{
			Title: rapid.String().Draw(t, "title"), Tags: rapid.SliceOf(rapid.String()).Draw(t, "tags"), Feature: rapid.String().Draw(t, "feature"),
			Task: rapid.String().Draw(t, "task"), Run: rapid.String().Draw(t, "run"), Kind: knowledge.Kind(rapid.SampledFrom([]string{"", "lesson", "failure", "x"}).Draw(t, "kind")),
			Body: rapid.OneOf(rapid.String(), rapid.StringN(0, 4000, -1)).Draw(t, "body"), CreatedAt: noon,
		}
		store := knowledge.Open(root)
		r, err := store.Write(e)
		if err != nil {
			if !errors.Is(err, knowledge.ErrInvalid) {
				t.Fatal(err)
			}
			return
		}
		entries, warnings := knowledge.Open(root).Load()
		if diff := cmp.Diff([]knowledge.Entry{r.Entry}, entries, cmpopts.IgnoreUnexported(knowledge.Entry{}), cmpopts.EquateEmpty(), cmpopts.IgnoreFields(knowledge.Entry{}, "Words")); diff != "" || warnings != nil {
			t.Fatalf("%v (-want +got):\n%s", warnings, diff)
		}
		if again, err := store.Write(e); err != nil || !again.Unchanged {
			t.Fatalf("not the same the second time: %+v, %v", again, err)
		}
	})
}

func TestALinkOutOfTheProjectIsNamed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.Symlink(t.TempDir(), filepath.Join(dir, ".ralph")); err != nil {
		t.Skip(err) // no links without a right to them, on Windows
	}
	const want = ".ralph/knowledge: a link there leads out of the project and is not followed"
	_, err := knowledge.Open(dir).Write(knowledge.Entry{Title: "Note", Body: "text"})
	if err == nil || !strings.HasSuffix(err.Error(), want) {
		t.Errorf("got %v, want %s", err, want)
	}
}
