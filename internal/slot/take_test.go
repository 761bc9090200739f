package slot

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ralph/internal/testing/check"
)

// TestASlotHasTheCommit with all kinds of names and files, and so has a warm one.
func TestASlotHasTheCommit(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	r.write(".gitignore", "cache/\n", "a.txt", "a", "sub/b.txt", "b", "ünïcode/日本", "u", "new\nline", "n", " space ", "s", "README", "1", "readme", "2", "run.sh", "#!/bin/sh\n", `back\slash"quote`, "q")
	check.OK(t, os.Chmod(filepath.Join(r.dir, "run.sh"), 0o700))
	check.OK(t, os.Symlink("sub/b.txt", filepath.Join(r.dir, "link")))
	check.OK(t, os.Symlink("/nowhere", filepath.Join(r.dir, "dangling")))
	first := r.commit()
	want := r.working()
	p := open(t, r, nil)
	s, at := take(t, p, 1, first)
	check.Equal(t, "files", want, at.working())
	wantClean(t, at, first)
	check.Equal(t, "the project", r.dir+"\n", at.text("../"+projectFile))
	check.Equal(t, "the folder", s.Top(), s.Dir())
	info, err := os.Stat(filepath.Join(at.dir, "run.sh"))
	check.OK(t, err)
	check.That(t, info.Mode()&0o100 != 0, "run.sh is not executable")
	// the next commit swaps files and folders, links and files, modes
	r.sh(`rm -r sub a.txt link; echo s > sub; mkdir a.txt; echo x > a.txt/x; echo file > link; chmod -x run.sh; ln -s a.txt dir`)
	second := r.commit()
	want = r.working()
	at.sh(`mkdir cache; echo warm > cache/c; echo left > untracked; mkdir -p some/dir; echo q > some/dir/q; echo changed > a.txt; rm readme; git init -q inner; echo i > inner/i; git init -q sub`)
	_, at = take(t, p, 1, second)
	check.Equal(t, "ignored files stay", "warm\n", at.text("cache/c"))
	check.OK(t, os.RemoveAll(filepath.Join(at.dir, "cache")))
	check.Equal(t, "files", want, at.working())
	wantClean(t, at, second)
}

// TestModesOfFoldersAreSetBack: git knows none, and a task must not leave the next one what that cannot remove.
func TestModesOfFoldersAreSetBack(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	p := open(t, r, nil)
	first := r.commit("a", "a")
	s, at := take(t, p, 1, first)
	at.sh("mkdir -p r/s; echo 1 > r/s/a; chmod 555 r/s r")
	_, at = take(t, p, 1, keep(t, s, first).Commit)
	check.Equal(t, "modes", "drwxr-xr-x drwxr-xr-x", at.sh("stat -c %A r r/s | xargs"))
}

// TestTheModeOfTheSlotItselfIsSetBack: no later task could work there.
func TestTheModeOfTheSlotItselfIsSetBack(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"555", "000"} {
		r := newRepo(t)
		p := open(t, r, nil)
		first := r.commit("a", "a")
		s, at := take(t, p, 1, first)
		at.sh("echo b > b; chmod " + mode + " .")
		w := keep(t, s, first)
		check.Equal(t, "what was kept", "b", r.git("show", w.Commit+":b"))
		repo{t, p.o.Dir}.sh("chmod " + mode + " 1")
		_, at = take(t, p, 1, first)
		info, err := os.Stat(at.dir)
		check.OK(t, err)
		check.Equal(t, "what the owner may do", "-rwx------", (info.Mode().Perm() & 0o700).String())
	}
}

// TestARepositoryThatAnAgentMadeInATrackedFolderIsGone: git passes over it.
func TestARepositoryThatAnAgentMadeInATrackedFolderIsGone(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	first := r.commit("sub/a", "a", "b", "b")
	p := open(t, r, nil)
	_, at := take(t, p, 1, first)
	at.sh("git init -q sub")
	_, at = take(t, p, 1, first)
	check.That(t, !at.has("sub/.git"), "the repository in sub is still there")
	check.Equal(t, "a file of the commit", "a", at.text("sub/a"))
}

