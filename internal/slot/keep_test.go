package slot

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"ralph/internal/git"
	"ralph/internal/testing/check"
)

// TestWorkIsKept as one commit, whatever the agent did to its files.
func TestWorkIsKept(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	first := r.commit(".gitignore", "ignored\n", "a", "a", "dir/x", "x", "dir/y", "y", "file", "f", "gone", "g", "mode", "m", "same", "s", "link", "was a file")
	p := open(t, r, nil)
	s, at := take(t, p, 1, first)
	w := keep(t, s, first)
	check.Equal(t, "the commit, with nothing changed", first, w.Commit)
	at.sh(`echo 2 >> a; rm -r dir; echo now a file > dir; rm file; mkdir file; echo in > file/in; rm gone; chmod +x mode; touch same
		rm link; ln -s a link; echo u > 'ünï
code'; echo i > ignored; mkdir .ralph; echo r > .ralph/x; ln -s /etc out; mkfifo pipe; echo l > LINK`)
	w = keep(t, s, first)
	check.Equal(t, "what could not be kept", []git.Left(nil), w.Left)
	check.Equal(t, "the parent", first, r.git("rev-parse", w.Commit+"^"))
	check.Equal(t, "the message and its author", "kept Ann", r.git("log", "-1", "--format=%s %an", w.Commit))
	check.Equal(t, "changes", []string{
		`A	"\303\274n\303\257\ncode"`, "A\tLINK", "M\ta", "A\tdir", "D\tdir/x", "D\tdir/y", "D\tfile", "A\tfile/in", "D\tgone", "T\tlink", "M\tmode", "A\tout",
	}, files(r.git("-c", "core.quotePath=true", "diff", "--no-renames", "--name-status", first, w.Commit)), ignoreOrder)
	check.Equal(t, "an agent's index is left alone", true, strings.Contains(at.git("status", "--porcelain"), "?? LINK"))
	again := keep(t, s, first)
	check.Equal(t, "the same files once more", w.Tree, again.Tree)
	// and back: the tree of the work is what the next attempt begins with
	s, at = take(t, p, 2, w.Commit)
	wantClean(t, at, w.Commit)
	check.Equal(t, "the work elsewhere", w.Commit, keep(t, s, w.Commit).Commit)
}

// TestAChangeCannotBeHidden from ralph by what git offers for that.
func TestAChangeCannotBeHidden(t *testing.T) {
	t.Parallel()
	for name, hide := range map[string]string{
		"assumed to be unchanged":      "git update-index --assume-unchanged a; printf A > a",
		"left out of the checkout":     "git update-index --skip-worktree a; printf A > a",
		"ignored by the slot's git":    "echo a > .git/info/exclude; git rm -q --cached a; printf A > a",
		"an index of the agent's":      "printf A > a; git add a; git commit -qm own; echo damaged > .git/index; : > .git/index.lock",
		"a filter of the agent's":      "printf A > a; git config filter.f.clean 'echo a'; echo '* filter=f' > .git/info/attributes",
		"settings that cannot be read": "printf A > a; echo '[' > .git/config",
		"no .git at all":               "rm -rf .git; printf A > a",
		"a .git that is elsewhere":     "rm -rf .git; git init -q ../other; ln -s ../../other/.git .git; printf A > a",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRepo(t)
			first := r.commit("a", "a", "b", "b")
			s, at := take(t, open(t, r, nil), 1, first)
			at.sh(hide)
			w := keep(t, s, first)
			check.Equal(t, "changes", "M\ta", r.git("diff", "--name-status", first, w.Commit))
			check.Equal(t, "the file", "A", r.git("show", w.Commit+":a"))
		})
	}
}

