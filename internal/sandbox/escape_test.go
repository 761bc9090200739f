//go:build linux

package sandbox

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"

	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"

	"ralph/internal/testing/check"
	"ralph/internal/testing/raced"
)

// attempt is one try to get out. It fails if nothing outside changed, it did
// not say escaped, and nobody outside heard of it. One that succeeds must do no
// harm to the machine: it changes only what belongs to the test, and opens or
// rewrites as it was what does not.
type attempt struct {
	from Level // the lowest level that claims to stop it
	do   func(w *world)
	abi  int // of Landlock that it takes
}

// escaped is for what leaves no trace that could be seen from outside.
func escaped(format string, args ...any) { fmt.Printf("ESCAPED "+format+"\n", args...) }

// escapedIf is for what must not succeed.
func escapedIf(worked bool, format string, args ...any) {
	if worked {
		escaped(format, args...)
	}
}

// open opens a file that must not be opened.
func open(path string, flag int) {
	f, err := os.OpenFile(path, flag, 0)
	escapedIf(err == nil, "opened %s", path)
	f.Close()
}

// read reads a file that must not be read.
func read(path string) {
	raw, err := os.ReadFile(path)
	escapedIf(err == nil, "read %q", raw)
}

func tryEscape(name string) {
	var w world
	must(json.Unmarshal([]byte(os.Getenv(worldEnv)), &w))
	a := attempts()[name]
	if here, _ := os.Readlink("/proc/self/ns/mnt"); a.from == Namespaces && w.Level == Namespaces && here == w.Mounts {
		escaped("shares the mounts of the outside") // and nothing is tried on those
		return
	}
	a.do(&w)
}

func attempts() map[string]attempt {
	all := make(map[string]attempt)
	for _, group := range []map[string]attempt{fileAttempts(), metadataAttempts(), protectedAttempts(), linkAttempts(), mountAttempts(), procfsAttempts(), processAttempts(), kernelAttempts()} {
		maps.Copy(all, group)
	}
	return all
}

func TestEscapes(t *testing.T) {
	t.Parallel()
	n := len(attempts())
	check.That(t, n >= 40, "only %d attempts", n)
	for _, level := range []Level{Landlock, Namespaces} {
		for _, mode := range []Mode{Work, Verify} {
			t.Run(fmt.Sprint(level, " ", mode), func(t *testing.T) {
				t.Parallel()
				need(t, level)
				w := newWorld(t)
				escapeAll(t, w, w.profile(level, mode))
			})
		}
	}
	for _, mode := range []Mode{Work, Verify} {
		t.Run(fmt.Sprint("in the place of another, ", mode), func(t *testing.T) {
			t.Parallel()
			need(t, Namespaces)
			w := newWorld(t)
			escapeAll(t, w, w.placed(t, mode))
		})
	}
}

func escapeAll(t *testing.T, w *world, p Profile) {
	// A file of the outside that ralph itself was started with.
	leak, err := syscall.Open(w.Outside, syscall.O_RDONLY, 0)
	must(err)
	defer syscall.Close(leak)
	level, mode := p.Level, p.Mode
	w.Level = level
	inside := *w
	inside.Project = p.Place.Inside(w.Project)
	abi, _ := ll.LandlockGetABIVersion()
	list, count := attempts(), 0
	for _, name := range slices.Sorted(maps.Keys(list)) {
		if list[name].from > level || level == Landlock && abi < list[name].abi {
			continue
		}
		count++
		guarded := []string{w.Outside, w.Hidden, "/etc/passwd", "/proc/sys/kernel/core_pattern"}
		if level == Namespaces {
			guarded = append(guarded, w.protected()...)
		}
		if p.Place.Seen != "" {
			guarded = append(guarded, p.Place.Seen)
		}
		if mode == Verify {
			guarded = append(guarded, w.Project)
		}
		before, calls := look(guarded...), w.calls.Load()
		out, _ := run(t, p, append(inside.env(), roleEnv+"=escape"), "/proc/self/exe", name)
		check.That(t, !strings.Contains(out, "ESCAPED"), "%s: %s", name, out)
		check.That(t, !strings.Contains(out, "panic"), "%s: the attempt itself is broken: %s", name, out)
		check.Equal(t, name+": outside", before, look(guarded...))
		check.That(t, w.calls.Load() == calls, "%s: reached a socket outside", name)
		if !w.victim.lives() {
			t.Fatalf("%s: the process outside is dead", name)
		}
	}
	t.Logf("%d attempts at %s, %s, uid %d", count, level, mode, os.Getuid())
}

// Without a sandbox the attempts succeed, as far as they can be tried without
// harm: a guard that is tested by what cannot work is not tested.
func TestAttemptsAreReal(t *testing.T) {
	raced.Skip(t, "what an agent could do without a sandbox is tried here")
	t.Parallel()
	list := attempts()
	real := []string{
		"write", "create", "truncate", "unlink", "mkdir", "rename outside", "rename inside", "rename over", "rename project", "exchange",
		"unnamed file", "fifo", "read hidden", "link hidden", "inherited folder", "chmod", "times", "git hook", "git hook, mode",
		"git config", "git config.lock", "git folder replaced", "git hooks renamed",
		"hook inside", "hook inside, mode", "config inside", "config.lock inside", "hooks inside renamed", "hooks inside by link", "state", "state renamed", "configuration", "state by link",
		"symlink", "symlink to folder", "hard link", "dot dot", "proc self root", "proc self cwd", "kill", "kill by pidfd",
		"kill from another session", "limits of another", "abstract socket", "socket in /tmp", "shared memory", "steal a file", "memory of others", "terminal of a person",
	}
	if os.Getuid() != 0 {
		real = append(real, "setuid program")
	}
	for _, name := range real {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, ok := list[name]; !ok {
				t.Fatal("no such attempt")
			}
			w := newWorld(t)
			leak, err := syscall.Open(w.Outside, syscall.O_RDONLY, 0)
			must(err)
			defer syscall.Close(leak)
			before := look(w.Base)
			out, _ := run(t, w.profile(None, Work), append(w.env(), roleEnv+"=escape"), "/proc/self/exe", name)
			if !strings.Contains(out, "ESCAPED") && look(w.Base) == before && w.calls.Load() == 0 && w.victim.lives() {
				t.Errorf("it does nothing: %q", out)
			}
		})
	}
}
