package merge

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ralph/internal/testing/check"
)

// land lands on the branch, or beyond it: then the error is why.
func (r repo) land(onto, candidate string) error {
	waits, err := Land(r.t.Context(), r.Repo, r.target, onto, candidate, false)
	return cmp.Or(err, waits)
}

func TestLandingMovesTheTargetAndItsFiles(t *testing.T) {
	t.Parallel()
	for _, format := range []string{"sha1", "sha256"} {
		r := newRepo(t, "--object-format="+format)
		base := r.head()
		work := r.on(base, func() {
			r.write("new/c", "c", "a.txt", "changed\n")
			r.git("rm", "-q", "sub/b.txt")
		})
		r.write("other", "o")
		onto := r.commit()
		next := r.build(onto, base, work).Candidate
		check.OK(t, Prove(t.Context(), r.Repo, base, work, onto, next))
		for range 2 { // landing again does nothing
			check.OK(t, r.land(onto, next))
			r.wantClean(next)
		}
		r.write("more", "m")
		later := r.commit()
		check.OK(t, r.land(onto, next)) // it is below
		r.wantClean(later)
		check.Contains(t, "reflog", "ralph: land", r.git("reflog"))
		check.OK(t, r.land(later, later))
	}
}

// TestUnrelatedChangesStay, staged and unstaged ones and untracked files.
func TestUnrelatedChangesStay(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	base := r.head()
	next := r.with(base, "new", "n")
	r.write("a.txt", "staged\n")
	r.git("add", "a.txt")
	r.write("sub/b.txt", "unstaged\n", "untracked", "u")
	before := r.git("status", "--porcelain")
	check.OK(t, r.land(base, next))
	check.Equal(t, "status", before, r.git("status", "--porcelain"))
	check.Equal(t, "new file", "n", r.read("new"))
	check.Equal(t, "head", next, r.head())
	check.Equal(t, "touched", "", r.git("diff", "HEAD", "--", "new"))
}

// TestAFileThatWasOnlyTouchedIsNotInTheWay: its content is what counts.
func TestAFileThatWasOnlyTouchedIsNotInTheWay(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	base := r.head()
	next := r.with(base, "a.txt", "changed\n")
	check.OK(t, os.Chtimes(filepath.Join(r.dir, "a.txt"), zeroTime, zeroTime))
	check.OK(t, r.land(base, next))
	r.wantClean(next)
}