// TestADamagedSlotIsMadeAnew, whatever is missing.
func TestADamagedSlotIsMadeAnew(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		damage string
		cold   bool // nothing of it is used any more
	}{
		"nothing":                       {damage: "true"},
		"its folder is gone":            {damage: "rm -r slots/1", cold: true},
		"its folder is a file":          {damage: "rm -r slots/1; echo x > slots/1", cold: true},
		"its folder is a link":          {damage: "mv slots/1 elsewhere; ln -s ../elsewhere slots/1", cold: true},
		"its files are gone":            {damage: "rm -r slots/1/a slots/1/.git"},
		"its .git is a file":            {damage: "rm -r slots/1/.git; echo gitdir: /tmp > slots/1/.git"},
		"its .git is a link":            {damage: "mv slots/1/.git elsewhere; ln -s ../../elsewhere slots/1/.git"},
		"its .git is half there":        {damage: "rm slots/1/.git/HEAD slots/1/.git/config"},
		"ralph's index is gone":         {damage: "rm state/1/index"},
		"ralph's index is damaged":      {damage: "echo damaged > state/1/index", cold: true},
		"a git died with the index":     {damage: "mkdir state/1/tmp-1; cp state/1/index state/1/tmp-1/index.lock; : > state/1/index.lock"},
		"what ralph knows is gone":      {damage: "rm -r state", cold: true},
		"what ralph knows is damaged":   {damage: "echo { > state/1/made.json", cold: true},
		"ralph died while it set files": {damage: "rm state/1/made.json slots/1/a/x", cold: true},
		"git would wait for a pipe":     {damage: "mkdir slots/1/c; mkfifo slots/1/c/.gitignore", cold: true},
		"ralph died while it was made":  {damage: "mkdir slots/.new-1-1 slots/.git-1; echo x > slots/.new-1-1/x; rm -r state/1/made.json slots/1", cold: true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRepo(t)
			first := r.commit(".gitignore", "cache\n", "a/x", "x", "b", "b")
			p := open(t, r, nil)
			_, at := take(t, p, 1, first)
			at.write("cache", "warm")
			repo{t, filepath.Dir(r.dir)}.sh(test.damage)
			_, at = take(t, p, 1, first)
			wantClean(t, at, first)
			check.Equal(t, "a file", "x", at.text("a/x"))
			check.Equal(t, "it is made anew", test.cold, at.text("cache") == "")
			check.OK(t, p.Sweep())
			left, err := filepath.Glob(filepath.Join(p.o.Dir, ".*"))
			check.OK(t, err)
			check.Equal(t, "what is left beside the slots", 0, len(left))
		})
	}
}

// TestTakeRefuses a commit that does not exist, without touching what is there.
func TestTakeRefuses(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	first := r.commit("a", "a")
	p := open(t, r, nil)
	_, at := take(t, p, 1, first)
	at.write("a", "changed")
	_, err := p.Take(t.Context(), 1, "a-1", strings.Repeat("1", 40), strings.Repeat("1", 40))
	check.Err(t, "an unknown commit", "Needed a single revision", err)
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("told to stop"))
	_, err = p.Take(ctx, 1, "a-1", first, first)
	check.Err(t, "a run that ends", "told to stop", err)
	check.Equal(t, "the file", "changed", at.text("a"))
}

// TestASubfolderIsTheProject: the slot has all of the repository.
func TestASubfolderIsTheProject(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	first := r.commit("top", "t", "one/two/x", "x", "one/two/.ralph/config.toml", "c")
	p := open(t, r, func(o *Options) { o.Sub, o.Project = "one/two", filepath.Join(r.dir, "one/two") })
	s, at := take(t, p, 1, first)
	check.Equal(t, "the folder", filepath.Join(s.Top(), "one", "two"), s.Dir())
	at.sh("echo y > one/two/y; echo changed > one/two/.ralph/config.toml; echo n > one/two/.ralph/new; echo q > .ralph; echo z > top")
	w := keep(t, s, first)
	check.Equal(t, "what is kept", []string{".ralph", "one/two/y", "top"}, files(r.git("diff", "--name-only", first, w.Commit)))
	empty := r.git("commit-tree", "-m", "empty", "4b825dc642cb6eb9a060e54bf8d69288fbee4904")
	s, _ = take(t, p, 1, empty)
	info, err := os.Stat(s.Dir())
	check.OK(t, err)
	check.That(t, info.IsDir(), "there is no folder to work in")
}

