//go:build unix

package knowledge_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"ralph/internal/testing/check"
	"ralph/knowledge"
)

const whole = `---
title: "Tests: run them with -race"
kind: failure
tags: [go, error handling]
feature: auth
created_at: 2026-01-02T03:04:05Z
task: t-1f0c9a3e
run: r-1
owner: somebody # what we do not know does not disturb
---

Run them. See [[Gates]].
`

func TestAWholeFileIsRead(t *testing.T) {
	t.Parallel()
	want := knowledge.Entry{
		Title: "Tests: run them with -race", Kind: knowledge.Failure, Tags: []string{"go", "error handling"}, Feature: "auth",
		CreatedAt: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Task: "t-1f0c9a3e", Run: "r-1", Body: "Run them. See [[Gates]].", File: "x.md", Words: 4,
	}
	for name, text := range map[string]string{"as it is": whole, "from Windows": "\ufeff" + strings.ReplaceAll(whole, "\n", "\r\n")} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := load(t, project(t, map[string]string{".ralph/knowledge/x.md": text}))
			check.Equal(t, "result", []knowledge.Entry{want}, got, cmpopts.IgnoreUnexported(knowledge.Entry{}))
		})
	}
}

func TestWhatPeopleWriteIsRead(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		front string
		want  knowledge.Entry
	}{
		"tags in a line":        {"title: A\ntags: go, error handling", knowledge.Entry{Title: "A", Tags: []string{"go", "error handling"}}},
		"tags line by line":     {"title: A\ntags:\n  - go\n  - 1.26", knowledge.Entry{Title: "A", Tags: []string{"go", "1.26"}}},
		"a number as the title": {"title: 2026", knowledge.Entry{Title: "2026"}},
		"a day":                 {"title: A\ncreated_at: 2026-01-02", knowledge.Entry{Title: "A", CreatedAt: time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC)}},
		"a kind of their own":   {"title: A\nkind: rumour", knowledge.Entry{Title: "A"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := load(t, project(t, map[string]string{".ralph/knowledge/x.md": "---\n" + tt.front + "\n---\n"}))
			tt.want.Kind, tt.want.File = knowledge.Lesson, "x.md"
			check.Equal(t, "result", []knowledge.Entry{tt.want}, got, cmpopts.IgnoreUnexported(knowledge.Entry{}))
		})
	}
}

func TestNoFolderIsNoKnowledge(t *testing.T) {
	t.Parallel()
	if entries, warnings := knowledge.Open(t.TempDir()).Load(); entries != nil || warnings != nil {
		t.Errorf("got %v and %v", entries, warnings)
	}
}

// TestABadFileIsAWarningThatNamesIt also proves that the good ones are still read.
func TestABadFileIsAWarningThatNamesIt(t *testing.T) {
	t.Parallel()
	bomb := "a: &a [x,x,x,x,x,x,x,x,x]\n"
	for _, pair := range []string{"ba", "cb", "dc", "ed", "fe", "gf", "hg", "ih"} {
		bomb += pair[:1] + ": &" + pair[:1] + " [" + strings.Repeat("*"+pair[1:]+",", 9) + "]\n"
	}
	for name, tt := range map[string]struct {
		make func(path string) error
		want string
	}{
		"no front matter":  {text("just words\n"), "no front matter"},
		"broken YAML":      {text("---\ntitle: [\n---\n"), "front matter: "},
		"no end":           {text("---\ntitle: a\n"), "without end"},
		"no title":         {text("---\ntags: [a]\n---\nx\n"), "no title"},
		"a blank title":    {text("---\ntitle: \"\\u200b \\n\"\n---\nx\n"), "no title"},
		"a title of lists": {text("---\ntitle: [a, b]\n---\nx\n"), "front matter: "},
		"a bad time":       {text("---\ntitle: a\ncreated_at: soon\n---\nx\n"), "created_at"},
		"a YAML bomb":      {text("---\ntitle: a\n" + bomb + "tags: *i\n---\n"), "aliases"},
		"a deep YAML":      {text("---\n" + strings.Repeat("[", 4000) + "\n---\n"), "front matter: "},
		"a tag on a title": {text("---\ntitle: !!binary x\n---\n"), ""},
		"binary":           {text("---\ntitle: a\n---\n\x00\x01"), "not a text"},
		"not UTF-8":        {text("---\ntitle: \xff\n---\n"), "not a text"},
		"empty":            {text(""), "no front matter"},
		"200 MB": {func(path string) error {
			f, err := os.Create(path)
			if err != nil {
				return err
			}
			defer f.Close()
			return f.Truncate(200 << 20)
		}, "209715200 bytes"},
		"a pipe":          {func(path string) error { return syscall.Mkfifo(path, 0o600) }, "not a regular file"},
		"a folder":        {func(path string) error { return os.Mkdir(path, 0o700) }, "a folder"},
		"a link outside":  {func(path string) error { return os.Symlink("/etc/passwd", path) }, "symbolic link"},
		"a link inside":   {func(path string) error { return os.Symlink("good.md", path) }, "symbolic link"},
		"a link nowhere":  {func(path string) error { return os.Symlink("nothing", path) }, "symbolic link"},
		"a link to a tty": {func(path string) error { return os.Symlink("/dev/tty", path) }, "symbolic link"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := project(t, map[string]string{".ralph/knowledge/good.md": file("Good", "a", "b"), ".ralph/knowledge/.tmp-x": "", ".ralph/knowledge/notes.txt": ""})
			check.OK(t, tt.make(filepath.Join(root, ".ralph/knowledge/bad.md")))
			store := knowledge.Open(root)
			for _, how := range []string{"cold", "warm"} {
				entries, warnings := store.Load()
				if diff := cmp.Diff([]string{"Good"}, titles(entries, titleOf)); diff != "" && name != "a tag on a title" {
					t.Errorf("%s (-want +got):\n%s", how, diff)
				}
				if name == "a tag on a title" {
					continue // whatever it is, it is not the end
				}
				if len(warnings) != 1 || warnings[0].File != ".ralph/knowledge/bad.md" || !strings.Contains(warnings[0].Why, tt.want) {
					t.Errorf("%s: got %v, want %q", how, warnings, tt.want)
				}
			}
		})
	}
}

