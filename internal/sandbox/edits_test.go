//go:build linux

package sandbox

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ralph/internal/proc"
	"ralph/internal/testing/check"
)

// editWorld is a project whose tests were changed in ways that are in the way of the old ones.
func editWorld(t *testing.T) (*world, Profile) {
	t.Helper()
	w := newWorld(t)
	fill(t, w.Base, map[string]string{
		"project/a_test": "new", "project/new/deep_test": "new", "project/kept/new_test": "new", "project/kept/src": "src",
		"project/folder/in/the/way": "new", "project/flat": "new", "project/sealed/b_test": "new", "project/build/c_test": "new",
		"put/a_test": "old", "put/gone/d_test": "old", "put/folder": "old", "put/flat/e_test": "old", "put/sealed/b_test": "old",
		"put/out/file": "old", "put/loop/file": "old", "put/build/c_test": "old", "put/.ralph/state": "old",
	})
	for link, target := range map[string]string{"out": w.Outside, "loop": "kept", "absolute": "/etc"} {
		must(os.Symlink(target, filepath.Join(w.Project, link)))
	}
	// As git.Later dates them: a file of the same size and time counts as the same, and the clock of a file system stands still for milliseconds.
	later := time.Now().Add(time.Hour)
	must(filepath.WalkDir(w.Base+"/put", func(path string, _ os.DirEntry, err error) error {
		return errors.Join(err, os.Chtimes(path, later, later))
	}))
	must(os.Symlink("kept/src", w.Base+"/put/link"))
	must(os.Chmod(w.Project+"/sealed/b_test", 0o400))
	must(os.Chmod(w.Project+"/sealed", 0o500))
	t.Cleanup(func() { os.Chmod(w.Project+"/sealed", 0o700) })
	p := w.profile(Namespaces, Verify)
	p.Scratch = w.Base + "/scratch"
	must(os.Mkdir(p.Scratch, 0o700))
	p.Write = []string{w.Project + "/build", w.Outside} // the process may really write these
	p.Edits = Edits{Put: w.Base + "/put", Remove: []string{"new/deep_test", "kept/new_test", "never/there"}}
	return w, p
}

// TestFilesAreChangedInTheOverlayOnly before the process starts, whatever is in their way. Where it really writes, it finds
// what is there.
func TestFilesAreChangedInTheOverlayOnly(t *testing.T) {
	t.Parallel()
	need(t, Namespaces)
	w, p := editWorld(t)
	before := look(w.Project, w.Outside, w.Base+"/put")
	out, exit := run(t, p, nil, "sh", "-c", `for f in a_test gone/d_test folder flat/e_test sealed/b_test out/file loop/file link kept/src build/c_test .ralph/state; do echo "$f $(cat $f)"; done
ls -d new kept/new_test; echo mine > a_test; cat a_test`)
	want := []string{
		"a_test old", "gone/d_test old", "folder old", "flat/e_test old", "sealed/b_test old", "out/file old", "loop/file old", "link src",
		"kept/src src", "build/c_test new", ".ralph/state state", "ls: cannot access 'new'", "ls: cannot access 'kept/new_test'", "mine",
	}
	lines := strings.Split(out, "\n")
	check.That(t, exit.Ok() && len(lines) == len(want), "got %v %q", exit, out)
	for i, line := range want {
		check.That(t, strings.HasPrefix(lines[i], line), "got %q, want %q in %q", lines[i], line, out)
	}
	check.Equal(t, "what is real", before, look(w.Project, w.Outside, w.Base+"/put"))
}

// TestAProcessDoesNotStartWithoutItsChanges: it would say something about other files.
func TestAProcessDoesNotStartWithoutItsChanges(t *testing.T) {
	t.Parallel()
	need(t, Namespaces)
	w, p := editWorld(t)
	before := look(w.Project, w.Outside)
	for name, edits := range map[string]Edits{
		"a folder that is missing": {Put: w.Base + "/missing"},
		"a way that leads out":     {Remove: []string{"absolute/passwd"}},
		"a name that leads out":    {Remove: []string{"../outside/file"}},
	} {
		p.Edits = edits
		data, err := p.Encode()
		check.OK(t, err)
		started, err := proc.Start(proc.Spec{Argv: []string{"true"}, Dir: p.Project, Env: os.Environ(), Confine: data})
		if err == nil {
			_ = started.Kill()
		}
		check.That(t, err != nil && strings.Contains(err.Error(), "change files in an overlay"), "%s: got %v", name, err)
	}
	check.Equal(t, "what is real", before, look(w.Project, w.Outside))
	for _, mode := range []Mode{Work, Verify} {
		bad := p
		if bad.Mode = mode; mode == Verify {
			bad.Level = Landlock
		}
		_, err := bad.Encode()
		check.That(t, err != nil, "files of the project itself would be changed in mode %s", mode)
	}
}