// TestWhatAnAgentForcedIsKept although it is ignored: gates see it, so it has to land. A file that
// the project gave the slot is none of its work.
func TestWhatAnAgentForcedIsKept(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	first := r.commit(".gitignore", "lib/\n*.o\n.env\n", "a", "a")
	r.git("config", "core.splitIndex", "true")
	r.write(".env", "secret")
	p := open(t, r, func(o *Options) { o.Copy = []string{".env"} })
	s, at := take(t, p, 1, first)
	at.write("src/lib/util.py", "u", "src/lib/cache", "c", "lib/later", "l", "gone.o", "g", "pipe.o", "p", "real/x.o", "x", "folder.o", "f", ".ralph/x.o", "r")
	at.sh(`git add -f src/lib/util.py gone.o pipe.o real/x.o folder.o .env .ralph/x.o; git commit -qm forced; git add -f lib/later
		rm gone.o pipe.o; mkfifo pipe.o; mv real elsewhere; ln -s elsewhere real; rm folder.o; mkdir folder.o; echo x > folder.o/x`)
	tree, err := s.Tree(t.Context())
	check.OK(t, err)
	w := keep(t, s, first)
	check.Equal(t, "left out", []git.Left(nil), w.Left)
	check.Equal(t, "changes", []string{"lib/later", "real", "src/lib/util.py"}, files(r.git("diff", "--name-only", first, w.Commit)))
	check.Equal(t, "the tree without a base", w.Tree, tree)
	at.sh("rm -r .git; echo 2 > src/lib/util.py")
	check.Equal(t, "what was kept once", "2", r.git("show", keep(t, s, first).Commit+":src/lib/util.py"))
	_, at = take(t, p, 1, first)
	check.That(t, !at.has("src/lib/util.py") && at.has("src/lib/cache"), "the next attempt has what was forced, or not what was only ignored")
}

// TestWorkIsKeptByTwoAtOnce, which are recoveries of one dead run: the work is the same for both.
func TestWorkIsKeptByTwoAtOnce(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	r.commit("tracked.o", "t")
	first := r.commit(".gitignore", "*.o\n")
	p := open(t, r, nil)
	_, at := take(t, p, 1, first)
	at.write("forced.o", "f")
	at.git("add", "-f", "forced.o")
	const keepers, times = 4, 5
	var keeping sync.WaitGroup
	kept := make(chan string, keepers*times)
	for range keepers {
		keeping.Go(func() {
			for range times {
				s, err := p.At(1)
				var w Work
				if err == nil {
					w, err = s.Keep(t.Context(), first, "kept")
				}
				if err != nil {
					t.Error(err)
				}
				kept <- w.Commit
			}
		})
	}
	keeping.Wait()
	close(kept)
	changes := map[string]bool{}
	for commit := range kept {
		changes[r.git("diff", "--name-status", first, commit)] = true
	}
	check.Equal(t, "changes", map[string]bool{"A\tforced.o": true}, changes)
}

// TestATrackedFileStaysUntilItIsDeleted, also one that is ignored: an agent that makes its index anew decides nothing about it,
// and gates see it still.
func TestATrackedFileStaysUntilItIsDeleted(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	r.commit("tracked.o", "t", "deleted.o", "d", "a", "a")
	first := r.commit(".gitignore", "*.o\n")
	s, at := take(t, open(t, r, nil), 1, first)
	at.sh("echo damaged > .git/index")
	check.Equal(t, "the work where no index can be read", first, keep(t, s, first).Commit)
	at.sh("rm .git/index; git add -A; git commit -qm repaired; rm deleted.o; git rm -q --cached a; echo a >> .gitignore")
	w := keep(t, s, first)
	check.Equal(t, "left out", []git.Left(nil), w.Left)
	check.Equal(t, "changes", "M\t.gitignore\nD\tdeleted.o", r.git("diff", "--name-status", first, w.Commit))
}

// TestAnIndexOfAnAgentLeadsNowhere: its names are no more than names.
func TestAnIndexOfAnAgentLeadsNowhere(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	first := r.commit(".gitignore", "*.o\n", "a", "a")
	s, at := take(t, open(t, r, nil), 1, first)
	at.write("../out.o", "out", ".git/in.o", "in", "aaaaaaaa.o", "1", "bbbbbbbbb.o", "2", "cccccc.o", "3", "good.o", "4")
	// Git writes no such names, so they are put in the place of others that are as long.
	at.sh("git add -f *.o; sed -i 's#aaaaaaaa.o#../out.o\\x00\\x00#; s#bbbbbbbbb.o#.git/in.o\\x00\\x00#; s#cccccc.o#/out2.o\\x00#' .git/index")
	w := keep(t, s, first)
	check.Equal(t, "changes", "good.o", r.git("diff", "--name-only", first, w.Commit))
}

