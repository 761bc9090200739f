//go:build unix

package slot

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"ralph/internal/git"
	"ralph/internal/testing/check"
	"ralph/internal/testing/raced"
)

const childEnv = "RALPH_TEST_SLOT_CHILD"

// TestMain lets this binary be the ralph that dies.
func TestMain(m *testing.M) {
	if args := os.Getenv(childEnv); args != "" {
		if err := child(strings.Fields(args)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// child takes a slot, works in it, keeps the work and shows another commit.
func child(args []string) error {
	project, first, second := args[0], args[1], args[2]
	ctx := context.Background()
	r, err := git.OpenRepo(ctx, project)
	if err != nil {
		return err
	}
	beside := filepath.Dir(project)
	p := Open(Options{Repo: r, Dir: filepath.Join(beside, "slots"), State: filepath.Join(beside, "state"), Project: project, Branch: "main"})
	s, err := p.Take(ctx, 1, "a-1", first, first)
	if err != nil {
		return err
	}
	err = os.WriteFile(filepath.Join(s.Dir(), "work"), []byte("work\n"), 0o600)
	if err == nil {
		_, err = s.Keep(ctx, first, "work")
	}
	if err == nil {
		err = s.Show(ctx, second, second)
	}
	return err
}

// TestRalphIsKilled at each git that it runs, which may live on: the next one finds a slot that
// is as new (in-slot-setup), and never takes files that were being set for the work of an agent.
func TestRalphIsKilled(t *testing.T) {
	raced.Long(t, "the program is killed here")
	t.Parallel()
	real, err := exec.LookPath("git")
	check.OK(t, err)
	died := 0
	for _, warm := range []bool{false, true} {
		for at := 1; ; at++ {
			done := false
			t.Run(fmt.Sprintf("warm %v, at git %d", warm, at), func(t *testing.T) {
				r := newRepo(t)
				first := r.commit(".gitignore", "cache\n", "a", "1\n", "dir/b", "b\n", "gone", "g\n")
				r.sh("rm gone; echo new > new")
				second := r.commit("a", "2\n")
				p := open(t, r, nil)
				if warm {
					_, slot := take(t, p, 1, second)
					slot.write("cache", "warm", "a", "changed\n", "left", "l\n")
				}
				bin := t.TempDir()
				wrapper := "#!/bin/sh\necho x >> " + bin + "/calls\nif [ $(wc -l < " + bin + "/calls) -eq " + strconv.Itoa(at) + " ]; then exec 9> " + bin + "/lives; kill -9 $PPID; fi\nexec " + real + " \"$@\"\n"
				program(t, filepath.Join(bin, "git"), wrapper)
				r.sh("mkfifo " + bin + "/lives")
				lives, err := os.OpenFile(filepath.Join(bin, "lives"), os.O_RDONLY|syscall.O_NONBLOCK, 0)
				check.OK(t, err)
				defer lives.Close()
				self, err := os.Executable()
				check.OK(t, err)
				cmd := exec.CommandContext(t.Context(), self)
				cmd.Env = append(os.Environ(), childEnv+"="+strings.Join([]string{r.dir, first, second}, " "), "PATH="+bin+":"+os.Getenv("PATH"))
				out, err := cmd.CombinedOutput()
				var exit *exec.ExitError
				if done = err == nil; done {
					return
				}
				check.That(t, errors.As(err, &exit) && exit.ExitCode() == -1, "it was not killed: %v\n%s", err, out)
				died++
				_, err = io.Copy(io.Discard, lives) // until the git that lives on has ended
				check.OK(t, err)
				left, err := p.At(1)
				switch {
				case err == nil && left.made.Commit == first: // in the turn
					w := keep(t, left, first)
					check.Equal(t, "what is kept", "A\twork", r.git("diff", "--name-status", first, w.Commit))
				case err == nil && !(repo{t, left.Top()}).has("left"): // nor as it was before
					check.Equal(t, "what is kept of a slot that shows a commit", second, keep(t, left, second).Commit)
				case err != nil:
					check.That(t, errors.Is(err, ErrTorn) || errors.Is(err, fs.ErrNotExist), "got %v", err)
				}
				_, slot := take(t, p, 1, first)
				wantClean(t, slot, first)
				check.Equal(t, "a file", "1\n", slot.text("a"))
				check.OK(t, p.Sweep())
				wantFolders(t, p, 1)
				check.Equal(t, "the project", "", r.git("status", "--porcelain"))
				temps, err := filepath.Glob(filepath.Join(p.o.State, "1", "tmp-*"))
				check.OK(t, err)
				check.Equal(t, "indexes that are left", 0, len(temps))
			})
			if done || t.Failed() {
				break
			}
		}
	}
	check.That(t, died > 20, "it died %d times only", died)
}

// TestAGitThatLivesOn writes into the folder that it began in, not into the one made since.
func TestAGitThatLivesOn(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	first := r.commit("a", "1\n", "dir/b", "b\n")
	p := open(t, r, nil)
	s, _ := take(t, p, 1, first)
	// A git that is slow, as a filter holds it up, in the middle of setting files.
	gate := filepath.Join(t.TempDir(), "gate")
	r.sh("mkfifo " + gate)
	r.git("config", "filter.slow.smudge", "cat "+gate+" - ")
	second := r.commit(".gitattributes", "z filter=slow\n", "z", "z\n", "a", "2\n", "zz", "zz\n")
	check.OK(t, s.begin())
	ended := make(chan error)
	go func() { ended <- s.files(t.Context(), second) }()
	open, err := os.OpenFile(gate, os.O_WRONLY, 0) // waits until the filter reads
	check.OK(t, err)
	p2 := Open(p.o) // the next ralph
	_, at := take(t, p2, 1, first)
	wantClean(t, at, first)
	check.OK(t, open.Close())
	<-ended // whatever it says: its folder has moved
	check.Equal(t, "the slot", map[string]string{"a": "1\n", "dir/b": "b\n"}, at.working())
	check.Equal(t, "work", first, keep(t, s, first).Commit)
}
