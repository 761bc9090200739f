package main

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ralph/internal/agents"
	"ralph/internal/proc"
	"ralph/internal/project"
	"ralph/internal/sandbox"
)

// levels are those that this machine has, and none.
func levels() []sandbox.Level {
	return slices.DeleteFunc([]sandbox.Level{sandbox.None, sandbox.Landlock, sandbox.Namespaces}, func(level sandbox.Level) bool {
		return sandbox.Detect(level).Level != level
	})
}

// confinerAt is one for a small repository, at that level.
func confinerAt(t *testing.T, level sandbox.Level, jobs int) *confiner {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	root := filepath.Join(dir, "project")
	for name, text := range map[string]string{"file": "file", "sub/other": "other", ".ralph.toml": "", ".ralph/features/spec.md": "spec", ".ralph/runs/x": "x"} {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := exec.Command("git", "-C", root, "init", "-q").CombinedOutput(); err != nil {
		t.Skipf("no git: %s", out)
	}
	a := &app{system: system{getenv: os.Getenv, environ: func() []string { return env(dir) }, confinable: level}}
	s := &session{project: project.Project{Root: root}, config: project.Loaded{Config: project.Default()}}
	c, err := a.confiner("auto", s, jobs)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	if c.work.Level != level || c.verification.Level != level {
		t.Fatalf("got %s at work and %s for verification, want %s: %v", c.work.Level, c.verification.Level, level, c)
	}
	return c
}

// env is an environment whose home is dir.
func env(dir string) []string {
	return []string{"HOME=" + dir, "PATH=" + os.Getenv("PATH"), "GORACE=atexit_sleep_ms=0"}
}

// do runs a script as it is confined, and returns what it printed.
func do(t *testing.T, c *confiner, x *confined, script string) string {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	p, err := proc.Start(proc.Spec{
		Argv: []string{"sh", "-c", script}, Dir: c.project.Root, Stdout: w, Stderr: w, Confine: x.Spec,
		Env: append(env(filepath.Dir(c.project.Root)), x.Env...),
	})
	w.Close()
	if err != nil {
		t.Fatal(err)
	}
	out, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	if exit, err := p.Wait(); err != nil || !exit.Ok() {
		t.Fatalf("%v, %v: %s", exit, err, out)
	}
	return string(bytes.TrimSpace(out))
}

// looks describes a folder: names, modes, times and contents.
func looks(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		text := ""
		if info.Mode().IsRegular() {
			raw, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			text = string(raw)
		}
		_, err = fmt.Fprintf(&b, "%s %v %v %q\n", path, info.Mode(), info.ModTime(), text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

const vandal = `set -e
echo uncommitted > new; echo changed > file; chmod 755 sub/other; touch -d @1 .; mv sub moved; ln -s / link; rm -f .git/HEAD
cat new file`

// TestVerificationLeavesTheProjectAsItWas at every level: it never changed, or it
// is brought back, and what the verifier did is known.
func TestVerificationLeavesTheProjectAsItWas(t *testing.T) {
	t.Parallel()
	for _, level := range levels() {
		t.Run(level.String(), func(t *testing.T) {
			t.Parallel()
			c := confinerAt(t, level, 1)
			before := looks(t, c.project.Root)
			x, err := c.forVerification(env(filepath.Dir(c.project.Root)), agent{})
			if err != nil {
				t.Fatal(err)
			}
			if got := do(t, c, x, vandal); got != "uncommitted\nchanged" {
				t.Errorf("got %q, want it to see what it wrote", got)
			}
			changes, err := x.undo()
			if wanted := level < sandbox.Namespaces; err != nil || len(changes) > 0 != wanted {
				t.Errorf("got changes %v, %v; want some: %v", changes, err, wanted)
			}
			if diff := cmp.Diff(before, looks(t, c.project.Root)); diff != "" {
				t.Error(diff)
			}
			wantClosed(t, x)
		})
	}
}

// repositoriesInside puts a repository with uncommitted work into the project, and a
// submodule.
func repositoriesInside(t *testing.T, root string) {
	t.Helper()
	cmd := exec.Command("sh", "-ec", `
		git() { command git -c user.name=x -c user.email=x@y -c protocol.file.allow=always "$@"; }
		git init -q inside && cd inside && echo '*.o' > .gitignore && echo skipped > .git/info/exclude
		echo x > committed && git add -A && git commit -qm first && echo uncommitted > work && cd ..
		git init -q ../library && cd ../library && echo x > file && echo '*.o' > .gitignore && git add -A && git commit -qm first && cd "$OLDPWD"
		git submodule --quiet add ../library module && echo uncommitted > module/more`)
	cmd.Dir, cmd.Env = root, append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

// TestLookingIsNoChange: what comes with only looking is undone, and nobody is blamed.
func TestLookingIsNoChange(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		script string
		blamed bool
	}{
		"what git notes":               {"git status; git add -A; echo x > .git/opencode; touch .git/FETCH_HEAD", false},
		"what tests leave":             {"mkdir -p out/deep && echo x > out/deep/x; echo x > sub/y.o; mkdir empty && rmdir empty", false},
		"a commit":                     {"git -c user.name=x -c user.email=x@y commit -qm x --allow-empty", true},
		"a hook":                       {"echo x > .git/hooks/pre-commit", true},
		"a file":                       {"echo x > x", true},
		"a touched file":               {"touch -d @1 file", true},
		"a mode":                       {"chmod 700 sub", true},
		"an ignored folder's own rule": {"mkdir new && echo '*' > new/.gitignore && echo x > new/x", true},
		"a change of the rules":        {"echo '*' > .gitignore; echo x > y", true},

		"what git notes in a repository inside":         {"git -C inside status; git -C inside add -A; git -C module add -A", false},
		"what tests leave in a repository inside":       {"echo x > inside/x.o; echo x > inside/skipped; echo x > module/y.o", false},
		"a file in a repository inside":                 {"echo x > inside/x", true},
		"uncommitted work in a repository inside":       {"echo x > inside/work", true},
		"work in a submodule":                           {"rm module/file; echo x > sub/y.o", true},
		"a hook of a submodule":                         {"echo x > .git/modules/module/hooks/pre-commit", true},
		"a pointer":                                     {"echo gitdir: /nowhere > module/.git", true},
		"a commit in a repository inside":               {"git -C inside -c user.name=x -c user.email=x@y commit -qm x --allow-empty", true},
		"a folder that is made a repository":            {"git -C sub init -q", true},
		"what is ignored here and not in another place": {"echo x > inside/out", true},
	}
	for name, tt := range tests {
		for _, level := range levels() {
			t.Run(name+"/"+level.String(), func(t *testing.T) {
				t.Parallel()
				c := confinerAt(t, level, 1)
				if err := os.WriteFile(filepath.Join(c.project.Root, ".gitignore"), []byte("/out/\n*.o\n"), 0o644); err != nil {
					t.Fatal(err)
				}
				repositoriesInside(t, c.project.Root)
				before := looks(t, c.project.Root)
				x, err := c.forVerification(env(filepath.Dir(c.project.Root)), agent{})
				if err != nil {
					t.Fatal(err)
				}
				do(t, c, x, "("+tt.script+") > /dev/null 2>&1; true")
				told, err := x.undo()
				if blamed := tt.blamed && level < sandbox.Namespaces; err != nil || len(told) > 0 != blamed {
					t.Errorf("got %q, %v; want blame: %v", told, err, blamed)
				}
				if diff := cmp.Diff(before, looks(t, c.project.Root)); diff != "" {
					t.Error(diff)
				}
				wantClosed(t, x)
			})
		}
	}
}

func wantClosed(t *testing.T, x *confined) {
	t.Helper()
	temps := x.temps
	if err := x.Close(); err != nil {
		t.Error(err)
	}
	for _, dir := range temps {
		if _, err := os.Stat(dir); err == nil {
			t.Errorf("%s is left", dir)
		}
	}
}

// TestVerificationBesideOtherAgentsUndoesNothing: their work would be undone, too.
func TestVerificationBesideOtherAgentsUndoesNothing(t *testing.T) {
	t.Parallel()
	for _, level := range levels() {
		t.Run(level.String(), func(t *testing.T) {
			t.Parallel()
			c := confinerAt(t, level, 2)
			x, err := c.forVerification(env(filepath.Dir(c.project.Root)), agent{})
			if err != nil {
				t.Fatal(err)
			}
			work := filepath.Join(c.project.Root, "work of another")
			if err := os.WriteFile(work, nil, 0o644); err != nil {
				t.Fatal(err)
			}
			before := looks(t, c.project.Root)
			if level > sandbox.None {
				do(t, c, x, "echo changed > file; rm -rf sub; true")
			}
			if changes, err := x.undo(); err != nil || len(changes) > 0 {
				t.Errorf("got %v, %v, want nobody blamed", changes, err)
			}
			if diff := cmp.Diff(before, looks(t, c.project.Root)); diff != "" {
				t.Error(diff)
			}
			wantClosed(t, x)
		})
	}
}

// TestTamperingIsPreventedOrTold is about what no agent may write.
func TestTamperingIsPreventedOrTold(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ script, want string }{
		"ordinary work":      {"echo x > new; rm file; git config --list > /dev/null; git -c user.name=x -c user.email=x@y commit -qm x --allow-empty", ""},
		"a hook":             {"echo x > .git/hooks/post-checkout", "hooks/post-checkout: added"},
		"the configuration":  {"echo '[alias]' >> .git/config", ".git/config: content"},
		"ralph's own":        {"echo '[verify]' >> .ralph.toml", ".ralph.toml: content"},
		"a file of ralph's":  {"echo x > .ralph/planted", ".ralph/planted: added"},
		"what ralph writes":  {"echo x > .ralph/runs/y; echo x > .ralph/progress.db-wal", ""},
		"what people edit":   {"echo x > .ralph/features/spec.md", ""},
		"the ignored worlds": {"mkdir -p node_modules && echo x > node_modules/x", ""},
	}
	for name, tt := range tests {
		for _, level := range levels() {
			t.Run(name+"/"+level.String(), func(t *testing.T) {
				t.Parallel()
				c := confinerAt(t, level, 1)
				x, err := c.forTask(env(filepath.Dir(c.project.Root)), agent{}, "")
				if err != nil {
					t.Fatal(err)
				}
				before := looks(t, filepath.Join(c.project.Root, ".ralph")) + looks(t, filepath.Join(c.project.Root, ".git/hooks"))
				do(t, c, x, "("+tt.script+") 2>/dev/null; true")
				told, err := x.Tampered()
				if err != nil {
					t.Fatal(err)
				}
				if level == sandbox.Namespaces {
					after := looks(t, filepath.Join(c.project.Root, ".ralph")) + looks(t, filepath.Join(c.project.Root, ".git/hooks"))
					if diff := cmp.Diff(before, after); diff != "" || len(told) > 0 {
						t.Errorf("told %q; %s", told, diff)
					}
				} else if got := strings.Join(told, "\n"); tt.want == "" && got != "" || !strings.Contains(got, tt.want) {
					t.Errorf("got %q, want %q", got, tt.want)
				}
				wantClosed(t, x)
				if again, err := x.Tampered(); err != nil || len(again) != len(told) {
					t.Errorf("after Close got %q, %v", again, err)
				}
			})
		}
	}
}

// TestAHomeIsNotLittered: what a project does not need is not made in a home.
func TestAHomeIsNotLittered(t *testing.T) {
	t.Parallel()
	for _, level := range levels() {
		c := confinerAt(t, level, 1)
		home := filepath.Dir(c.project.Root)
		if err := os.MkdirAll(filepath.Join(home, ".cargo"), 0o755); err != nil {
			t.Fatal(err)
		}
		x, err := c.forTask(env(home), agent{preset: agents.Preset{Unknown: true, Command: []string{"x"}}, argv: []string{"x"}}, "")
		if err != nil {
			t.Fatal(err)
		}
		entries, err := os.ReadDir(home)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, entry := range entries {
			names = append(names, entry.Name())
		}
		if diff := cmp.Diff([]string{".cargo", "project"}, names); diff != "" {
			t.Errorf("%s: the home has changed (-want +got):\n%s", level, diff)
		}
		if level == sandbox.None {
			continue
		}
		// Tools find a cache all the same.
		do(t, c, x, `set -e; mkdir -p "$XDG_CACHE_HOME/go-build" "$GOMODCACHE" "$npm_config_cache" ~/.cargo/registry/x; echo x > "$TMPDIR/x"`)
		wantClosed(t, x)
		if _, err := os.Stat(filepath.Join(home, ".cargo/registry/x")); err != nil {
			t.Errorf("%s: a cache in use is not written: %v", level, err)
		}
	}
}

// TestOwnFolder is what an unknown agent that is started by its path may write.
func TestOwnFolder(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	make := func(name string) string {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o755); err != nil {
			t.Fatal(err)
		}
		return path
	}
	home, root := filepath.Dir(make("home/me/x")), filepath.Dir(make("home/me/src/project/x"))
	for program, want := range map[string]string{
		make("opt/agent/run"):                 filepath.Join(dir, "opt/agent"),
		make("home/me/agents/mine/run"):       filepath.Join(dir, "home/me/agents/mine"),
		make("home/me/run"):                   "",
		make("home/run"):                      "",
		make("home/me/src/run"):               "",
		make("home/me/src/project/run"):       "",
		make("home/me/bin/run"):               "",
		make("on/path/run"):                   "",
		make("x/node_modules/.bin/run"):       "",
		filepath.Join(dir, "missing/program"): "",
	} {
		got := strings.Join(ownFolder(program, home, root, "/usr/bin:"+filepath.Join(dir, "on/path")), " ")
		if got != want {
			t.Errorf("%s: got %q, want %q", program, got, want)
		}
	}
}

// TestAWorktreeCanBeCommitted although its repository lies elsewhere, and that one's
// hooks stay what they are.
func TestAWorktreeCanBeCommitted(t *testing.T) {
	t.Parallel()
	for _, level := range levels() {
		t.Run(level.String(), func(t *testing.T) {
			t.Parallel()
			c := confinerAt(t, level, 1)
			main := c.project.Root
			for _, args := range [][]string{{"commit", "-qm", "x", "--allow-empty"}, {"worktree", "add", "-q", "../tree"}} {
				if out, err := exec.Command("git", append([]string{"-C", main, "-c", "user.name=x", "-c", "user.email=x@y"}, args...)...).CombinedOutput(); err != nil {
					t.Fatalf("%v: %s", err, out)
				}
			}
			c.project.Root = filepath.Join(filepath.Dir(main), "tree")
			c.findGit()
			x, err := c.forTask(env(filepath.Dir(main)), agent{}, "")
			if err != nil {
				t.Fatal(err)
			}
			got := do(t, c, x, "echo x > new && git add new && git -c user.name=x -c user.email=x@y commit -qm message && git log --format=%s -1")
			if got != "message" {
				t.Errorf("got %q", got)
			}
			for _, script := range []string{"echo x > ../project/.git/hooks/pre-push", "echo gitdir: /tmp > .git", "echo /tmp > ../project/.git/worktrees/tree/commondir"} {
				do(t, c, x, "("+script+") 2>/dev/null; true")
			}
			told, err := x.Tampered()
			want := 3
			if level == sandbox.Namespaces {
				want = 0
			}
			if err != nil || len(told) != want {
				t.Errorf("got %q, %v, want %d", told, err, want)
			}
			_, err = os.Stat(filepath.Join(main, ".git/hooks/pre-push"))
			if planted := err == nil; planted != (level < sandbox.Namespaces) {
				t.Errorf("the hook was planted: %v", planted)
			}
			wantClosed(t, x)
		})
	}
}

// TestTempsOfTheDeadAreRemoved: a run that was killed could not do it itself.
func TestTempsOfTheDeadAreRemoved(t *testing.T) {
	t.Parallel()
	parent := t.TempDir()
	self, err := proc.Self()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("cat")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	dead, err := proc.Of(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	in.Close()
	_ = cmd.Wait()
	name := func(origin string, id proc.Identity) string {
		return fmt.Sprintf("ralph-%s-%d-%d-123", origin, id.Pid, id.Start)
	}
	kept := []string{name(origin(self), self), name("01234567", dead), "ralph-demo-1", "ralph-" + origin(self) + "-x-y-z", "other"}
	for _, dir := range append([]string{name(origin(self), dead)}, kept...) {
		if err := os.MkdirAll(filepath.Join(parent, dir, "sub"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	sweepTemps(parent)
	entries, err := os.ReadDir(parent)
	if err != nil {
		t.Fatal(err)
	}
	var left []string
	for _, entry := range entries {
		left = append(left, entry.Name())
	}
	slices.Sort(kept)
	if diff := cmp.Diff(kept, left); diff != "" {
		t.Errorf("left over (-want +got):\n%s", diff)
	}
}

// TestTheTableOfWhatIsFoundOutIsTrue: docs/sandbox.md says what becomes of each write.
func TestTheTableOfWhatIsFoundOutIsTrue(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/sandbox.md")
	if err != nil {
		t.Fatal(err)
	}
	want := map[string][]string{} // by path: namespaces, landlock, none
	_, table, _ := strings.Cut(string(text), "| written by an agent at work |")
	table, _, _ = strings.Cut(table, "\n\n")
	for line := range strings.Lines(table) {
		if cells := strings.Split(line, "|"); strings.HasPrefix(line, "| `") && len(cells) == 6 {
			want[strings.Trim(cells[1], " `")] = []string{strings.TrimSpace(cells[2]), strings.TrimSpace(cells[3]), strings.TrimSpace(cells[4])}
		}
	}
	if len(want) < 15 {
		t.Fatalf("got %d rows: %v", len(want), want)
	}
	for _, level := range levels() {
		t.Run(level.String(), func(t *testing.T) {
			t.Parallel()
			made := confinerAt(t, level, 1)
			root := made.project.Root
			setUp := exec.Command("sh", "-ec", `echo /build/ > .gitignore; for name in inside build/clone; do git init -q $name; mkdir -p $name/.git/hooks; done; git init -q --bare .git/modules/lib; mkdir -p .ralph/objects .ralph/knowledge .git/info; : > .ralph/progress.db`)
			setUp.Dir = root
			if out, err := setUp.CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			made.findGit() // as it would be found now
			x, err := made.forTask(env(filepath.Dir(root)), agent{}, "t-1")
			if err != nil {
				t.Fatal(err)
			}
			before := map[string]string{}
			script := ""
			for path := range want {
				before[path] = sandbox.Sum(filepath.Join(root, path))
				script += fmt.Sprintf("(mkdir -p %q; echo x >> %q) 2> /dev/null\n", filepath.Dir(path), path)
			}
			do(t, made, x, script+"true")
			found, err := x.Tampered()
			if err != nil {
				t.Fatal(err)
			}
			for path, cells := range want {
				full := filepath.Join(root, path)
				got := "open"
				switch {
				case sandbox.Sum(full) == before[path]:
					got = "refused"
				case slices.ContainsFunc(found, func(line string) bool { return strings.HasPrefix(line, full+": ") }):
					got = "found"
				}
				if said := cells[sandbox.Namespaces-level]; got != said {
					t.Errorf("%s at %s is %s, and docs/sandbox.md says %s", path, level, got, said)
				}
			}
			x.keep = nil
			wantClosed(t, x)
		})
	}
}