// TestEnvironment: what programs in a slot are told.
func TestEnvironment(t *testing.T) {
	t.Parallel()
	p := Open(Options{Dir: "/slots", Project: "/p", Name: "_My Project"})
	check.Equal(t, "the environment", []string{
		"RALPH_SLOT=3", "RALPH_PROJECT=/p", "COMPOSE_PROJECT_NAME=my-project-slot3", "GIT_CEILING_DIRECTORIES=/slots",
	}, p.slot(3).Env())
}

// TestAPipeThatNamesFilesToCopyHoldsUpNobody: neither ralph nor git reads it.
func TestAPipeThatNamesFilesToCopyHoldsUpNobody(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	first := r.commit("x", "x")
	r.sh("mkfifo .worktreeinclude")
	_, err := open(t, r, nil).Take(t.Context(), 1, "a-1", first, first)
	check.That(t, errors.As(err, new(*SetupError)), "got %v, want an error of the setup", err)
	check.Contains(t, "the error", ".worktreeinclude: not a regular file", err.Error())
}

// TestSetup: ignored files are copied and Setup runs, once, and again when that is needed.
func TestSetup(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	first := r.commit(".gitignore", ".env*\nsecrets/\nnode_modules/\n", "lock", "1", "deep/x", "x", ".worktreeinclude", "secrets/\n")
	r.write(".env", "E=1", "deep/.env.local", "L", "secrets/key", "k", "secrets/more/key", "m", "plain", "not ignored", ".env.not", "n", "plainer", "p")
	check.OK(t, os.Symlink("key", filepath.Join(r.dir, "secrets/link")))
	runs := 0
	p := open(t, r, func(o *Options) {
		o.Copy, o.SetupOn = []string{".env", ".env.local", "plain"}, []string{"lock"}
		o.Setup = func(_ context.Context, s *Slot) error {
			runs++
			at := repo{t, s.Dir()}
			at.git("status")
			at.sh("mkdir -p node_modules; echo m > node_modules/m; echo changed by setup > lock; echo x > made-by-setup")
			return nil
		}
	})
	_, at := take(t, p, 1, first)
	wantClean(t, at, first)
	check.Equal(t, "copied", []string{"E=1", "L", "k", "m", "key"}, []string{at.text(".env"), at.text("deep/.env.local"), at.text("secrets/key"), at.text("secrets/more/key"), at.working()["secrets/link"]})
	check.That(t, !at.has("plain") && !at.has(".env.not"), "a file was copied that is not ignored, or not named")
	check.Equal(t, "runs of setup", 1, runs)

	second := r.commit("deep/x", "other", ".gitignore", ".env*\nsecrets/\nnode_modules/\nplain*\n")
	at.write(".env", "changed by an agent")
	_, at = take(t, p, 1, second)
	check.Equal(t, "what an agent changed", "E=1", at.text(".env"))
	check.Equal(t, "runs of setup, on a warm slot", 1, runs)

	at.sh("git clean -fdxq")
	_, at = take(t, p, 1, second)
	check.Equal(t, "runs of setup, after everything ignored was removed", 2, runs)
	check.Equal(t, "copied", "E=1", at.text(".env"))

	third := r.commit("lock", "2")
	s, at := take(t, p, 1, third)
	check.Equal(t, "runs of setup, after the lock file changed", 3, runs)
	check.OK(t, s.Show(t.Context(), second, second))
	check.Equal(t, "runs of setup, with another lock file shown", 4, runs)
	wantClean(t, at, second)
	p.o.SetupIs = "another command"
	take(t, p, 1, second)
	check.Equal(t, "runs of setup, with another command", 5, runs)
}

// TestTheTextOfEveryDotenvIsPassedOn before each attempt, also of those in a folder that is there already.
func TestTheTextOfEveryDotenvIsPassedOn(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	base := r.commit(".gitignore", ".env\nprod.env\nconf/\n", "a", "1")
	r.write(".env", "A=1", "prod.env", "B=2", "conf/deep/.env.local", "C=3", "conf/plain", "D=4")
	var seen []string
	for range 2 { // two runs
		p := open(t, r, func(o *Options) {
			o.Copy, o.Dotenv = []string{".env", "prod.env", "conf/"}, func(_ context.Context, text string) { seen = append(seen, text) }
		})
		_, at := take(t, p, 1, base)
		check.Equal(t, "passed on", []string{"A=1", "B=2", "C=3"}, sorted(seen...))
		check.Equal(t, "copy", "C=3", at.text("conf/deep/.env.local"))
		seen = nil
	}
}

