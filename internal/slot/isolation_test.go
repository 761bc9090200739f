package slot

import (
	"os"
	"path/filepath"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"ralph/internal/git"
	"ralph/internal/testing/check"
)

// TestAnAgentChangesNothingElse with what it does to its own repository: neither another slot
// nor the project.
func TestAnAgentChangesNothingElse(t *testing.T) {
	t.Parallel()
	for name, do := range map[string]string{
		"stash":           "echo x > a; git stash -q; git stash list | grep -q WIP",
		"drop of a stash": "git stash drop || true; git stash clear",
		"gc":              "git reflog expire --expire=now --all; git gc -q --prune=now",
		"branches":        "git checkout -q -b own; git branch -D main other; git tag -d v1",
		"checkout":        "git checkout -qf HEAD~1; git checkout -qf other",
		"reset":           "git reset -q --hard HEAD~1; git update-ref -d refs/heads/main",
		"no repository":   "rm -rf .git",
		"no files":        "rm -rf * .git",
		"another one":     "rm -rf .git; git init -q; git add -A; git -c user.name=x -c user.email=x commit -qm all",
		"packing":         "git repack -adq; git prune-packed; git pack-refs --all --prune; git maintenance run -q || true",
		"worktrees":       "git worktree add -q ../../wt HEAD || true; git worktree prune",
		"objects":         "rm -rf .git/objects; mkdir .git/objects",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRepo(t)
			r.commit("a", "1", "b", "b")
			first := r.commit("a", "2")
			r.sh("git tag v1; git branch other; echo theirs > b; git stash -q")
			p := open(t, r, nil)
			one, at := take(t, p, 1, first)
			_, other := take(t, p, 2, first)
			other.sh("echo mine > b; git stash -q; echo changed > a; echo n > new")
			project, neighbour := r.all(), other.all()
			at.sh("git config user.name x; git config user.email x; " + do)
			check.Equal(t, "the project", project, r.all())
			check.Equal(t, "the other slot", neighbour, other.all())
			_, err := one.Message(t.Context())
			check.That(t, err == nil || name == "objects" || name == "another one", "messages: %v", err)
			_, at = take(t, p, 1, first)
			wantClean(t, at, first)
			check.Equal(t, "the stash in the next attempt", "", at.git("stash", "list"))
			check.Equal(t, "branches in the next attempt", "main\nother", at.git("branch", "--format=%(refname:short)"))
			check.Equal(t, "the other slot's stash", "mine", other.git("show", "stash@{0}:b"))
			check.Equal(t, "what ralph left beside", "", r.git("worktree", "prune", "-n"))
		})
	}
}

// TestRalphRunsNothingOfAnAgent: no setting, hook, filter or attribute that it wrote.
func TestRalphRunsNothingOfAnAgent(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	first := r.commit("a", "1\n", "sub/b", "b\n")
	second := r.commit("a", "2\n")
	p := open(t, r, nil)
	s, at := take(t, p, 1, first)
	trap := newTrap(t)
	plant := func() {
		at.sh(`for d in . inner sub; do
			git init -q $d; printf '* filter=evil diff=evil merge=evil ident\n' | tee $d/.gitattributes > $d/.git/info/attributes
			for h in post-index-change pre-commit post-checkout reference-transaction fsmonitor-watchman post-merge pre-auto-gc; do
				mkdir -p $d/.git/hooks; ln -sf ` + trap.path + ` $d/.git/hooks/$h; done
			cat >> $d/.git/config <<CFG
[core]
	fsmonitor = ` + trap.path + `
	hooksPath = .git/hooks
	pager = ` + trap.path + `
	sshCommand = ` + trap.path + `
	alternateRefsCommand = ` + trap.path + `
	editor = ` + trap.path + `
[filter "evil"]
	clean = ` + trap.path + ` clean
	smudge = ` + trap.path + ` smudge
	process = ` + trap.path + `
	required = true
[diff "evil"]
	command = ` + trap.path + `
	textconv = ` + trap.path + `
[merge "evil"]
	driver = ` + trap.path + ` %A
[gpg]
	program = ` + trap.path + `
[log]
	showSignature = true
[extensions]
	partialClone = evil
[remote "evil"]
	url = ext::` + trap.path + `
	promisor = true
CFG
		done; echo i > inner/i; mkdir -p .git/objects/info; echo /etc >> .git/objects/info/alternates; echo 3 > a`)
	}
	plant()
	trap.reset()
	_, err := p.Diff(t.Context(), 1, "a-1", 1<<20)
	check.OK(t, err)
	w := keep(t, s, first)
	_, err = s.Message(t.Context())
	check.OK(t, err)
	check.OK(t, s.Show(t.Context(), second, second))
	trap.check()
	plant()
	trap.reset()
	check.OK(t, s.Conflict(t.Context(), first, second, w.Commit))
	trap.check()
	plant()
	trap.reset()
	_, err = p.Take(t.Context(), 1, "a-1", first, first)
	check.OK(t, err)
	trap.check()
	wantClean(t, at, first)
	check.That(t, !at.has("sub/.git") && !at.has("inner"), "a repository of the agent's is still there")
}

