package notify

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"ralph/internal/testing/check"
)

func TestACommandGetsTheMessage(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	opts := quick(Target{Command: `cat > in.json; printf '%s|%s|%s|%s' "$RALPH_NOTIFY_EVENT" "$RALPH_NOTIFY_TASK" "$RALPH_NOTIFY_RUN" "$RALPH_NOTIFY_TITLE" > env`})
	opts.Dir = dir
	check.OK(t, deliver(opts, failed(1)))
	data, err := os.ReadFile(filepath.Join(dir, "in.json"))
	var m Message
	check.That(t, err == nil && json.Unmarshal(data, &m) == nil && m.Event == "task_failed" && m.Reason == `gate "make": exit status 2`,
		"got %s, %v", data, err)
	env, _ := os.ReadFile(filepath.Join(dir, "env"))
	check.Equal(t, "environment", "task_failed|t-1|r-1|ralph: shop: task failed: Task 1", string(env))
}

func TestCommandsThatGoWrong(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		command string
		ran     int
		err     string
	}{
		"it fails for ever":         {"echo it >> ran; echo no route >&2; echo more; exit 3", 4, "command echo: 1 of 1 notification did not go out: exit status 3: no route"},
		"it fails once":             {"echo it >> ran; test $(wc -l < ran) = 2", 2, ""},
		"it floods":                 {"echo it >> ran; head -c 50000000 /dev/zero | tr '\\0' x; exit 1", 4, "exit status 1: xxx"},
		"it reads nothing":          {"exec <&-; echo it >> ran", 1, ""},
		"its words stay to itself":  {"tool-s3cr3t; echo it >> ran; exit 1", 4, "exit status 1"},
		"what it left is not heard": {"echo it >> ran; (sleep 1000; exit 1) & exit 0", 1, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			opts := quick(Target{Command: tc.command})
			opts.Dir = t.TempDir()
			opts.Hide = func(s string) string { return strings.ReplaceAll(s, "s3cr3t", "[redacted]") }
			err := deliver(opts, failed(1))
			ran, _ := os.ReadFile(filepath.Join(opts.Dir, "ran"))
			check.Equal(t, "runs", tc.ran, strings.Count(string(ran), "it\n"))
			check.Err(t, "close", tc.err, err)
			text := fmt.Sprint(err)
			check.That(t, len(text) <= 1000 && !strings.Contains(text, "s3cr3t"), "the error is too long or tells a secret: %s", text)
		})
	}
}

func TestACommandThatHangsIsEndedWithAllThatItStarted(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	hurry := make(chan os.Signal)
	fifo := filepath.Join(dir, "pid")
	check.OK(t, unix.Mkfifo(fifo, 0o600))
	opts := quick(Target{Command: "setsid sleep 1000 & echo $! > pid; trap '' TERM INT; wait; sleep 1000"})
	opts.Dir, opts.Hurry = dir, hurry
	n := New(opts)
	n.Event(failed(1))
	data, err := os.ReadFile(fifo) // waits for it
	check.OK(t, err)
	pid, err := strconv.Atoi(strings.TrimSpace(string(data)))
	check.OK(t, err)
	close(hurry)
	check.Err(t, "close", "1 of 1 notification did not go out", n.Close())
	if _, err := os.Stat(fmt.Sprintf("/proc/%d", pid)); err == nil {
		t.Errorf("process %d still lives", pid)
	}
}

func TestACommandHasOnlySoLong(t *testing.T) {
	t.Parallel()
	opts := quick(Target{Command: "sleep 1000"})
	opts.Timeout, opts.Tries = 10*time.Millisecond, 2
	check.Err(t, "close", "it did not end within 10ms", deliver(opts, failed(1)))
}

func TestDesktops(t *testing.T) {
	t.Parallel()
	for _, tool := range []string{"notify-send", "osascript"} {
		t.Run(tool, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			script := "#!/bin/sh\nfor a; do echo \"<$a>\"; done > " + filepath.Join(dir, "args") + "\n"
			check.OK(t, os.WriteFile(filepath.Join(dir, tool), []byte(script), 0o700))
			opts := quick(Target{Desktop: true})
			opts.Dir, opts.Env = dir, []string{"PATH=" + dir}
			e := failed(1)
			e.Title, e.Reason = `-x "quoted" & <b>`, `" & do shell script "evil" <b>`
			check.OK(t, deliver(opts, e))
			args, err := os.ReadFile(filepath.Join(dir, "args"))
			want := "<--app-name=ralph>\n<-->\n<ralph: shop: task failed: -x \"quoted\" & <b>>\n<\" &amp; do shell script \"evil\" &lt;b&gt;\nnext: ralph logs t-1>\n"
			if tool == "osascript" {
				want = "<-e>\n<on run argv>\n<-e>\n<display notification (item 2 of argv) with title (item 1 of argv)>\n<-e>\n<end run>\n<-->\n" +
					"<ralph: shop: task failed: -x \"quoted\" & <b>>\n<\" & do shell script \"evil\" <b>\nnext: ralph logs t-1>\n"
			}
			check.That(t, err == nil && string(args) == want, "got %s, %v, want %s", args, err, want)
		})
	}
	n := New(Options{Targets: []Target{{Desktop: true}}, Env: []string{"PATH=" + t.TempDir()}})
	check.Err(t, "missing", "neither notify-send nor osascript", n.Missing())
	check.OK(t, n.Close())
}
