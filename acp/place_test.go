package acp

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"ralph/internal/seen"
	"ralph/internal/testing/check"
)

// TestWhatAnAgentNamesIsWhereItSeesIt: of the folder that its own covers, an agent reads what is allowed and writes nothing.
func TestWhatAnAgentNamesIsWhereItSeesIt(t *testing.T) {
	t.Parallel()
	person, slot := t.TempDir(), t.TempDir()
	for _, dir := range []string{person + "/.ralph/runs", person + "/sub", slot + "/sub", slot + "/.ralph"} {
		check.OK(t, os.MkdirAll(dir, 0o700))
	}
	for name, text := range map[string]string{person + "/mine.txt": "mine", person + "/sub/a.txt": "mine", person + "/.ralph/runs/log": "log", slot + "/sub/b.txt": "b"} {
		check.OK(t, os.WriteFile(name, []byte(text), 0o600))
	}
	place := seen.Folder{Real: slot, Seen: person}
	f, err := openFiles(slot, place, []string{slot + "/.ralph"}, []string{".git"}, nil)
	check.OK(t, err)
	t.Cleanup(f.close)
	f.also, err = openFiles(person+"/.ralph", seen.Folder{}, nil, nil, nil)
	check.OK(t, err)
	for _, name := range []string{"/sub/a.txt", "/sub/../sub/a.txt", "/sub/new/c.txt"} {
		_, err := f.write(person+name, "work")
		check.OK(t, err)
		text, err := os.ReadFile(filepath.Join(slot, name))
		check.OK(t, err)
		check.Equal(t, name, "work", string(text))
	}
	for _, name := range []string{"/../out.txt", "/.ralph/runs/log", "/.git/config", "/sub/../../out.txt"} {
		if _, err := f.write(person+name, "work"); err == nil {
			t.Errorf("%s was written", name)
		}
	}
	text, err := f.read(person+"/.ralph/runs/log", 0, 0)
	check.OK(t, err)
	check.Equal(t, "what ralph keeps there", "log", text)
	if text, err := f.read(person+"/mine.txt", 0, 0); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the person's file: got %q, %v", text, err)
	}
	for name, want := range map[string]string{"mine.txt": "mine", "sub/a.txt": "mine", ".ralph/runs/log": "log"} {
		text, err := os.ReadFile(filepath.Join(person, name))
		check.OK(t, err)
		check.Equal(t, name, want, string(text))
	}

	// Rules see where links lead in the agent's folder, whatever the covered one has by the same name.
	s := &Session{cfg: Config{Dir: slot, Place: place}, files: f}
	check.OK(t, os.Symlink(person+"/sub/link", slot+"/abs"))
	check.OK(t, os.Symlink("/etc/../etc", slot+"/sub/link"))
	check.Equal(t, "by links", []string{"/etc/passwd", "abs/passwd"}, s.withLinks([]string{s.name(person + "/abs/passwd")}))
	check.Equal(t, "outside", "/etc/passwd", s.name("/etc/passwd"))
	check.Equal(t, "the agent's folder", person, s.cwd())
}