// TestLinksOutOfASlot are not followed, whichever step comes upon them.
func TestLinksOutOfASlot(t *testing.T) {
	t.Parallel()
	for name, do := range map[string]string{
		"a folder of the commit":   "rm -r dir; ln -s $OUT dir",
		"a file of the commit":     "rm a; ln -s $OUT/f a",
		"the .git":                 "rm -rf .git; ln -s $OUT .git",
		"parts of the .git":        "rm -rf .git/refs .git/HEAD .git/index .git/objects; ln -s $OUT .git/refs; ln -s $OUT .git/objects; ln -s $OUT/f .git/HEAD; ln -s $OUT/f .git/index",
		"modules of the .git":      "rm -rf .git/modules; ln -s $OUT .git/modules",
		"an ignored folder":        "rm -rf cache; ln -s $OUT cache",
		"links in ignored folders": "rm -rf cache; mkdir cache; ln -s $OUT cache/out; ln -s $OUT/f cache/f",
		"a hard link":              "rm a; ln $OUT/f a",
		"the place of the project": "rm -r dir; ln -s $OUT/.. dir",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRepo(t)
			first := r.commit(".gitignore", "cache\n", "a", "1\n", "dir/x", "x\n", "dir/deep/f", "f\n")
			second := r.commit("a", "2\n", "dir/x", "2\n", "dir/deep/f", "2\n")
			p := open(t, r, func(o *Options) { o.Sub = "dir" })
			outside := repo{t, t.TempDir()}
			outside.write("f", "precious\n", "x", "precious\n", "deep/f", "precious\n", "heads/main", "precious\n", "modules/m", "precious\n")
			was := outside.all()
			s, at := take(t, p, 1, first)
			plant := func() { t.Helper(); at.sh("OUT=" + outside.dir + "; " + do) }
			plant()
			keep(t, s, first)
			_, _ = s.Message(t.Context()) // whatever it says of such a repository
			check.OK(t, s.Show(t.Context(), second, second))
			check.Equal(t, "outside, after Show", was, outside.all())
			plant()
			take(t, p, 1, first)
			wantClean(t, at, first)
			check.Equal(t, "outside, after Take", was, outside.all())
			plant()
			check.OK(t, p.Remove(1))
			check.OK(t, p.Sweep())
			check.Equal(t, "outside, after Remove", was, outside.all())
		})
	}
}

// TestAttributesOfAnAgentNameNoProgram but those that the user has configured.
func TestAttributesOfAnAgentNameNoProgram(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	first := r.commit("a", "a\n")
	r.git("config", "filter.lower.clean", "tr A-Z a-z")
	s, at := take(t, open(t, r, nil), 1, first)
	at.write(".gitattributes", "a filter=lower\nb filter=unknown\n", "a", "WORK\n", "b", "B\n")
	w := keep(t, s, first)
	check.Equal(t, "by a filter of the user's, and by one of nobody's", "work B", r.git("show", w.Commit+":a")+" "+r.git("show", w.Commit+":b"))
}

// TestParallelSlots: many at once do not get in each other's way, nor in that of git gc.
func TestParallelSlots(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	first := r.commit("a", "1\n", "dir/b", "b\n")
	p := open(t, r, nil)
	var all sync.WaitGroup
	for n := 1; n <= 6; n++ {
		all.Go(func() {
			for range 3 {
				s, err := p.Take(t.Context(), n, "a-1", first, first)
				if err != nil {
					t.Error(err)
					return
				}
				if err := os.WriteFile(filepath.Join(s.Dir(), "work"), []byte{byte('0' + n)}, 0o600); err != nil {
					t.Error(err)
				}
				w, err := s.Keep(t.Context(), first, "work")
				if err != nil {
					t.Error(err)
					return
				}
				out, err := r.try("show", w.Commit+":work")
				check.That(t, err == nil && out == string(byte('0'+n)), "slot %d kept %q: %v", n, out, err)
			}
		})
	}
	all.Go(func() { _, _ = r.try("gc", "-q") })
	all.Wait()
	wantFolders(t, p, 6)
	check.Equal(t, "refs", "refs/heads/main", r.git("for-each-ref", "--format=%(refname)"))
}

// TestAnythingThatAnAgentDoesIsKept: random work is kept as git itself would add it, and a
// slot that is taken again has nothing of it.
func TestAnythingThatAnAgentDoesIsKept(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	first := r.commit("a", "a", "b/c", "c", "b/d/e", "e", "f", "f", ".gitignore", "*.o\n")
	p := open(t, r, nil)
	elsewhere := t.TempDir()
	rapid.Check(t, func(rt *rapid.T) {
		s, at := take(t, p, 1, first)
		if status := at.git("status", "--porcelain"); status != "" {
			rt.Fatalf("a slot that was taken again has changes: %s", status)
		}
		name := rapid.SampledFrom([]string{"a", "b", "b/c", "b/d", "b/d/e", "f", "f/g", "n", "n/m", "x.o", ".gitignore", "b/.gitignore"})
		for range rapid.IntRange(1, 8).Draw(rt, "steps") {
			path := filepath.Join(at.dir, name.Draw(rt, "name"))
			step := rapid.SampledFrom([]string{"write", "remove", "link", "mode", "folder"}).Draw(rt, "step")
			if step != "write" && step != "mode" {
				_ = os.RemoveAll(path)
			}
			switch step { // where something is in the way nothing happens
			case "write":
				_ = os.MkdirAll(filepath.Dir(path), 0o700)
				_ = os.WriteFile(path, []byte(rapid.SampledFrom([]string{"", "1", "a", "*\n", "!x.o\n"}).Draw(rt, "text")), 0o600)
			case "link":
				_ = os.Symlink(rapid.SampledFrom([]string{"a", "nowhere", elsewhere}).Draw(rt, "to"), path)
			case "mode":
				if info, err := os.Lstat(path); err == nil && info.Mode().IsRegular() {
					_ = os.Chmod(path, 0o700)
				}
			case "folder":
				_ = os.MkdirAll(path, 0o700)
			}
		}
		w := keep(t, s, first)
		check.Equal(rt, "left out", []git.Left(nil), w.Left)
		at.git("add", "-A")
		check.Equal(rt, "the tree", at.git("write-tree"), w.Tree)
	})
}
