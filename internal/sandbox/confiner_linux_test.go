package sandbox

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ralph/internal/proc"
	"ralph/internal/project"
	"ralph/internal/testing/check"
)

// levels are those that this machine has, and none.
func levels() []Level {
	return slices.DeleteFunc([]Level{None, Landlock, Namespaces}, func(level Level) bool {
		return Detect(level).Level != level
	})
}

// confinerAt is one for a small repository, at that level.
func confinerAt(t *testing.T, level Level) *Confiner {
	t.Helper()
	return confinerIn(t, level, t.TempDir())
}

// confinerIn is one whose home is a folder.
func confinerIn(t *testing.T, level Level, dir string) *Confiner {
	t.Helper()
	dir, err := filepath.EvalSymlinks(dir)
	check.OK(t, err)
	root := filepath.Join(dir, "project")
	fill(t, root, map[string]string{"file": "file", "sub/other": "other", ".ralph.toml": "", ".ralph/features/spec.md": "spec", ".ralph/runs/x": "x"})
	if out, err := exec.Command("git", "-C", root, "init", "-q").CombinedOutput(); err != nil {
		t.Skipf("no git: %s", out)
	}
	sandbox := project.Default().Sandbox
	c, err := New(Options{
		Mode: "auto", Project: project.Project{Root: root}, Write: sandbox.Write, DenyRead: sandbox.DenyRead, Environ: env(dir), Most: level,
	})
	check.OK(t, err)
	t.Cleanup(func() {
		check.OK(t, c.Close())
	})
	if c.Work.Level != level || c.Verification.Level != level {
		t.Fatalf("got %s at work and %s for verification, want %s: %v", c.Work.Level, c.Verification.Level, level, c)
	}
	return c
}

// env is an environment whose home is dir.
func env(dir string) []string {
	return []string{"HOME=" + dir, "PATH=" + os.Getenv("PATH"), "GORACE=atexit_sleep_ms=0"}
}

// do runs a script as it is confined, and returns what it printed.
func do(t *testing.T, c *Confiner, x *Confinement, script string) string {
	t.Helper()
	out, exit := output(t, proc.Spec{
		Argv: []string{"sh", "-c", script}, Dir: c.opts.Project.Root, Confine: x.Spec, Env: append(env(filepath.Dir(c.opts.Project.Root)), x.Env...),
	})
	if !exit.Ok() {
		t.Fatalf("%v: %s", exit, out)
	}
	return out
}

// forTask confines an agent at work, at home around the project.
func forTask(t *testing.T, c *Confiner, task string) *Confinement {
	t.Helper()
	x, err := c.ForWork(Process{Env: env(filepath.Dir(c.opts.Project.Root))})
	check.OK(t, err)
	check.OK(t, c.Watch(x, task, "a-1", nil))
	return x
}

// repositoriesInside puts a repository with uncommitted work into the project, and a
// submodule, which the confiner then finds.
func repositoriesInside(t *testing.T, c *Confiner) {
	t.Helper()
	cmd := exec.Command("sh", "-ec", `
		git() { command git -c user.name=x -c user.email=x@y -c protocol.file.allow=always "$@"; }
		git init -q inside && cd inside && echo '*.o' > .gitignore && echo skipped > .git/info/exclude
		echo x > committed && git add -A && git commit -qm first && echo uncommitted > work && cd ..
		git init -q ../library && cd ../library && echo x > file && echo '*.o' > .gitignore && git add -A && git commit -qm first && cd "$OLDPWD"
		git submodule --quiet add ../library module && echo uncommitted > module/more`)
	cmd.Dir, cmd.Env = c.opts.Project.Root, append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	c.findProtected()
}

func wantClosed(t *testing.T, x *Confinement) {
	t.Helper()
	temps := x.temps
	check.OK(t, x.Close())
	for _, dir := range temps {
		_, err := os.Stat(dir)
		check.That(t, err != nil, "%s is left", dir)
	}
}

// TestAHomeIsNotLittered: what a project does not need is not made in a home.
func TestAHomeIsNotLittered(t *testing.T) {
	t.Parallel()
	for _, level := range levels() {
		c := confinerAt(t, level)
		home := filepath.Dir(c.opts.Project.Root)
		check.OK(t, os.MkdirAll(filepath.Join(home, ".cargo"), 0o755))
		x, err := c.ForWork(Process{Env: env(home), Argv: []string{"x"}, Unknown: true})
		check.OK(t, err)
		found, err := filepath.Glob(filepath.Join(home, "*"))
		check.OK(t, err)
		check.Equal(t, level.String()+": the home", []string{home + "/.cargo", home + "/project"}, found)
		if level == None {
			continue
		}
		// Tools find a cache all the same.
		do(t, c, x, `set -e; mkdir -p "$XDG_CACHE_HOME/go-build" "$GOMODCACHE" "$npm_config_cache" ~/.cargo/registry/x; echo x > "$TMPDIR/x"`)
		wantClosed(t, x)
		_, err = os.Stat(filepath.Join(home, ".cargo/registry/x"))
		check.That(t, err == nil, "%s: a cache in use is not written: %v", level, err)
	}
}

// TestOwnFolder is what an unknown agent that is started by its path may write.
func TestOwnFolder(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	check.OK(t, err)
	make := func(name string) string {
		fill(t, dir, map[string]string{name: ""})
		return filepath.Join(dir, name)
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
		check.That(t, got == want, "%s: got %q, want %q", program, got, want)
	}
}

// TestTempsOfTheDeadAreRemoved by the next run: one that was killed could not do it itself.
func TestTempsOfTheDeadAreRemoved(t *testing.T) {
	parent := t.TempDir()
	t.Setenv("TMPDIR", parent)
	self, err := proc.Self()
	check.OK(t, err)
	cmd := exec.Command("cat")
	in, err := cmd.StdinPipe()
	check.OK(t, err)
	check.OK(t, cmd.Start())
	dead, err := proc.Of(cmd.Process.Pid)
	check.OK(t, err)
	in.Close()
	_ = cmd.Wait()
	name := func(origin string, id proc.Identity) string {
		return fmt.Sprintf("ralph-%s-%d-%d-123", origin, id.Pid, id.Start)
	}
	gone := filepath.Join(parent, name(origin(self), dead))
	kept := []string{name(origin(self), self), name("01234567", dead), "ralph-demo-1", "ralph-" + origin(self) + "-x-y-z", "other"}
	for _, dir := range append(kept, filepath.Base(gone)) {
		check.OK(t, os.MkdirAll(filepath.Join(parent, dir, "sub"), 0o700))
	}
	check.Equal(t, "useless folders", []string{gone}, uselessIn(parent))
	c := confinerAt(t, None)
	left, err := filepath.Glob(filepath.Join(parent, "*"))
	check.OK(t, err)
	check.That(t, !slices.Contains(left, gone), "%s is left", gone)
	check.Equal(t, "folders that are left beside its own", len(kept), len(slices.DeleteFunc(left, func(dir string) bool { return dir == c.temp })))
}
