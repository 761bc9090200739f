package e2e

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// place is a project with an agent whose model is ours.
type place struct {
	setting
	dir, home string
	env       []string
	server    *Server
	url       string // under which the agent knows its model
}

// installed gets packages from npm, and returns the part of a PATH where their programs are.
func installed(ctx context.Context, packages ...string) (path string, err error) {
	var list []string
	for _, pkg := range packages {
		if pkg == "" {
			continue
		}
		bin, err := install(ctx, pkg)
		if err != nil {
			return "", fmt.Errorf("%s cannot be installed from npm: %w", pkg, err)
		}
		list = append(list, bin)
	}
	return strings.Join(list, string(os.PathListSeparator)), nil
}

// install gets a package from npm, once, and returns where its programs are.
func install(ctx context.Context, pkg string) (bin string, err error) {
	cache := os.Getenv("RALPH_E2E_CACHE")
	if cache == "" {
		user, err := os.UserCacheDir()
		if err != nil {
			return "", err
		}
		cache = filepath.Join(user, "ralph-e2e")
	}
	dir := filepath.Join(cache, strings.NewReplacer("/", "_", "@", "_").Replace(pkg))
	bin, stamp := filepath.Join(dir, "node_modules", ".bin"), filepath.Join(dir, "complete")
	if isFile(stamp) {
		return bin, nil
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "npm", "install", "--no-audit", "--no-fund", "--loglevel=error",
		"--fetch-retries=1", "--fetch-retry-mintimeout=1000", "--prefix", dir, pkg)
	if out, err := cmd.CombinedOutput(); err != nil {
		first, _, _ := strings.Cut(string(out), "\n")
		return "", fmt.Errorf("%w: %s", err, first)
	}
	return bin, os.WriteFile(stamp, nil, 0o600)
}

// newPlace makes a project for an agent, as its user would set it up.
func newPlace(t *testing.T, ralph, bin string, p pin, set setting) *place {
	t.Helper()
	return newPlaceFor(t, ralph, bin, p, set, "")
}

// newPlaceFor is a place whose agent knows its model under another address than that on loopback.
func newPlaceFor(t *testing.T, ralph, bin string, p pin, set setting, url string) *place {
	t.Helper()
	pl := &place{setting: set, dir: t.TempDir(), home: t.TempDir(), server: newServer(func(Prompt) Answer { return Answer{Text: "OK"} }, set.Offers...)}
	pl.url = cmp.Or(url, pl.server.URL)
	t.Cleanup(pl.server.Close)
	t.Cleanup(func() { pl.wantNothingLeft(t) })
	for name, text := range set.Files {
		pl.write(t, filepath.Join(pl.home, name), pl.fill(t, text))
	}
	pl.env = []string{
		"PATH=" + strings.Join(slices.DeleteFunc([]string{filepath.Dir(ralph), bin, os.Getenv("PATH")}, isEmpty), string(os.PathListSeparator)),
		"HOME=" + pl.home, "TMPDIR=" + t.TempDir(), "LANG=C.UTF-8", "NO_COLOR=1",
		"XDG_CONFIG_HOME=" + pl.home + "/.config", "XDG_DATA_HOME=" + pl.home + "/.local/share",
		"XDG_STATE_HOME=" + pl.home + "/.local/state", "XDG_CACHE_HOME=" + pl.home + "/.cache",
		"GIT_AUTHOR_NAME=test", "GIT_AUTHOR_EMAIL=test@localhost", "GIT_COMMITTER_NAME=test", "GIT_COMMITTER_EMAIL=test@localhost",
	}
	for name, value := range set.Env {
		pl.env = append(pl.env, name+"="+pl.fill(t, value))
	}
	config := "[agent]\nuse = \"" + p.agent + "\"\n[run]\nbackoff = \"0s\"\nbreaker = 1\n[verify]\nrepair_rounds = 1\nreruns = 0\n"
	if set.Models != nil {
		config += "[agents." + p.agent + ".models]\n"
	}
	for tier, model := range set.Models {
		config += fmt.Sprintf("%s = %q\n", tier, model)
	}
	pl.write(t, filepath.Join(pl.dir, ".ralph.toml"), config)
	pl.write(t, filepath.Join(pl.dir, "README.md"), "A project.\n")
	for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"add", "-A"}, {"commit", "-qm", "begin"}} {
		if out := pl.run(t, "git", args...); out.status != 0 {
			t.Fatalf("git %v: %s", args, out.stderr)
		}
	}
	return pl
}