// TestAChangeIsSeenByMoreThanSizeAndTime, although the user's git goes by these.
func TestAChangeIsSeenByMoreThanSizeAndTime(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	r.git("config", "core.trustctime", "false")
	r.git("config", "core.checkStat", "minimal")
	first := r.commit("a", "a")
	s, at := take(t, open(t, r, nil), 1, first)
	for _, text := range []string{"1", "2"} {
		// Git remembers whole seconds of when a file was changed in any way, so another one has to begin, by the clock of the files.
		at.sh("was=$(stat -c %Z a); while touch .git/clock; [ $(stat -c %Z .git/clock) = $was ]; do :; done; printf " + text + " > a; touch -d @1000000000 a")
		check.Equal(t, "the file", text, r.git("show", keep(t, s, first).Commit+":a"))
	}
}

// TestARepositoryThatAnAgentMadeIsKeptAsFiles: git would keep the name of its commit only.
func TestARepositoryThatAnAgentMadeIsKeptAsFiles(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	first := r.commit("a", "a", "sub/x", "x")
	p := open(t, r, nil)
	s, at := take(t, p, 1, first)
	at.sh(`git init -q inner; cd inner; echo f > file; echo skip > .gitignore; echo s > skip; git init -q deep; echo d > deep/d; git init -q empty
		git add file; git -c user.name=x -c user.email=x commit -qm inner; cd ..; git init -q sub; echo y > sub/y`)
	w := keep(t, s, first)
	check.Equal(t, "left out", []git.Left(nil), w.Left)
	check.Equal(t, "changes", []string{"inner/.gitignore", "inner/deep/d", "inner/file", "sub/y"}, files(r.git("diff", "--name-only", first, w.Commit)))
	check.That(t, !strings.Contains(r.git("ls-tree", "-r", w.Commit), git.Gitlink), "there is a gitlink")
	_, at = take(t, p, 1, w.Commit)
	check.That(t, !at.has("inner/.git") && at.has("inner/file"), "the repository is still there, or its files are not")
}

// TestWhatCannotBeKept does not cost the rest.
func TestWhatCannotBeKept(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	first := r.commit("a", "a", "utf16", "x", "z", "z")
	p := open(t, r, func(o *Options) { o.MaxFile = 1 << 20 })
	s, at := take(t, p, 1, first)
	at.write("a", "changed", ".gitattributes", "utf16 working-tree-encoding=UTF-16\n", "utf16", "odd", "z", "changed", "n1", "1", "n2", "2")
	at.sh("truncate -s 1T huge; echo secret > secret; chmod 0 secret; mkdir -p x/.GIT new/deep; echo n > x/.GIT/config; echo n > git~1; echo n > new/deep/n; chmod 0 new/deep")
	t.Cleanup(func() { _ = os.Chmod(filepath.Join(at.dir, "new/deep"), 0o700) })
	want := []string{"git~1", "huge", "utf16", "x/.GIT/config"}
	if os.Getuid() != 0 {
		want = []string{"git~1", "huge", "new/deep", "secret", "utf16", "x/.GIT/config"}
	}
	w := keep(t, s, first)
	var left []string
	for _, l := range w.Left {
		check.That(t, l.Why != "", "%s is left out without a reason", l.Path)
		left = append(left, l.Path)
	}
	check.Equal(t, "left out", want, sorted(left...))
	check.Equal(t, "a, n1 and z", "changed1changed", r.git("show", w.Commit+":a")+r.git("show", w.Commit+":n1")+r.git("show", w.Commit+":z"))
	check.Equal(t, "what is left out is as it was", "x", r.git("show", w.Commit+":utf16"))
}

// TestObjectsThatCannotBeWritten are nobody's fault but that of the repository.
func TestObjectsThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	first := r.commit("a", "a")
	s, at := take(t, open(t, r, nil), 1, first)
	// For root nothing is read-only, so a file is where git would make a folder.
	at.sh("cd '" + r.dir + "/.git/objects'; until echo x >> " + at.dir + "/a; f=$(git hash-object " + at.dir + "/a | cut -c1-2); [ ! -e $f ]; do :; done; touch $f")
	w, err := s.Keep(t.Context(), first, "work")
	check.That(t, err != nil && strings.Contains(err.Error(), "git cannot store files"), "got %+v, %v", w, err)
}