func TestFilesInTheWayBlock(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		candidate, person func(r repo)
		want              []string
	}{
		"changed": {
			candidate: func(r repo) { r.write("a.txt", "x\n", "sub/b.txt", "y\n") },
			person:    func(r repo) { r.write("a.txt", "mine\n") },
			want:      []string{"a.txt"},
		},
		"staged": {
			candidate: func(r repo) { r.write("a.txt", "x\n") },
			person:    func(r repo) { r.write("a.txt", "mine\n"); r.git("add", "a.txt") },
			want:      []string{"a.txt"},
		},
		"staged and taken back": {
			candidate: func(r repo) { r.write("a.txt", "x\n") },
			person: func(r repo) {
				was := r.read("a.txt")
				r.write("a.txt", "mine\n")
				r.git("add", "a.txt")
				r.write("a.txt", was)
			},
			want: []string{"a.txt"},
		},
		"deleted": {
			candidate: func(r repo) { r.write("a.txt", "x\n") },
			person:    func(r repo) { r.git("rm", "-q", "a.txt") },
			want:      []string{"a.txt"},
		},
		"changed and to be deleted": {
			candidate: func(r repo) { r.git("rm", "-q", "a.txt") },
			person:    func(r repo) { r.write("a.txt", "mine\n") },
			want:      []string{"a.txt"},
		},
		"untracked": {
			candidate: func(r repo) { r.write("new ü\n", "x\n", "new2", "y") },
			person:    func(r repo) { r.write("new ü\n", "mine", "new2", "mine too") },
			want:      []string{"new ü\n", "new2"},
		},
		"untracked and the same": {
			candidate: func(r repo) { r.write("new", "x\n") },
			person:    func(r repo) { r.write("new", "x\n") },
			want:      []string{"new"},
		},
		"ignored": {
			candidate: func(r repo) { r.write(".env", "x\n") },
			person: func(r repo) {
				r.write(".git/info/exclude", ".env\n", ".env", "KEY=mine\n")
			},
			want: []string{".env"},
		},
		"a file where a folder comes": {
			candidate: func(r repo) { r.write("new/x", "x\n") },
			person:    func(r repo) { r.write("new", "mine") },
			want:      []string{"new"},
		},
		"a link where a folder comes": {
			candidate: func(r repo) { r.write("new/b.txt", "x\n") },
			person:    func(r repo) { check.OK(r.t, os.Symlink("sub", filepath.Join(r.dir, "new"))) },
			want:      []string{"new/b.txt"},
		},
		"a folder where a file comes": {
			candidate: func(r repo) {
				r.git("rm", "-q", "sub/b.txt")
				r.write("sub", "a file")
			},
			person: func(r repo) { r.write("sub/mine", "mine", "sub/too", "mine") },
			want:   []string{"sub/mine", "sub/too"},
		},
		"an unresolved merge": {
			candidate: func(r repo) { r.write("new", "n") },
			person: func(r repo) {
				onto := r.head()
				mine := r.with(onto+"^", "a.txt", "other\n")
				_, err := r.run("merge", mine)
				check.That(r.t, err != nil, "there is no conflict")
			},
			want: []string{"a.txt"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRepo(t)
			r.write("a.txt", "line\n")
			base := r.commit()
			next := r.on(base, func() { c.candidate(r) })
			c.person(r)
			before := r.everything()
			err := r.land(base, next)
			var blocked *BlockedError
			if !errors.As(err, &blocked) {
				t.Fatalf("got %v, want a BlockedError", err)
			}
			check.Equal(t, "files", &BlockedError{Dir: r.dir, Files: c.want}, blocked)
			check.Equal(t, "everything", before, r.everything())
			check.Equal(t, "what landed beyond the branch", next, r.git("rev-parse", LandedRef(main)))
			r.wantUnlocked()
		})
	}
}

// everything is all that a person can see of their files.
func (r repo) everything() string {
	r.t.Helper()
	var b strings.Builder
	check.OK(r.t, filepath.WalkDir(r.dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || path == filepath.Join(r.dir, ".git") {
			if err == nil {
				err = filepath.SkipDir
			}
			return err
		}
		text, _ := os.ReadFile(path)
		info, err := d.Info()
		b.WriteString(path + " " + info.Mode().String() + " " + string(text) + "\n")
		return err
	}))
	return b.String() + r.git("ls-files", "-s") + "\n" + r.git("for-each-ref", "refs/heads") + "\n" + r.git("symbolic-ref", "HEAD")
}

func TestATargetThatMovedOrIsGone(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	base := r.head()
	next := r.with(base, "new", "n")
	r.write("mine", "m")
	mine := r.commit()
	err := r.land(base, next)
	check.That(t, errors.Is(err, ErrMoved), "got %v, want ErrMoved", err)
	r.wantClean(mine)
	_, err = Land(t.Context(), r.Repo, "refs/heads/none", base, next, false)
	check.That(t, errors.Is(err, ErrMoved), "got %v, want ErrMoved", err)
	check.Equal(t, "branches", "main", r.git("branch", "--format=%(refname:short)"))
}

func TestSomebodyElsesLock(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	base := r.head()
	next := r.with(base, "a.txt", "x\n")
	for _, name := range []string{"index.lock", "HEAD.lock", "refs/heads/main.lock"} {
		at := filepath.Join(r.dir, ".git", name)
		check.OK(t, os.WriteFile(at, nil, 0o644))
		// so that the index has to be written
		check.OK(t, os.Chtimes(filepath.Join(r.dir, "a.txt"), zeroTime, zeroTime))
		err := r.land(base, next)
		check.That(t, errors.Is(err, ErrLocked), "%s: got %v, want ErrLocked", name, err)
		check.OK(t, os.Remove(at))
		r.wantClean(base)
	}
	check.OK(t, r.land(base, next))
	r.wantClean(next)
}

