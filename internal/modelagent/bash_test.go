package modelagent

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"ralph/internal/plain"
	"ralph/internal/testing/check"
)

func TestBash(t *testing.T) {
	t.Parallel()
	b := box(t, map[string]string{"a.txt": "one\n"})
	b.env = append(b.env, "MINE=yes")
	tests := map[string]struct {
		command, want string
		failed        bool
	}{
		"both outputs in order":      {"echo one; echo two >&2; echo three", "one\ntwo\nthree\n", false},
		"in the folder, with env":    {"cat a.txt; echo $MINE; [[ x == x ]]", "one\nyes\n", false},
		"an exit status":             {"echo broken; exit 3", "broken\n(exit status 3)", true},
		"a signal":                   {"kill -9 $$", "(signal SIGKILL)", true},
		"no output":                  {"true", "(no output)", false},
		"no input":                   {"cat", "(no output)", false},
		"no terminal and no colours": {`printf '\033[31mred\033[0m\n'; [ -t 0 ]`, "red\n(exit status 1)", true},
		"a progress bar":             {`printf '1%%\r2%%\r\n'`, "1%\n2%\n", false},
		"bytes that are no text":     {`printf 'a\377b\000c\n'`, "a\ufffdb\u2400c\n", false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := call(t, b, "bash", arguments("command", test.command))
			check.Equal(t, "the text", test.want, r.Text)
			check.Equal(t, "failed", test.failed, r.Failed)
		})
	}
}

func TestWithoutBashThereIsSh(t *testing.T) {
	t.Parallel()
	b := box(t, nil)
	bin := t.TempDir()
	check.OK(t, os.Symlink("/bin/sh", filepath.Join(bin, "sh")))
	b.env = []string{"PATH=" + bin}
	check.Equal(t, "the text", "hello\n", call(t, b, "bash", arguments("command", "echo hello")).Text)
	check.Contains(t, "what the model is told", "\nShell: sh\n", systemPrompt(t.Context(), b.dir, b.env, time.Time{}))
	check.Contains(t, "what the model is told", "\nShell: bash\n", systemPrompt(t.Context(), b.dir, os.Environ(), time.Time{}))
	b.env = []string{"PATH=" + t.TempDir()}
	r := call(t, b, "bash", arguments("command", "echo hello"))
	check.That(t, r.Failed, "it did not fail")
	check.Contains(t, "without any", "executable not found", r.Text)
}

func TestNothingOfACommandIsLeft(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		command, want string
		timeout       int
		cancel        bool
	}{
		"in the background":        {command: "echo begun; (exec sleep 1000 >/dev/null 2>&1) & exit 0", want: "begun\n"},
		"that holds the output":    {command: "echo begun; sleep 1000 & exit 0", want: "begun\n"},
		"in a session of its own":  {command: "setsid sleep 1000 >/dev/null 2>&1 & echo begun", want: "begun\n"},
		"that never ends":          {command: "echo begun; sleep 1000", timeout: 5, want: "begun\ntimed out after 5 s"},
		"that does not want to":    {command: "trap '' TERM; echo begun; while :; do sleep 1000; done", timeout: 5, want: "begun\ntimed out after 5 s"},
		"that nobody waits for":    {command: "echo begun; : >begun; sleep 1000", cancel: true, want: "begun\nthe turn was cancelled"},
		"that ends well on a term": {command: "trap 'echo cleaned; exit 0' TERM; echo begun; : >begun; sleep 1000 & wait", cancel: true, want: "begun\ncleaned\n"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := box(t, nil)
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			if test.cancel {
				check.OK(t, exec.Command("mkfifo", filepath.Join(b.dir, "begun")).Run())
				go func() {
					_, _ = os.ReadFile(filepath.Join(b.dir, "begun")) // until the command has opened and closed it
					cancel(errors.New("the turn was cancelled"))
				}()
			}
			b.env = append(b.env, "HELD="+b.dir)
			args := arguments("command", test.command, "timeout", test.timeout)
			got := b.run(ctx, Block{ID: "c1", Name: "bash", Args: json.RawMessage(args)})
			check.Equal(t, "the text", test.want, got.Text)
			check.Equal(t, "processes", "", processesWith(t, "HELD="+b.dir))
		})
	}
}

// processesWith lists the processes that have something in their environment.
func processesWith(t *testing.T, variable string) (found string) {
	t.Helper()
	if runtime.GOOS != "linux" {
		return ""
	}
	list, err := filepath.Glob("/proc/[0-9]*/environ")
	check.OK(t, err)
	for _, path := range list {
		if env, err := os.ReadFile(path); err == nil && strings.Contains(string(env), variable) {
			found += path + " "
		}
	}
	return found
}

func TestMuchOutputNeedsLittleMemory(t *testing.T) {
	b := box(t, nil)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	r := call(t, b, "bash", arguments("command", "echo begin; head -c 100000000 /dev/zero | tr '\\0' 'x'; echo; echo end"))
	runtime.ReadMemStats(&after)
	check.That(t, !r.Failed && strings.HasPrefix(r.Text, "begin\n") && strings.HasSuffix(r.Text, "x\nend\n"), "it ends with %.100q", plain.Tail(r.Text, 100))
	check.Contains(t, "the middle", "[... 95.3 MiB left out ...]", r.Text)
	check.That(t, utf8.RuneCountInString(r.Text) <= maxResult, "it has %d characters", len(r.Text))
	check.That(t, after.TotalAlloc-before.TotalAlloc < 20<<20, "%d bytes were allocated", after.TotalAlloc-before.TotalAlloc)
}