// TestCopyingDoesNotFollowLinksOutOfTheSlot that an agent has put where a copy goes.
func TestCopyingDoesNotFollowLinksOutOfTheSlot(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	first := r.commit(".gitignore", "conf\n", "a", "a")
	r.write("conf/.env", "secret")
	p := open(t, r, func(o *Options) { o.Copy = []string{".env"} })
	_, at := take(t, p, 1, first)
	check.Equal(t, "copied", "secret", at.text("conf/.env"))
	outside := repo{t, t.TempDir()}
	at.sh("rm -r conf; ln -s " + outside.dir + " conf")
	_, err := p.Take(t.Context(), 1, "a-1", first, first)
	check.OK(t, err)
	check.Equal(t, "files outside", map[string]string{}, outside.all())
	check.Equal(t, "copied", "secret", at.working()["conf/.env"])
}

// TestASetupThatFails leaves a slot that is made anew.
func TestASetupThatFails(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	first := r.commit("a", "a")
	fail := errors.New("npm is broken")
	p := open(t, r, func(o *Options) {
		o.Setup = func(_ context.Context, s *Slot) error {
			return errors.Join(os.WriteFile(filepath.Join(s.Dir(), "half"), nil, 0o600), fail)
		}
	})
	_, err := p.Take(t.Context(), 1, "a-1", first, first)
	check.Err(t, "Take", "set up: npm is broken", err)
	_, err = p.At(1)
	check.That(t, errors.Is(err, ErrTorn), "got %v, want ErrTorn", err)
	fail = nil
	s, at := take(t, p, 1, first)
	wantClean(t, at, first)
	// In the middle of an attempt it costs nothing of what was shown.
	second := r.commit("a", "b")
	fail, p.o.SetupIs = errors.New("npm is broken again"), "npm ci --force"
	check.Err(t, "Show", "npm is broken again", s.Show(t.Context(), first, second))
	w := keep(t, s, first)
	check.Equal(t, "the work", "M\ta", r.git("diff", "--name-status", first, w.Commit))
}

// TestListAndRemove: slots are known by their folders.
func TestListAndRemove(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	first := r.commit("a", "a")
	p := open(t, r, nil)
	list, err := p.List()
	check.OK(t, err)
	check.Equal(t, "slots", 0, len(list))
	_, err = p.At(1)
	check.That(t, errors.Is(err, fs.ErrNotExist), "got %v, want that it does not exist", err)
	for _, n := range []int{2, 10, 1} {
		take(t, p, n, first)
	}
	repo{t, p.o.Dir}.sh("mkdir -p 10/cache/ro; echo x > 10/cache/ro/x; chmod -R a-w 10/cache; chmod a-w 10")
	check.OK(t, p.Remove(10))
	list, err = p.List()
	check.OK(t, err)
	check.Equal(t, "slots", 2, len(list))
	check.That(t, list[0].N == 1 && list[1].N == 2 && list[0].Size > 0 && !list[0].Used.IsZero(), "got %+v", list)
	check.OK(t, p.Sweep())
	wantFolders(t, p, 2)
}

// TestRoom: nothing new begins if less would be left than has to stay, in a warm slot either.
func TestRoom(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	first := r.commit("a", "a")
	p := open(t, r, nil)
	take(t, p, 1, first)
	space, err := p.Space(false)
	check.OK(t, err)
	check.That(t, space.Free > 0 && space.Need == 0 && !space.Full && !space.Low, "got %+v", space)
	p.o.MinFree = space.Free * 3 / 4
	space, err = p.Space(true)
	check.OK(t, err)
	check.That(t, space.Need > p.o.MinFree && !space.Full && space.Low, "got %+v", space)
	p.o.MinFree = 1 << 60
	for _, n := range []int{1, 2} {
		_, err = p.Take(t.Context(), n, "a-1", first, first)
		check.That(t, errors.Is(err, ErrFull), "slot %d: got %v, want ErrFull", n, err)
	}
}