// TestAFolderThatCannotBeRead is not taken for removed, and the next attempt has it again.
func TestAFolderThatCannotBeRead(t *testing.T) {
	t.Parallel()
	if os.Getuid() == 0 {
		t.Skip("root can read everything")
	}
	r := newRepo(t)
	first := r.commit(".gitignore", "cache\n", "a", "a", "dir/sub/x", "x")
	p := open(t, r, nil)
	s, at := take(t, p, 1, first)
	at.sh("echo b > a; mkdir -p cache new/deep; echo warm > cache/c; echo n > new/deep/n; chmod 0 dir; chmod a-w new/deep new")
	w := keep(t, s, first)
	check.Equal(t, "changes", []string{"a", "new/deep/n"}, files(r.git("diff", "--name-only", first, w.Commit)))
	check.That(t, len(w.Left) == 1 && w.Left[0].Path == "dir/sub/x", "left out: %v, want dir/sub/x", w.Left)
	_, at = take(t, p, 1, first)
	wantClean(t, at, first)
	check.Equal(t, "files", "xwarm\n", at.text("dir/sub/x")+at.text("cache/c"))
}

// TestASubmoduleIsNotChanged: its commit would exist in the slot only, and no git of ralph's
// runs in it.
func TestASubmoduleIsNotChanged(t *testing.T) {
	t.Parallel()
	lib, r := newRepo(t), newRepo(t)
	lib.commit("l", "l")
	r.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", lib.dir, "sub")
	first := r.commit("a", "a")
	r.git("config", "submodule.recurse", "true")
	r.git("submodule", "--quiet", "deinit", "--all", "-f")
	setup := 0
	p := open(t, r, nil)
	s, at := take(t, p, 1, first)
	check.Equal(t, "a submodule that is not set up", first, keep(t, s, first).Commit)
	at.write("sub/l", "a file that only this slot has")
	check.Equal(t, "left out, where it was not set up", []git.Left{{Path: "sub", Why: whySubmodule}}, keep(t, s, first).Left)
	_, at = take(t, p, 1, first)
	wantClean(t, at, first)
	check.Equal(t, "files in it for the next task", "", at.sh("ls sub"))
	p.o.Setup = func(ctx ctx, s *Slot) error {
		setup++
		repo{t, s.Top()}.sh("git config -f .git/modules/sub/config --unset core.fsmonitor || true") // it may run there, not elsewhere
		repo{t, s.Top()}.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "update", "--init")
		return nil
	}
	s, at = take(t, p, 1, first)
	check.Equal(t, "its file", "l", at.text("sub/l"))
	wantClean(t, at, first)
	take(t, p, 1, first)
	check.Equal(t, "runs of setup", 1, setup)
	wantClean(t, at, first)
	check.Equal(t, "git in the submodule still works", "", at.git("-C", "sub", "status", "--porcelain"))

	trap := newTrap(t)
	at.sh("cd sub; git config core.fsmonitor " + trap.path + "; echo changed > l; cd ..; echo b > a")
	trap.reset()
	w := keep(t, s, first)
	check.Equal(t, "left out, when it is only dirty", []git.Left{{Path: "sub", Why: whySubmodule}}, w.Left)
	check.Equal(t, "changes", []string{"a"}, files(r.git("diff", "--name-only", first, w.Commit)))
	at.sh("cd sub; git -c core.fsmonitor=false -c user.name=x -c user.email=x commit -qam moved")
	trap.reset()
	w = keep(t, s, first)
	check.Equal(t, "left out", []git.Left{{Path: "sub", Why: whySubmodule}}, w.Left)
	check.Equal(t, "changes", []string{"a"}, files(r.git("diff", "--name-only", first, w.Commit)))
	take(t, p, 1, first)
	trap.check()
	check.Equal(t, "runs of setup, after the submodule was moved", 2, setup)
	wantClean(t, at, first)

	lib.commit("l", "l2")
	r.git("submodule", "--quiet", "update", "--init")
	r.git("-C", "sub", "pull", "-q", "origin", "main")
	second := r.commit()
	s, at = take(t, p, 1, second)
	check.Equal(t, "the submodule follows the commit", "l2", at.text("sub/l"))
	w = keep(t, s, second)
	check.Equal(t, "nothing is taken for work", second, w.Commit)
	check.Equal(t, "left out", []git.Left(nil), w.Left)
	at.sh("rm -rf sub; echo file > sub; rm .gitmodules")
	w = keep(t, s, second)
	check.Equal(t, "changes", "D\t.gitmodules", r.git("diff", "--name-status", second, w.Commit))
}

