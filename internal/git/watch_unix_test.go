//go:build unix

package git

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"ralph/internal/testing/check"
)

// TestGitDoesNotWaitForAPipe, which an agent may have left, and nobody writes into.
func TestGitDoesNotWaitForAPipe(t *testing.T) { //nolint:paralleltest // it changes how long git may take
	defer func(was time.Duration) { slow = was }(slow)
	slow = 0
	for _, name := range []string{".gitignore", ".gitattributes", "in/.gitignore"} {
		r := newRepo(t)
		r.commit("in/a", "b")
		r.write("in/new", "new")
		check.OK(t, syscall.Mkfifo(filepath.Join(r.dir, name), 0o600))
		repo, err := OpenRepo(t.Context(), r.dir)
		check.OK(t, err)
		for place, look := range map[string]func() error{
			"in a slot": func() error {
				_, err := repo.Git(t.Context(), Call{WorkTree: r.dir, Index: filepath.Join(t.TempDir(), "index")}, "add", "--all")
				return err
			},
			"that outlives us": func() error {
				_, err := repo.Git(t.Context(), Call{WorkTree: r.dir, Index: filepath.Join(t.TempDir(), "index"), Outlive: true}, "add", "--all")
				return err
			},
		} {
			err := look()
			check.That(t, errors.Is(err, ErrWaits), "git %s with a pipe %s: got %v", place, name, err)
			if err != nil {
				check.Contains(t, "the error", filepath.Join(r.dir, name)+" is not a regular file", err.Error())
			}
		}
	}
}

// TestAPipeAmongTheFilesOfGitHoldsNobodyUp: git opens them, whatever they are, and so would we.
func TestAPipeAmongTheFilesOfGitHoldsNobodyUp(t *testing.T) { //nolint:paralleltest // it changes how long git may take
	defer func(was time.Duration) { slow = was }(slow)
	slow = 0
	for _, name := range []string{"index", "HEAD", "packed-refs", "config", "refs/heads/main"} {
		r := newRepo(t)
		r.commit("a", "b")
		repo, err := OpenRepo(t.Context(), r.dir)
		check.OK(t, err)
		pipe := filepath.Join(r.dir, ".git", filepath.FromSlash(name))
		check.OK(t, os.RemoveAll(pipe))
		check.OK(t, syscall.Mkfifo(pipe, 0o600))
		Head(t.Context(), r.dir)
		check.That(t, !Look(t.Context(), r.dir).Known, "with a pipe %s git knows how the tree stands", name)
		_, err = repo.Git(t.Context(), Call{Own: repo.Own(), WorkTree: r.dir}, "commit", "--allow-empty", "-m", "more")
		check.That(t, errors.Is(err, ErrWaits), "with a pipe %s: got %v", name, err)
		_, _ = OpenRepo(t.Context(), r.dir)
	}
}

// TestWhatIsNoFileButHoldsNobodyUp is left to git, as is a pipe that git has no business with.
func TestWhatIsNoFileButHoldsNobodyUp(t *testing.T) { //nolint:paralleltest // it changes how long git may take
	defer func(was time.Duration) { slow = was }(slow)
	slow = 0
	r := newRepo(t)
	r.commit("a")
	check.OK(t, syscall.Mkfifo(filepath.Join(r.dir, "pipe"), 0o600))
	r.write(".gitignore/file", "in a folder", "b", "new")
	check.OK(t, syscall.Symlink("pipe", filepath.Join(r.dir, ".gitattributes")))
	check.OK(t, syscall.Symlink(os.DevNull, filepath.Join(r.dir, ".git", "info", "attributes")))
	check.OK(t, findPipe(filepath.Join(r.dir, ".git"), true, nil))
	repo, err := OpenRepo(t.Context(), r.dir)
	check.OK(t, err)
	_, err = repo.Git(t.Context(), Call{WorkTree: r.dir, Index: filepath.Join(t.TempDir(), "index")}, "add", "--all")
	check.OK(t, err)
}
