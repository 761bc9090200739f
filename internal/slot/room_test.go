package slot

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"ralph/internal/testing/check"
)

// TestARoomForgetsWhatGatesLeft: only what landed may leave something for the work that is judged next.
func TestARoomForgetsWhatGatesLeft(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	base := r.commit(".gitignore", "cache/\n", "a", "a")
	work := r.commit("a", "b")
	setups := 0
	process := func() *Pool {
		return open(t, r, func(o *Options) {
			o.Setup = func(context.Context, *Slot) error { setups++; return nil }
		})
	}
	p := process()
	room := p.Room(1)
	at := repo{t, room.Dir()}
	left := func() string {
		return strings.Join(slices.DeleteFunc([]string{"cache/c", "untracked", ".git/planted"}, func(name string) bool { return !at.has(name) }), " ")
	}
	judge := func(commit string) {
		t.Helper()
		check.OK(t, room.Show(t.Context(), base, commit))
		at.sh(`mkdir -p cache; echo forged >cache/c; echo x >untracked; echo x >.git/planted; echo x >>a`)
	}
	judge(base)
	check.OK(t, room.Show(t.Context(), base, work))
	check.Equal(t, "what the base left", "cache/c .git/planted", left())
	judge(work)
	room = process().Room(1)
	check.OK(t, room.Show(t.Context(), base, work))
	check.Equal(t, "what rejected work left", "", left())
	wantClean(t, at, work)
	judge(work)
	check.OK(t, room.Trust())
	room = process().Room(1)
	check.OK(t, room.Show(t.Context(), work, work))
	check.Equal(t, "what landed work left", "cache/c", left())
	check.Equal(t, "setups: at first, and each time after work that has not landed", 4, setups)
	check.OK(t, p.Remove(1))
	check.That(t, !at.has(""), "the room is still there")
}

// TestARoomMoves: a room in which only ralph writes is like a new checkout after each step, and so is its index.
func TestARoomMoves(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	base := r.commit(".gitignore", "cache\n", "a", "a", "d/e/f", "f", "d/g", "g", "cache", "c")
	p := open(t, r, func(o *Options) {
		o.Copy, o.Layers = []string{"cache"}, func(string, string) bool { return true }
	})
	room := p.Room(1)
	at := repo{t, room.Dir()}
	check.OK(t, room.Show(t.Context(), base, base))
	for _, script := range []string{
		"echo b >a", "rm -r d; echo d >d", "rm d; mkdir -p d/e/f; echo f >d/e/f/g", "mv a b; ln -s b a; chmod +x d/e/f/g", "rm a; mkdir a; echo a >a/a",
		"echo 'c text eol=crlf' >.gitattributes; echo c >c", "git rm -qf .gitattributes c", "echo none >.gitignore", "rm .gitignore; echo c >cache", "echo cache >.gitignore; rm cache",
	} {
		r.sh(script + "; git add -A; git commit -qm next")
		work := r.git("rev-parse", "HEAD")
		for _, commit := range []string{work, base, work} {
			check.OK(t, room.Show(t.Context(), base, commit))
			wantClean(t, at, commit)
			check.Equal(t, script, r.git("ls-tree", "-r", "--name-only", commit), at.sh("git ls-files; git diff --exit-code >&2"))
		}
	}
	at.sh("touch -d yesterday d/e/f/g; echo b >a/a")
	check.OK(t, room.Show(t.Context(), base, base))
	wantClean(t, at, base)
}

// TestCachesOfLandedWorkServeAllRooms: what gates wrote in caches moves to all rooms if what they saw has landed or lands, and goes otherwise.
func TestCachesOfLandedWorkServeAllRooms(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	base := r.commit("a", "a")
	work := r.commit("a", "b")
	p := open(t, r, nil)
	_, err := p.Take(t.Context(), 1, "a-1", base, base)
	check.OK(t, err)
	room := p.Room(1)
	_, landed := p.Room(2).Caches()
	at := repo{t, landed + "/go"}
	gate := func(commit, script string) {
		t.Helper()
		check.OK(t, room.Show(t.Context(), base, commit))
		own, of := room.Caches()
		check.Equal(t, "where caches of landed work are", landed, of)
		check.OK(t, os.MkdirAll(own+"/1/go/upper", 0o700))
		repo{t, own + "/1/go/upper"}.sh(script)
	}
	gate(work, "echo forged >forged")
	gate(base, "test ! -e forged; echo base >base")
	gate(work, "test -e forged; test ! -e base")
	check.Equal(t, "base", "base\n", at.text("base"))
	check.OK(t, room.Begin())
	gate(work, "test ! -e forged; mkdir -p mod/x@v1; echo whole >mod/x@v1/file; chmod 555 mod/x@v1 mod; echo first >entry; mkdir was")
	check.OK(t, room.Trust())
	gate(work, "mkdir -p mod/y@v1; echo new >mod/y@v1/file; mkdir mod/x@v1; echo more >mod/x@v1/more; echo second >entry; echo file >was")
	check.OK(t, room.Trust())
	for name, want := range map[string]string{"mod/x@v1/file": "whole", "mod/x@v1/more": "more", "mod/y@v1/file": "new", "entry": "second", "was": "file"} {
		check.Equal(t, name, want+"\n", at.text(name))
	}
	check.That(t, !at.has("forged"), "what rejected work left serves others")
	check.Equal(t, "Discarded", 0, len(p.Discarded()))
	check.OK(t, p.Remove(1))
	check.OK(t, p.Sweep())
	check.That(t, !at.has(""), "caches outlive all slots")
}

// TestRoomsShareCachesAtTheSameTime: each moves what it has, and no folder of another is in its way.
func TestRoomsShareCachesAtTheSameTime(t *testing.T) {
	t.Parallel()
	at := repo{t, t.TempDir()}
	const rooms = 8
	errs := make(chan error, rooms)
	for n := range rooms {
		from := filepath.Join(at.dir, "from", strconv.Itoa(n))
		check.OK(t, os.MkdirAll(from, 0o700))
		repo{t, from}.sh(fmt.Sprintf("for d in $(seq 50); do mkdir -p $d/x; echo %d >$d/x/%[1]d; done", n))
		go func() { errs <- join(from, filepath.Join(at.dir, "to")) }()
	}
	for range rooms {
		check.OK(t, <-errs)
	}
	check.Equal(t, "files", "400", at.sh("find to -type f | wc -l"))
}

// TestSetupBelievesNoOtherSetup: what the setup of work wrote in caches is gone when another is set up.
func TestSetupBelievesNoOtherSetup(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	base := r.commit("a", "a")
	var found []string
	p := open(t, r, func(o *Options) {
		o.SetupOn = []string{"a"}
		o.Setup = func(_ context.Context, s *Slot) error {
			own, _ := s.Caches()
			if _, err := os.Lstat(own); err == nil {
				found = append(found, own)
			}
			return os.MkdirAll(own, 0o700)
		}
	})
	room := p.Room(1)
	for _, commit := range []string{base, r.commit("a", "b"), r.commit("a", "c")} {
		check.OK(t, room.Show(t.Context(), base, commit))
	}
	check.Equal(t, "found", []string(nil), found)
}