// TestALockThatStaysIsInTheWay: what lands goes beyond the branch, and the branch follows when the lock is gone.
func TestALockThatStaysIsInTheWay(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"index.lock", "HEAD.lock", "refs/heads/main.lock"} {
		r := newRepo(t)
		base := r.head()
		next := r.with(base, "a.txt", "x\n")
		at := filepath.Join(r.dir, ".git", name)
		check.OK(t, os.WriteFile(at, nil, 0o644))
		waits, err := Land(t.Context(), r.Repo, main, base, next, true)
		check.OK(t, err)
		check.That(t, errors.Is(waits, ErrLocked), "%s: got %v, want ErrLocked", name, waits)
		check.Equal(t, name, next, r.git("rev-parse", LandedRef(main)))
		check.OK(t, os.Remove(at))
		r.wantClean(base)
		_, waits, err = Advance(t.Context(), r.Repo, main)
		check.OK(t, errors.Join(waits, err))
		r.wantClean(next)
	}
}

// TestWhoeverHasTheTargetCheckedOutFollows, and nobody else.
func TestWhoeverHasTheTargetCheckedOutFollows(t *testing.T) {
	t.Parallel()
	prepare := func(t *testing.T) (r repo, base, next string) {
		r = newRepo(t)
		base = r.head()
		return r, base, r.with(base, "a.txt", "x\n", "new", "n")
	}
	t.Run("nobody: detached", func(t *testing.T) {
		t.Parallel()
		r, base, next := prepare(t)
		r.git("checkout", "-q", "--detach")
		r.write("a.txt", "mine")
		check.OK(t, r.land(base, next))
		check.Equal(t, "target", next, r.git("rev-parse", main))
		check.Equal(t, "mine", "mine", r.read("a.txt"))
		check.Equal(t, "head", base, r.head())
	})
	t.Run("nobody: another branch", func(t *testing.T) {
		t.Parallel()
		r, base, next := prepare(t)
		r.git("checkout", "-q", "-b", "other")
		check.OK(t, r.land(base, next))
		check.Equal(t, "target", next, r.git("rev-parse", main))
		check.Equal(t, "status", "", r.git("status", "--porcelain"))
	})
	t.Run("nobody: bare", func(t *testing.T) {
		t.Parallel()
		r, base, next := prepare(t)
		bare := r
		bare.dir = filepath.Join(t.TempDir(), "bare.git")
		r.git("clone", "-q", "--bare", r.dir, bare.dir)
		r.git("push", "-q", bare.dir, next+":refs/heads/keep")
		bare = bare.open()
		check.OK(t, bare.land(base, next))
		check.Equal(t, "target", next, bare.git("rev-parse", main))
		_, err := os.Lstat(filepath.Join(bare.dir, "new"))
		check.That(t, err != nil, "files appear in a bare repository")
		bare.wantUnlocked()
	})
	t.Run("a linked working tree", func(t *testing.T) {
		t.Parallel()
		r, base, next := prepare(t)
		r.git("checkout", "-q", "-b", "other")
		linked := r
		linked.dir = filepath.Join(t.TempDir(), "linked")
		r.git("worktree", "add", "-q", linked.dir, "main")
		check.OK(t, r.land(base, next)) // the project is the main one
		linked.wantClean(next)
		check.Equal(t, "status", "", r.git("status", "--porcelain"))
		after := r.with(next, "more", "m")
		linked = linked.open()
		linked.write("more", "mine")
		var blocked *BlockedError
		err := linked.land(next, after)
		check.That(t, errors.As(err, &blocked) && blocked.Dir == linked.dir, "got %v, want %s to block", err, linked.dir)
		check.OK(t, os.Remove(filepath.Join(linked.dir, "more")))
		check.OK(t, linked.land(next, after)) // the project is the linked one
		linked.wantClean(after)
		check.OK(t, os.RemoveAll(linked.dir))
		last := r.with(after, "last", "l")
		check.OK(t, r.land(after, last)) // it was deleted and not pruned
		check.Equal(t, "target", last, r.git("rev-parse", main))
	})
	t.Run("a sparse checkout in a subfolder", func(t *testing.T) {
		t.Parallel()
		r := newRepo(t)
		r.write("far/c.txt", "c\n")
		base := r.commit()
		next := r.with(base, "far/c.txt", "changed\n", "far/d.txt", "d\n", "sub/b.txt", "changed\n")
		r.git("sparse-checkout", "set", "sub")
		top := r.dir
		r.dir = filepath.Join(top, "sub")
		r = r.open()
		r.dir = top
		check.OK(t, r.land(base, next))
		r.wantClean(next)
		check.Equal(t, "changed", "changed\n", r.read("sub/b.txt"))
		_, err := os.Lstat(filepath.Join(r.dir, "far"))
		check.That(t, err != nil, "files appear outside of the sparse checkout")
	})
	t.Run("a git folder elsewhere", func(t *testing.T) {
		t.Parallel()
		r, base, next := prepare(t)
		r.git("init", "-q", "--separate-git-dir", filepath.Join(t.TempDir(), "elsewhere"))
		r = r.open()
		check.OK(t, r.land(base, next))
		r.wantClean(next)
	})
	t.Run("two", func(t *testing.T) {
		t.Parallel()
		r, base, next := prepare(t)
		r.git("worktree", "add", "-q", "--force", filepath.Join(t.TempDir(), "linked"), "main")
		err := r.land(base, next)
		check.Err(t, "two", "is checked out in "+r.dir+" too", err)
		r.wantClean(base)
	})
	t.Run("a rebase in progress", func(t *testing.T) {
		t.Parallel()
		r, base, _ := prepare(t)
		mine := r.with(base, "a.txt", "mine\n")
		r.write("a.txt", "yours\n")
		tip := r.commit()
		next := r.with(tip, "new", "n")
		_, err := r.run("rebase", "-q", mine)
		check.That(t, err != nil, "there is no conflict")
		check.Err(t, "rebase", "a rebase of the target is in progress", r.land(tip, next))
		r.git("rebase", "--abort")
		check.OK(t, r.land(tip, next))
		r.wantClean(next)
	})
}