func text(s string) func(string) error {
	return func(path string) error { return os.WriteFile(path, []byte(s), 0o600) }
}

func TestAFolderOutsideTheProjectIsRefused(t *testing.T) {
	t.Parallel()
	outside := project(t, map[string]string{"x.md": file("Outside", "a", "b")})
	root := project(t, map[string]string{".ralph/keep": ""})
	check.OK(t, os.Symlink(outside, filepath.Join(root, ".ralph/knowledge")))
	store := knowledge.Open(root)
	entries, warnings := store.Load()
	if len(entries) != 0 || len(warnings) != 1 || warnings[0].File != ".ralph/knowledge" {
		t.Errorf("got %v and %v", entries, warnings)
	}
	if _, err := store.Write(knowledge.Entry{Title: "x", Body: "y"}); err == nil {
		t.Error("an entry was written outside the project")
	}
	if names, _ := os.ReadDir(outside); len(names) != 1 {
		t.Errorf("got %v outside", names)
	}
}

func TestAChangeIsSeen(t *testing.T) {
	t.Parallel()
	const name = ".ralph/knowledge/a.md"
	for how, change := range map[string]func(t *testing.T, root string){
		"another size": func(t *testing.T, root string) {
			put(t, root, name, file("After!", "a", "b"))
			check.OK(t, os.Chtimes(filepath.Join(root, name), noon, noon))
		},
		"another time": func(t *testing.T, root string) {
			put(t, root, name, file("After", "a", "b"))
			check.OK(t, os.Chtimes(filepath.Join(root, name), noon, noon.Add(time.Nanosecond)))
		},
		"another file of the same time and size": func(t *testing.T, root string) {
			put(t, root, "new", file("After", "a", "b"))
			check.OK(t, os.Chtimes(filepath.Join(root, "new"), noon, noon))
			check.OK(t, os.Rename(filepath.Join(root, "new"), filepath.Join(root, name)))
		},
		"one gone and one come": func(t *testing.T, root string) {
			check.OK(t, os.Rename(filepath.Join(root, name), filepath.Join(root, "gone")))
			put(t, root, ".ralph/knowledge/b.md", file("After", "a", "b"))
		},
	} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			root := project(t, map[string]string{name: file("Befor", "a", "b")})
			check.OK(t, os.Chtimes(filepath.Join(root, name), noon, noon))
			store := knowledge.Open(root)
			store.Load()
			change(t, root)
			entries, warnings := store.Load()
			if len(entries) != 1 || !strings.HasPrefix(entries[0].Title, "After") || len(warnings) != 0 {
				t.Errorf("got %v and %v", titles(entries, titleOf), warnings)
			}
		})
	}
}

func TestWhatDidNotChangeIsNotReadAgain(t *testing.T) {
	t.Parallel()
	const name = ".ralph/knowledge/a.md"
	root := project(t, map[string]string{name: file("Before", "a", "b")})
	store := knowledge.Open(root)
	path := filepath.Join(root, name)
	check.OK(t, os.Chtimes(path, noon, noon))
	store.Load()
	put(t, root, name, file("AFTER!", "a", "b")) // the same file, size and time
	check.OK(t, os.Chtimes(path, noon, noon))
	if entries, _ := store.Load(); len(entries) != 1 || entries[0].Title != "Before" {
		t.Errorf("got %v: the file was read again", titles(entries, titleOf))
	}
}