// TestShow sets the files in the middle of an attempt; what git in the slot has besides stays.
func TestShow(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	first := r.commit("a", "1\n", "b", "b\n")
	second := r.commit("a", "2\n")
	for name, damage := range map[string]string{
		"as usual":                 "true",
		"in the middle of a merge": "git checkout -qb mine; echo x > b; git commit -qam x; git checkout -q main; echo y > b; git commit -qam y; git merge mine || true",
		"with an index.lock":       ": > .git/index.lock",
		"with HEAD as a pipe":      "rm .git/HEAD; mkfifo .git/HEAD",
		"with refs out of it":      "rm -r .git/refs; ln -s /tmp .git/refs",
		"without .git":             "rm -r .git",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, at := take(t, open(t, r, func(o *Options) { o.Dir, o.State = t.TempDir(), t.TempDir() }), 1, first)
			at.sh("echo stashed > a; git stash -q; echo left > new; " + damage)
			check.OK(t, s.Show(t.Context(), second, second))
			wantClean(t, at, second)
			check.Equal(t, "a", "2\n", at.text("a"))
			at.git("commit", "-q", "--allow-empty", "-m", "own")
			check.Equal(t, "the parent of the agent's next commit", second, at.git("show", "-s", "--format=%P"))
			if name == "as usual" {
				check.Equal(t, "the stash", "stashed", at.git("show", "stash@{0}:a"))
			}
		})
	}
}

// TestShowLeavesFilesThatAreRight untouched: builds go by their times.
func TestShowLeavesFilesThatAreRight(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	first := r.commit("a", "1", "b", "b")
	s, at := take(t, open(t, r, nil), 1, first)
	at.write("a", "2")
	before, err := os.Stat(filepath.Join(at.dir, "a"))
	check.OK(t, err)
	w := keep(t, s, first)
	check.OK(t, s.Show(t.Context(), w.Commit, w.Commit))
	after, err := os.Stat(filepath.Join(at.dir, "a"))
	check.OK(t, err)
	check.That(t, os.SameFile(before, after) && before.ModTime().Equal(after.ModTime()), "the file was written again")
}

// TestConflict: the slot shows what the merge comes to, and git in it says where it failed.
func TestConflict(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	base := r.commit("a", "1\n", "b", "b\n", "c", "c\n")
	s, at := take(t, open(t, r, nil), 1, base)
	at.write("a", "mine\n", "new", "n\n")
	at.sh("rm c")
	w := keep(t, s, base)
	onto := r.commit("a", "theirs\n", "b", "other\n", "c", "changed\n")
	check.OK(t, s.Conflict(t.Context(), base, onto, w.Commit))
	check.Equal(t, "paths in conflict", []string{"a", "c"}, s.made.Conflicts)
	check.Equal(t, "paths that nobody has decided about", []string{"a", "c"}, s.Unresolved(t.Context()))
	check.Contains(t, "a", "<<<<<<< "+onto+"\ntheirs\n=======\nmine\n>>>>>>> "+w.Commit, at.text("a"))
	check.Equal(t, "git status", []string{"## main", "UU a", "UD c", "A  new"}, files(at.git("status", "--porcelain", "--branch")), ignoreOrder)
	check.Equal(t, "what merges", "other\nn\n", at.text("b")+at.text("new"))
	_, shown := s.Shown()
	check.Equal(t, "nothing was resolved", shown, keep(t, s, onto).Tree)
	at.sh("git add c")
	check.Equal(t, "paths, of which one is to stay as it is", []string{"a"}, s.Unresolved(t.Context()))
	at.sh("printf 'both\\n' > a; rm c; git add -A; git commit -qm 'resolve it'")
	check.Equal(t, "paths when all was decided", 0, len(s.Unresolved(t.Context())))
	said, err := s.Message(t.Context())
	check.OK(t, err)
	check.Equal(t, "the message", "resolve it", said)
	before := w.Commit
	w = keep(t, s, onto)
	check.Equal(t, "changes", []string{"M\ta", "D\tc", "A\tnew"}, files(r.git("diff", "--name-status", onto, w.Commit)))
	check.Equal(t, "what was resolved", before, s.Resolves())
	next, err := s.p.Take(t.Context(), 2, "a-2", onto, w.Commit)
	check.OK(t, err)
	check.Equal(t, "what the next attempt goes on with", before, next.Resolves())
	check.OK(t, next.Show(t.Context(), onto, onto))
	check.Equal(t, "from the beginning", "", next.Resolves())
	next, err = s.p.Take(t.Context(), 2, "a-3", onto, onto)
	check.OK(t, err)
	check.Equal(t, "other work", "", next.Resolves())
	check.OK(t, s.Conflict(t.Context(), onto, onto, w.Commit))
	check.Equal(t, "paths in conflict, of what merges", 0, len(s.made.Conflicts))
}