// TestAPersonCannotCommitBetweenTheFilesAndTheTarget: their commit would have the files of the candidate.
func TestAPersonCannotCommitBetweenTheFilesAndTheTarget(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	base := r.head()
	next := r.with(base, "new.slow", "n")
	tried := filepath.Join(t.TempDir(), "tried")
	r.write("mine", "m")
	r.git("add", "mine")
	// A filter runs while the files are written.
	r.git("config", "filter.slow.smudge", "git commit -q -m mine >'"+tried+"' 2>&1; git switch -q -c other >>'"+tried+"' 2>&1; cat")
	r.write(".git/info/attributes", "*.slow filter=slow\n")
	check.OK(t, r.land(base, next))
	said, err := os.ReadFile(tried)
	check.OK(t, err)
	check.Contains(t, "commit", "index.lock': File exists", string(said))
	check.Equal(t, "target", next, r.git("rev-parse", main))
	check.Equal(t, "status", "A  mine", r.git("status", "--porcelain"))
	check.Equal(t, "branch", main, r.git("symbolic-ref", "HEAD"))
}

// TestALandingThatBreaksOffIsTakenBack, as on a full disk, or when the system kills git.
func TestALandingThatBreaksOffIsTakenBack(t *testing.T) {
	t.Parallel()
	for filter, want := range map[string]string{"false": "smudge filter slow failed", "kill -9 $PPID": "update-ref"} {
		r := newRepo(t)
		r.write("run", "x")
		base := r.commit()
		next := r.on(base, func() {
			r.write("a.txt", "changed\n", "new", "n", "zz.slow", "z")
			r.git("rm", "-q", "run")
		})
		r.git("config", "filter.slow.smudge", filter)
		r.git("config", "filter.slow.clean", "cat")
		r.git("config", "filter.slow.required", "true")
		r.write(".git/info/attributes", "*.slow filter=slow\n", "untracked", "u")
		before := r.everything()
		check.Err(t, filter, want, r.land(base, next))
		check.Equal(t, filter, before, r.everything())
		r.wantUnlocked()
		r.git("config", "filter.slow.smudge", "cat")
		check.OK(t, r.land(base, next))
		check.Equal(t, filter, "?? untracked", r.git("status", "--porcelain"))
	}
}