func isEmpty(s string) bool { return s == "" }

// check ends the test if there is an error.
func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// contains looks for parts of a text.
func contains(t *testing.T, got string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(got, part) {
			t.Errorf("got %s, want %q in it", got, part)
		}
	}
}

func (p *place) write(t *testing.T, path, text string) {
	t.Helper()
	check(t, errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)))
}

func (p *place) read(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(p.dir, name))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return string(data)
}

// result is what became of a command.
type result struct {
	status         int
	stdout, stderr string
}

func (p *place) command(name string, args ...string) (*exec.Cmd, *bytes.Buffer, *bytes.Buffer) {
	cmd := exec.Command(name, args...)
	cmd.Path, cmd.Err = p.lookPath(name), nil
	var stdout, stderr bytes.Buffer
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = p.dir, p.env, &stdout, &stderr
	return cmd, &stdout, &stderr
}

// lookPath finds a program on the PATH of the place, which is not ours.
func (p *place) lookPath(name string) string {
	for _, dir := range filepath.SplitList(strings.TrimPrefix(p.env[0], "PATH=")) {
		if path := filepath.Join(dir, name); isFile(path) {
			return path
		}
	}
	return name
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

func (p *place) run(t *testing.T, name string, args ...string) result {
	t.Helper()
	cmd, stdout, stderr := p.command(name, args...)
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return result{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}

// want runs ralph and wants that exit status.
func (p *place) want(t *testing.T, status int, args ...string) result {
	t.Helper()
	out := p.run(t, "ralph", args...)
	if out.status != status {
		t.Fatalf("ralph %s: exit status %d, want %d\n%s\n%s\nmodel: %v", strings.Join(args, " "), out.status, status, out.stdout, out.stderr, p.server.Errors())
	}
	return out
}

// list reads a result that is JSON.
func list[T any](t *testing.T, out result) T {
	t.Helper()
	var v T
	text := strings.TrimSpace(out.stdout)
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return v
}

func (p *place) wantScriptPlayed(t *testing.T) {
	t.Helper()
	if errs := p.server.Errors(); len(errs) > 0 {
		t.Errorf("the model could not play its script: %v", errs)
	}
}

// wantNothingLeft fails for every process that still has the place's home.
func (p *place) wantNothingLeft(t *testing.T) {
	t.Helper()
	for _, pr := range p.processes(t) {
		t.Errorf("still running: %d %s", pr.id, strings.Join(pr.args, " "))
	}
}

// buildRalph builds the program from the sources around us, once.
func buildRalph(t *testing.T) string {
	t.Helper()
	path, err := built()
	check(t, err)
	return path
}

var built = sync.OnceValues(func() (string, error) {
	path := filepath.Join(scratch, "ralph")
	cmd := exec.Command("go", "build", "-o", path, "./cmd/ralph")
	cmd.Dir = "../.."
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-mod=mod", "GOWORK=off")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w\n%s", err, out)
	}
	return path, nil
})

// scratch is where the program is.
var scratch string

func TestMain(m *testing.M) {
	var err error
	if scratch, err = os.MkdirTemp("", "ralph-e2e-"); err != nil {
		panic(err)
	}
	status := m.Run()
	_ = os.RemoveAll(scratch) // it is for nothing but this
	os.Exit(status)
}

// waitFor waits until something holds; agents are slow on a busy machine.
func waitFor(t *testing.T, what string, holds func() bool) {
	t.Helper()
	deadline := time.After(3 * time.Minute)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-deadline:
			t.Fatal("it never came: " + what)
		case <-tick.C:
		}
	}
}