// TestMarkersThatAreText are no conflict: a file may have had some before.
func TestMarkersThatAreText(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	const text = "<<<<<<< ours\nx\n=======\ny\n>>>>>>> theirs\n"
	base := r.commit("a", text+"1\n", "b", text)
	s, at := take(t, open(t, r, nil), 1, base)
	at.write("a", text+"mine\n")
	at.sh("rm b")
	w := keep(t, s, base)
	onto := r.commit("a", text+"theirs\n", "b", text+"changed\n")
	check.OK(t, s.Conflict(t.Context(), base, onto, w.Commit))
	at.sh("git add a")
	check.Equal(t, "staged as it was shown", []string{"a", "b"}, s.Unresolved(t.Context()))
	at.write("a", text+"both\n")
	at.sh("git add b")
	check.Equal(t, "resolved", []string{}, s.Unresolved(t.Context()))
}

// TestAConflictThatCannotBeRead holds nobody up.
func TestAConflictThatCannotBeRead(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	base := r.commit("a", "1\n", "b", "1\n")
	s, at := take(t, open(t, r, nil), 1, base)
	at.write("a", "mine\n", "b", "mine\n")
	w := keep(t, s, base)
	onto := r.commit("a", "theirs\n", "b", "theirs\n")
	check.OK(t, s.Conflict(t.Context(), base, onto, w.Commit))
	at.sh("rm a b; mkfifo a; ln -s /dev/zero b")
	check.Equal(t, "unresolved", []string{}, s.Unresolved(t.Context()))
}

// TestMessage: what an agent wrote into its own commits, read by the project's git.
func TestMessage(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	first := r.commit("a", "1\n", "b", "1\n")
	p := open(t, r, nil)
	s, at := take(t, p, 1, first)
	message := func() string {
		t.Helper()
		said, err := s.Message(t.Context())
		check.OK(t, err)
		return said
	}
	check.Equal(t, "without a commit", "", message())
	at.sh("echo 2 > a; git commit -qam 'First: ä\n\nbody'; git checkout -qb own; echo 3 > a; git commit -qam second; git pack-refs --all; git gc -q")
	check.Equal(t, "two commits", "First: ä\n\nbody\n\nsecond", message())
	r.git("config", "log.showSignature", "true")
	at.sh(`git cat-file commit HEAD | sed '/^$/{s/.*/gpgsig -----BEGIN PGP SIGNATURE-----\n x\n/;:a;n;ba}' > signed; git update-ref HEAD $(git hash-object -t commit -w signed)`)
	check.Equal(t, "a signed commit", "First: ä\n\nbody\n\nsecond", message())
	at.sh("git checkout -q --detach; git commit -q --allow-empty -m " + strings.Repeat("long", 10000))
	check.That(t, len(message()) < 5000, "a long message is not cut")
	check.OK(t, s.Show(t.Context(), first, first))
	check.Equal(t, "after the files were set", "", message())
	for name, do := range map[string]string{
		"no .git":              "rmdir .git",
		"a link":               "rmdir .git; git init -q ../evil; ln -s ../../evil/.git .git",
		"a pipe":               "mkfifo .git/HEAD",
		"a ref elsewhere":      "echo ref: ../../../../../etc/passwd > .git/HEAD",
		"an option for an ID":  "echo --output=/tmp/x > .git/HEAD",
		"objects elsewhere":    "git init -q ../other; cd ../other; git -c user.name=x -c user.email=x commit -q --allow-empty -m not-yours; cd -; git -C ../other rev-parse HEAD > .git/HEAD; ln -s ../../../other/.git/objects .git/objects",
		"a ref that is a link": "echo ref: refs/heads/x > .git/HEAD; mkdir -p .git/refs/heads; ln -s /etc/passwd .git/refs/heads/x",
	} {
		at.sh("rm -rf .git; mkdir .git; " + do)
		check.Equal(t, name, "", message())
	}
	at.sh("rm -rf .git; mkdir -p .git/objects; echo " + strings.Repeat("1", 40) + " > .git/HEAD")
	_, err := s.Message(t.Context())
	check.That(t, err != nil, "a commit that does not exist has a message")
}