// TestWhatCannotBeWritten is for a person to change: nothing else could land either.
func TestWhatCannotBeWritten(t *testing.T) {
	t.Parallel()
	if os.Getuid() == 0 {
		t.Skip("root can write everything")
	}
	for _, name := range []string{".git/refs/heads", "."} {
		r := newRepo(t)
		base := r.head()
		next := r.with(base, "new.txt", "new\n")
		at := filepath.Join(r.dir, name)
		check.OK(t, os.Chmod(at, 0o500))
		err := r.land(base, next)
		check.OK(t, os.Chmod(at, 0o700))
		check.That(t, errors.Is(err, fs.ErrPermission), "%s: got %v, want fs.ErrPermission", name, err)
		r.wantClean(base)
	}
}

// TestFilesFollowWithoutTheHook, where git cannot run it.
func TestFilesFollowWithoutTheHook(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	base := r.head()
	next := r.with(base, "new", "n")
	at := filepath.Join(r.dir, ".git/ralph/hooks/reference-transaction")
	r.write(".git/ralph/hooks/reference-transaction", hook)
	check.OK(t, os.Chmod(at, 0o644))
	check.OK(t, r.land(base, next))
	r.wantClean(next)
}

// TestACheckoutThatCannotFollow is told how to, because the target has moved.
func TestACheckoutThatCannotFollow(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	base := r.head()
	next := r.with(base, "a.txt", "new\n", "new", "n")
	r.write(".git/ralph/hooks/reference-transaction", hook)
	check.OK(t, os.Chmod(filepath.Join(r.dir, ".git/ralph/hooks/reference-transaction"), 0o644))
	r.git("update-index", "--assume-unchanged", "a.txt")
	was := r.read("a.txt")
	r.write("a.txt", "mine")
	err := r.land(base, next)
	check.Err(t, "land", "git -C \""+r.dir+"\" read-tree -m -u "+base+" "+next, err)
	check.That(t, !errors.Is(err, ErrLocked) && !errors.Is(err, ErrMoved) && !errors.As(err, new(*BlockedError)), "got %v, of a kind that is tried again", err)
	check.Equal(t, "left", Left{Landed: true}, r.unfinish(base, next))
	check.Equal(t, "mine", "mine", r.read("a.txt"))
	r.git("update-index", "--no-assume-unchanged", "a.txt")
	r.write("a.txt", was)
	r.git("update-index", "--refresh") // git takes a file for changed whose time is another
	r.git("read-tree", "-m", "-u", base, next)
	r.wantClean(next)
}

// TestAFileThatGitWasToldNotToLookAtBlocks, too.
func TestAFileThatGitWasToldNotToLookAtBlocks(t *testing.T) {
	t.Parallel()
	for _, flag := range []string{"--skip-worktree", "--assume-unchanged"} {
		r := newRepo(t)
		base := r.head()
		next := r.with(base, "a.txt", "new\n", "new", "n")
		r.git("update-index", flag, "a.txt")
		r.write("a.txt", "ne") // as if git had begun to write it
		before := r.everything()
		err := r.land(base, next)
		var blocked *BlockedError
		check.That(t, errors.As(err, &blocked) && strings.Contains(err.Error(), "'a.txt'"), "%s: got %v, want a BlockedError that names a.txt", flag, err)
		check.Equal(t, flag, before, r.everything())
	}
}

// TestOneOfManyLands: the others see that the target has moved.
func TestOneOfManyLands(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	base := r.head()
	const n = 6
	errs := make(chan error, n)
	var list []string
	for i := range n {
		list = append(list, r.with(base, "new", strings.Repeat("n", i+1)))
	}
	for _, next := range list {
		go func() { errs <- r.land(base, next) }()
	}
	landed := 0
	for range n {
		err := <-errs
		if err == nil {
			landed++
		}
		check.That(t, err == nil || errors.Is(err, ErrMoved), "got %v, want ErrMoved", err)
	}
	check.Equal(t, "landed", 1, landed)
	r.wantClean(r.head())
}

