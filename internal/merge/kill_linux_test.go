package merge

import (
	"errors"
	"fmt"
	"math/rand/v2"
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

// TestMain lands a candidate where the tests need another process that can be killed.
func TestMain(m *testing.M) {
	args := strings.Split(os.Getenv("RALPH_TEST_LAND"), "\n")
	if len(args) != 4 {
		os.Exit(m.Run())
	}
	check := func(err error) {
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	r, err := git.OpenRepo(background, args[0])
	check(err)
	_, err = Land(background, r, args[3], args[1], args[2], false)
	check(err)
}

// process lands in a process of its own.
func (r repo) process(onto, candidate string, env ...string) *exec.Cmd {
	r.t.Helper()
	cmd := exec.CommandContext(r.t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), append(env, "RALPH_TEST_LAND="+strings.Join([]string{r.dir, onto, candidate, r.target}, "\n"))...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Stderr = os.Stderr
	check.OK(r.t, cmd.Start())
	return cmd
}

// gitOf is the git process below another that moves the target, which leads a session, or 0 if cmd ended first.
func gitOf(cmd *exec.Cmd) int {
	self := strconv.Itoa(cmd.Process.Pid)
	for {
		if stat, err := os.ReadFile("/proc/" + self + "/stat"); err != nil || strings.Contains(string(stat), ") Z ") {
			return 0
		}
		lists, _ := filepath.Glob("/proc/" + self + "/task/*/children")
		for _, list := range lists {
			text, _ := os.ReadFile(list)
			for _, child := range strings.Fields(string(text)) {
				pid, _ := strconv.Atoi(child)
				command, _ := os.ReadFile("/proc/" + child + "/cmdline")
				if group, err := syscall.Getpgid(pid); err == nil && group == pid && strings.Contains(string(command), "update-ref") {
					return pid
				}
			}
		}
	}
}

// slow makes git wait for the pipe that it returns before it writes zz.slow.
func (r repo) slow() (pipe string) {
	r.t.Helper()
	pipe = filepath.Join(r.t.TempDir(), "pipe")
	check.OK(r.t, syscall.Mkfifo(pipe, 0o600))
	r.git("config", "filter.slow.smudge", "echo >'"+pipe+"'; cat '"+pipe+"' >/dev/null; cat")
	r.write(".git/info/attributes", "*.slow filter=slow\n")
	return pipe
}

// TestALandingOutlivesItsRalph that is killed while the files are written.
func TestALandingOutlivesItsRalph(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	base := r.head()
	next := r.with(base, "a.txt", "changed\n", "zz.slow", "z\n")
	pipe := r.slow()
	temporary := t.TempDir()
	cmd := r.process(base, next, "TMPDIR="+temporary)
	_, err := os.ReadFile(pipe) // the files before it are there
	check.OK(t, err)
	check.OK(t, syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL))
	_ = cmd.Wait()
	go func() { _ = os.WriteFile(pipe, nil, 0o600) }()
	left, err := Unfinish(t.Context(), r.Repo, main, base, next) // waits for it
	check.OK(t, err)
	check.Equal(t, "left", Left{Landed: true}, left)
	r.git("config", "--remove-section", "filter.slow")
	r.wantClean(next)
	check.Equal(t, "again", left, r.unfinish(base, next))
	found, err := os.ReadDir(temporary)
	check.That(t, len(found) == 0 && err == nil, "files are left: %v, %v", found, err)
}

// killAt kills a landing, ralph and git, while the first files are written and zz.slow is not.
func (r repo) killAt(onto, candidate string) {
	r.t.Helper()
	pipe := r.slow()
	cmd := r.process(onto, candidate)
	_, err := os.ReadFile(pipe)
	check.OK(r.t, err)
	r.kill(cmd, gitOf(cmd))
	r.git("config", "--remove-section", "filter.slow")
	check.OK(r.t, os.Remove(filepath.Join(r.dir, ".git/info/attributes")))
}

func (r repo) kill(cmd *exec.Cmd, pid int) {
	r.t.Helper()
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	if pid > 0 {
		_ = syscall.Kill(-pid, syscall.SIGKILL)
	}
	_ = cmd.Wait()
}

// TestAPersonsChangesAfterAPowerCutStay, and all else is put back.
func TestAPersonsChangesAfterAPowerCutStay(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	r.write("deleted", "d\n", "edited", "e\n", "folder", "a file\n", "torn", "t\n", "staged", "s\n", "mode", "m\n", "gone", "g\n", "turned", "a file\n")
	check.OK(t, os.Symlink("a.txt", filepath.Join(r.dir, "link")))
	base := r.commit()
	next := r.on(base, func() {
		r.write("a.txt", "new\n", "edited", "new\n", "new", "n\n", "new2", "n\n", "more/x", "x\n", "torn", "new and long\n", "staged", "new\n", "gone", "new\n", "zz.slow", "z\n")
		r.git("rm", "-q", "deleted", "folder", "turned")
		r.write("folder/x", "x\n", "turned/x", "x\n")
		check.OK(t, os.Chmod(filepath.Join(r.dir, "mode"), 0o755))
		check.OK(t, os.Remove(filepath.Join(r.dir, "link")))
		check.OK(t, os.Symlink("new", filepath.Join(r.dir, "link")))
	})
	r.killAt(base, next)
	check.Equal(t, "written", "new\n", r.read("a.txt"))
	check.Equal(t, "written", "n\n", r.read("new"))
	// the person goes on
	r.write("edited", "mine\n", "new2", "mine\n", "turned/mine", "mine\n", "untracked", "mine\n", "torn", "new an")
	check.OK(t, os.Remove(filepath.Join(r.dir, ".git/index.lock")))
	r.write("staged", "mine\n")
	r.git("add", "staged")
	check.OK(t, os.Remove(filepath.Join(r.dir, "gone")))
	left := r.unfinish(base, next)
	check.Equal(t, "kept", []string{"edited", "new2", "staged", "turned"}, left.Kept)
	want := " M edited\nM  staged\n D turned\n?? new2\n?? untracked"
	check.Equal(t, "status", want, r.git("status", "--porcelain"))
	_, err := os.Lstat(filepath.Join(r.dir, "more"))
	check.That(t, os.IsNotExist(err), "an empty folder is left")
	check.Equal(t, "mine", "mine\n", r.read("turned/mine"))
	check.Equal(t, "again", Left{}, r.unfinish(base, next))
	check.Equal(t, "status", want, r.git("status", "--porcelain"))
	r.wantUnlocked()
}

// TestABranchThatIsCheckedOutAfterAPowerCutIsRestored, too: the files went along.
func TestABranchThatIsCheckedOutAfterAPowerCutIsRestored(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	base := r.head()
	next := r.with(base, "a.txt", "new\n", "new", "n\n", "sub/b.txt", "new\n", "zz.slow", "z\n")
	r.git("branch", "other", r.with(base, "mine", "m"))
	r.killAt(base, next)
	for _, name := range []string{"index.lock", "HEAD.lock", "refs/heads/main.lock"} {
		check.OK(t, os.Remove(filepath.Join(r.dir, ".git", name)))
	}
	r.git("switch", "-q", "other")
	r.git("commit", "-q", "-m", "mine now", "sub/b.txt")
	link := filepath.Join(t.TempDir(), "link") // by another way
	check.OK(t, os.Symlink(r.dir, link))
	r.dir = link
	r = r.open()
	left := r.unfinish(base, next)
	check.Equal(t, "left", Left{}, left)
	check.Equal(t, "status", "", r.git("status", "--porcelain"))
	check.Equal(t, "mine", "new\n", r.read("sub/b.txt"))
}

// TestTheNextLandingHealsWhatIsTorn, also if nobody has called Unfinish.
func TestTheNextLandingHealsWhatIsTorn(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	base := r.head()
	r.killAt(base, r.with(base, "a.txt", "new\n", "new", "n\n", "zz.slow", "z\n"))
	index := filepath.Join(t.TempDir(), "index") // the files are torn: make another candidate without them
	out, err := exec.CommandContext(t.Context(), "sh", "-c", `cd "$1" && export GIT_INDEX_FILE="$2" && git read-tree HEAD &&
		git update-index --add --cacheinfo "100644,$(echo other | git hash-object -w --stdin),new" && git commit-tree -p HEAD -m other "$(git write-tree)"`, "sh", r.dir, index).Output()
	check.OK(t, err)
	other := strings.TrimSpace(string(out))
	check.OK(t, r.land(base, other))
	r.wantClean(other)
}

// TestAGitThatIsKilledBeforeItWritesFiles leaves no lock, as long as ralph lives.
func TestAGitThatIsKilledBeforeItWritesFiles(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	base := r.head()
	next := r.with(base, "a.txt", "new\n")
	real, err := exec.LookPath("git")
	check.OK(t, err)
	bin := t.TempDir()
	script := fmt.Sprintf("#!/bin/sh\ncase \"$*\" in *'ralph: land'*) cd %s/.git; : > HEAD.lock; echo %s > refs/heads/main.lock; kill -9 $$;; esac\nexec %s \"$@\"\n",
		r.dir, next, real)
	check.OK(t, os.WriteFile(filepath.Join(bin, "git"), []byte(script), 0o700))
	check.That(t, r.process(base, next, "PATH="+bin+":"+os.Getenv("PATH")).Wait() != nil, "it landed")
	r.wantUnlocked()
	check.OK(t, r.land(base, next))
	r.wantClean(next)
}

// TestALockOfALiveProcessStays, also one that it has closed, as git commit does while its editor is open.
func TestALockOfALiveProcessStays(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	base := r.head()
	next := r.with(base, "a.txt", "new\n", "zz.slow", "z\n")
	r.killAt(base, next)
	check.OK(t, os.Remove(filepath.Join(r.dir, ".git/index.lock")))
	r.write(".git/refs/heads/main.lock", base+"\n") // as git commit does at its end, with HEAD.lock
	_, err := unfinish(t.Context(), r.Repo, main, base, next)
	check.That(t, errors.Is(err, ErrLocked), "got %v, want ErrLocked", err)
	for _, name := range []string{"HEAD.lock", "refs/heads/main.lock"} {
		check.OK(t, os.Remove(filepath.Join(r.dir, ".git", name)))
	}
	pipe := filepath.Join(t.TempDir(), "pipe")
	check.OK(t, syscall.Mkfifo(pipe, 0o600))
	editor := exec.CommandContext(t.Context(), "git", "commit", "-q", "-a", "-m", "mine", "-e")
	editor.Dir = r.dir
	editor.Env = append(os.Environ(), "GIT_EDITOR=echo >'"+pipe+"'; cat '"+pipe+"' >/dev/null; false")
	check.OK(t, editor.Start())
	_, err = os.ReadFile(pipe) // it is open
	check.OK(t, err)
	_, err = os.Lstat(filepath.Join(r.dir, ".git/index.lock"))
	check.OK(t, err)
	_, err = unfinish(t.Context(), r.Repo, main, base, next)
	check.That(t, errors.Is(err, ErrLocked), "got %v, want ErrLocked", err)
	_, err = os.Lstat(filepath.Join(r.dir, ".git/index.lock"))
	check.OK(t, err)
	check.OK(t, os.WriteFile(pipe, nil, 0o600))
	_ = editor.Wait()
	r.unfinish(base, next)
	r.wantClean(base)
}

// TestNothingBeganNothingIsTouched: the row says landing, and that is all.
func TestNothingBeganNothingIsTouched(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	base := r.head()
	next := r.with(base, "new", "n", "a.txt", "")
	r.write("new", "n", "a.txt", "") // as the candidate, but a person's
	other := &landing{repo: r.Repo, target: main, candidate: base, tree: git.Worktree{Dir: r.dir}}
	_, err := other.begin(t.Context())
	check.OK(t, err)
	check.OK(t, other.note())
	other.end()
	lock := filepath.Join(r.dir, ".git/index.lock")
	check.OK(t, os.Symlink(next, lock))
	check.Equal(t, "left", Left{}, r.unfinish(base, next))
	check.OK(t, os.Remove(lock))
	check.Equal(t, "status", " M a.txt\n?? new", r.git("status", "--porcelain"))
	last, err := other.begin(t.Context())
	check.That(t, err == nil && last.tree.Dir == r.dir && last.candidate == base, "the other is forgotten: %+v, %v", last, err)
	other.end()
}

// TestKilledLandings kills git, and ralph before it, at random moments. Then nothing of the person's
// has changed, and the files are those of either commit.
func TestKilledLandings(t *testing.T) {
	raced.Long(t, "the program is killed here")
	t.Parallel()
	const n = 150
	kills := 15
	if n, err := strconv.Atoi(os.Getenv("RALPH_SOAK")); err == nil {
		kills = n
	}
	r := newRepo(t)
	name := func(folder string, i int) string { return fmt.Sprintf("%s/%03d", folder, i) }
	for i := range n {
		r.write(name("changed", i), strings.Repeat("old\n", i), name("deleted", i), "d\n", name("same", i), "s\n")
		if i%10 == 0 {
			r.write(name("becomes-folder", i), "f\n", name("becomes-file", i)+"/x", "x\n", name("becomes-file", i)+"/y", "y\n", name("mode", i), "m\n")
		}
	}
	base := r.commit()
	next := r.on(base, func() {
		for i := range n {
			r.write(name("changed", i), strings.Repeat("new line\n", 10*i), name("new", i), strings.Repeat("new\n", 1000))
			check.OK(t, os.Remove(filepath.Join(r.dir, name("deleted", i))))
			if i%10 == 0 {
				r.git("rm", "-q", "-r", name("becomes-folder", i), name("becomes-file", i))
				r.write(name("becomes-folder", i)+"/x", "x\n", name("becomes-file", i), "f\n")
				check.OK(t, os.Chmod(filepath.Join(r.dir, name("mode", i)), 0o755))
			}
		}
	})
	r.write("untracked", "mine", "same/000", "mine", "same/001", "staged")
	r.git("add", "same/001")
	want := r.git("status", "--porcelain")
	random := rand.New(rand.NewPCG(1, 1))
	counts := map[string]int{}
	for range kills {
		cmd := r.process(base, next)
		pid := gitOf(cmd)
		// at a random one of the files, or at the locks before and the index after them
		at := random.IntN(4*n) - n/4
		for {
			written, _ := os.ReadDir(filepath.Join(r.dir, "new"))
			gone, _ := os.ReadDir(filepath.Join(r.dir, "deleted"))
			_, lock := os.Lstat(filepath.Join(r.dir, ".git/index.lock"))
			progress := len(written) + 2*(n-len(gone))
			if progress >= at || progress == 3*n && lock != nil {
				break
			}
			if err := syscall.Kill(pid, 0); err != nil {
				break
			}
		}
		r.kill(cmd, pid)
		torn := r.git("status", "--porcelain") != want
		locks := r.locks()
		left := r.unfinish(base, next)
		again := r.unfinish(base, next)
		check.Equal(t, "again", Left{Landed: left.Landed}, again)
		r.wantUnlocked()
		check.Equal(t, "kept", []string(nil), left.Kept)
		check.Equal(t, "status", want, r.git("status", "--porcelain"))
		switch {
		case left.Landed:
			counts["landed"]++
			check.Equal(t, "target", next, r.git("rev-parse", main))
			check.OK(t, r.land(base, next))
			r.git("update-ref", main, base) // back, for the next
			r.git("read-tree", "-m", "-u", next, base)
		case torn:
			counts["restored"]++
			check.Equal(t, "target", base, r.git("rev-parse", main))
		default:
			counts["nothing"]++
		}
		if len(locks) > 0 {
			counts["unlocked"]++
		}
		if t.Failed() {
			break
		}
	}
	t.Log(counts)
	check.That(t, counts["restored"] > 0, "no landing was torn: %v", counts)
	check.OK(t, r.land(base, next))
	check.Equal(t, "status", want, r.git("status", "--porcelain"))
}

// TestALandingThatEndedBetweenItsSteps is taken back, or found, by where the target is.
func TestALandingThatEndedBetweenItsSteps(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		moved bool // the target
		want  Left
	}{
		"files and index new, target old": {want: Left{}},
		"target new":                      {moved: true, want: Left{Landed: true}},
	} {
		r := newRepo(t, "--object-format=sha256")
		base := r.head()
		next := r.on(base, func() {
			r.write("a.txt", "changed\n", "new", "n\n")
			r.git("rm", "-q", "sub/b.txt")
		})
		l := &landing{repo: r.Repo, target: main, onto: base, candidate: next, tree: git.Worktree{Dir: r.dir}}
		_, err := l.begin(t.Context())
		check.OK(t, err)
		check.OK(t, l.note())
		r.git("read-tree", "-m", "-u", base, next)
		at := base
		if c.moved {
			r.git("update-ref", main, next, base)
			at = next
		}
		l.end()
		check.Equal(t, name, c.want, r.unfinish(base, next))
		r.wantClean(at)
		check.Equal(t, name, Left{Landed: c.moved}, r.unfinish(base, next))
		check.OK(t, r.land(base, next))
		r.wantClean(next)
	}
}