// TestATornSlotHasNoWork: ralph died while it changed the files.
func TestATornSlotHasNoWork(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	first := r.commit("a", "1\n")
	p := open(t, r, nil)
	s, at := take(t, p, 1, first)
	at.write("a", "2\n")
	left, err := p.At(1)
	check.OK(t, err)
	check.That(t, keep(t, left, first).Commit != first, "what a dead ralph's agent left is not kept")
	check.OK(t, s.begin())
	_, err = s.Keep(t.Context(), first, "x")
	check.That(t, errors.Is(err, ErrTorn), "got %v, want ErrTorn", err)
	_, err = p.At(1)
	check.That(t, errors.Is(err, ErrTorn), "got %v, want ErrTorn", err)
}

// TestWhatIsBelowTheWorkIsKnownAfterACrash: whatever the slot showed last, what is kept of it
// changes what the attempt has changed, and no merge that nobody finished is taken for work.
func TestWhatIsBelowTheWorkIsKnownAfterACrash(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	base := r.commit("a", "1\n", "b", "b\n")
	p := open(t, r, nil)
	s, at := take(t, p, 1, base)
	at.write("a", "work\n")
	w := keep(t, s, base)
	onto := r.commit("b", "landed\n")
	r.write("a", "work\n")
	candidate := r.commit()
	r.git("reset", "-q", "--hard", onto)
	check.OK(t, s.Show(t.Context(), onto, candidate))
	at.write("new", "repaired\n")
	found, err := p.At(1)
	check.OK(t, err)
	check.Equal(t, "below a candidate", onto, found.Base())
	check.Equal(t, "the work", "M\ta\nA\tnew", r.git("diff", "--name-status", onto, keep(t, found, found.Base()).Commit))
	other := r.commit("a", "other\n")
	check.OK(t, s.Conflict(t.Context(), base, other, w.Commit))
	found, err = p.At(1)
	check.OK(t, err)
	check.Equal(t, "in conflict", []string{"a"}, found.Unresolved(t.Context()))
	at.write("a", "both\n")
	check.Equal(t, "in conflict after it was resolved", []string{}, found.Unresolved(t.Context()))
	check.Equal(t, "below the merge", other, found.Base())
}

// TestAHeldSlotIsLookedAtOnce: what is seen first counts until release, or until ralph itself changes the files.
func TestAHeldSlotIsLookedAtOnce(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	first := r.commit("a", "a")
	s, at := take(t, open(t, r, nil), 1, first)
	at.write("a", "done")
	release := s.Hold()
	done, err := s.Tree(t.Context())
	check.OK(t, err)
	at.write("a", "changed by somebody who was not stopped")
	w := keep(t, s, first)
	check.Equal(t, "what is kept while it is held", done, w.Tree)
	check.Equal(t, "the same work once more", w.Commit, keep(t, s, first).Commit)
	check.OK(t, s.Show(t.Context(), first, first))
	check.Equal(t, "what ralph has shown since", first, keep(t, s, first).Commit)
	release()
	at.write("a", "later")
	check.That(t, keep(t, s, first).Commit != first, "after its release the slot is not looked at")
}