// TestALandingIsNotStoppedHalfway by the end of its context, once it has begun.
func TestALandingIsNotStoppedHalfway(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	base := r.head()
	next := r.with(base, "a.txt", "new\n")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := Land(ctx, r.Repo, main, base, next, false)
	check.That(t, errors.Is(err, context.Canceled), "got %v, want context.Canceled", err)
	r.wantClean(base)
	list, err := r.Worktrees(t.Context())
	check.OK(t, err)
	call := list[0].Call()
	for _, outlive := range []bool{false, true} {
		call.Outlive = outlive
		_, err = r.Git(ctx, call, "status")
		check.That(t, errors.Is(err, context.Canceled) != outlive, "outlive %v: got %v", outlive, err)
	}
}

// TestWhatChangesAtTheLastMomentCounts: git looks again with the locks in its hands.
func TestWhatChangesAtTheLastMomentCounts(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		person func(r repo)
		want   error
	}{
		"a commit":       {func(r repo) { r.write("mine", "m"); r.commit() }, ErrMoved},
		"another branch": {func(r repo) { r.git("switch", "-q", "-c", "other") }, ErrLocked},
		"a deletion":     {func(r repo) { r.git("switch", "-q", "-c", "other"); r.git("branch", "-q", "-D", "main") }, ErrMoved},
	} {
		r := newRepo(t)
		base := r.head()
		next := r.with(base, "new", "n")
		l := &landing{repo: r.Repo, target: main, onto: base, candidate: next}
		_, err := l.begin(t.Context())
		check.OK(t, err)
		check.OK(t, l.checkout(t.Context()))
		c.person(r)
		before, err := l.copyIndex()
		check.OK(t, err)
		check.OK(t, l.install())
		was := r.everything()
		err = l.fastForward(t.Context(), before)
		l.end()
		check.That(t, errors.Is(err, c.want), "%s: got %v, want %v", name, err, c.want)
		check.Equal(t, name, was, r.everything())
	}
}

// TestWhatIsStagedAtTheLastMomentStays: the index was copied before.
func TestWhatIsStagedAtTheLastMomentStays(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	base := r.head()
	l := &landing{repo: r.Repo, target: main, onto: base, candidate: r.with(base, "new", "n")}
	_, err := l.begin(t.Context())
	check.OK(t, err)
	check.OK(t, l.checkout(t.Context()))
	before, err := l.copyIndex()
	check.OK(t, err)
	check.OK(t, l.install())
	r.write("mine", "m")
	r.git("add", "mine")
	err = l.fastForward(t.Context(), before)
	l.end()
	check.That(t, errors.Is(err, ErrLocked), "got %v, want ErrLocked", err)
	check.Equal(t, "status", "A  mine", r.git("status", "--porcelain"))
	r.wantUnlocked()
	check.OK(t, r.land(base, l.candidate))
	check.Equal(t, "status", "A  mine", r.git("status", "--porcelain"))
}

// TestAnIndexIsMadeWithoutGitsLock: a git that is killed while it makes one would leave an empty lock, which looks like a person's.
func TestAnIndexIsMadeWithoutGitsLock(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	base := r.head()
	l := &landing{repo: r.Repo, target: main, onto: base, candidate: r.with(base, "new", "n")}
	_, err := l.begin(t.Context())
	check.OK(t, err)
	defer l.end()
	check.OK(t, l.checkout(t.Context()))
	check.OK(t, os.Remove(l.index()))
	check.OK(t, os.WriteFile(l.index()+".lock", nil, 0o600)) // what git would have to make
	check.OK(t, l.makeIndex(t.Context()))
	check.OK(t, os.Remove(l.index()+".lock"))
	check.Equal(t, "an index is there, and nothing in it", "", r.git("ls-files"))
	_, err = os.Stat(l.index())
	check.OK(t, err)
	r.write("mine", "m")
	r.git("add", "mine")
	check.OK(t, l.makeIndex(t.Context()))
	check.Equal(t, "one that is there stays", "mine", r.git("ls-files"))
}
