package verify

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"ralph/internal/bounded"
	"ralph/internal/proc"
	"ralph/internal/testing/check"
)

func TestMain(m *testing.M) {
	proc.RunHelper(nil)
	// The race detector holds every exiting process for a second otherwise.
	os.Setenv("GORACE", "atexit_sleep_ms=0")
	goleak.VerifyTestMain(m)
}

func gatesIn(dir string) Gates {
	return Gates{Dir: dir, Env: []string{"PATH=" + os.Getenv("PATH"), "GREETING=hello"}, Owner: "w-test"}
}

func TestAGateIsJudgedByItsExitStatus(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		command string
		want    Result
	}{
		"0 passes":                        {"echo fine", Result{Passed: true, Exit: "exit status 0", Tail: "fine\n"}},
		"1 does not":                      {"echo bad; exit 1", Result{Exit: "exit status 1", Tail: "bad\n"}},
		"what is on stderr counts, too":   {"echo out; echo err >&2; exit 2", Result{Exit: "exit status 2", Tail: "out\nerr\n"}},
		"a signal does not":               {"kill -9 $$", Result{Exit: "signal SIGKILL", Killed: true}},
		"no such command does not":        {"no-such-command-here 2>/dev/null", Result{Exit: "exit status 127", Unstartable: true}},
		"it has the environment given":    {`printf "$GREETING-$HOME"`, Result{Passed: true, Exit: "exit status 0", Tail: "hello-"}},
		"it is marked as the run's":       {`case $RALPH_PROC in w-test/*) ;; *) exit 9;; esac`, Result{Passed: true, Exit: "exit status 0"}},
		"it reads nothing":                {"cat", Result{Passed: true, Exit: "exit status 0"}},
		"what is no text is made text":    {`printf 'a\377b'`, Result{Passed: true, Exit: "exit status 0", Tail: "a?b"}},
		"a failure in a pipe is its last": {"false | true", Result{Passed: true, Exit: "exit status 0"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var log bytes.Buffer
			got, err := gatesIn(t.TempDir()).Run(t.Context(), tt.command, &log)
			check.OK(t, err)
			tt.want.Command, got.CPU, got.Reported = tt.command, 0, nil // it depends on the machine; an address
			check.That(t, got == tt.want, "got %+v, want %+v", got, tt.want)
			check.That(t, strings.ToValidUTF8(log.String(), "?") == got.Tail, "got log %q, want all of %q", log.String(), got.Tail)
		})
	}
}

func TestAGateRunsInItsFolder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if _, err := gatesIn(dir).Run(t.Context(), "touch here", &bytes.Buffer{}); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "here")); err != nil {
		t.Error(err)
	}
	if _, err := gatesIn(filepath.Join(dir, "nowhere")).Run(t.Context(), "true", &bytes.Buffer{}); err == nil {
		t.Error("got no error in a folder that does not exist")
	}
}

// TestAGateThatHangsIsEnded, with all that it started, even if that ignores
// signals and has a session of its own.
func TestAGateThatHangsIsEnded(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	g := gatesIn(dir)
	g.Timeout = 3 * time.Second // for all that it starts first, on a busy machine
	got, err := g.Run(t.Context(), `trap '' TERM INT HUP
setsid sh -c 'trap "" TERM; echo $$ > other; sleep 600' &
while [ ! -s other ]; do :; done
echo $$ > self; echo started; sleep 600`, &bytes.Buffer{})
	check.OK(t, err)
	check.That(t, !got.Passed && got.Exit == "still running after 3s" && got.Tail == "started\n", "got %+v, want that it was still running", got)
	wantDead(t, filepath.Join(dir, "self"))
	wantDead(t, filepath.Join(dir, "other"))
}

// TestWhatAGateLeavesBehindIsEnded, though it said that all is well.
func TestWhatAGateLeavesBehindIsEnded(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	got, err := gatesIn(dir).Run(t.Context(), `setsid sh -c 'echo $$ > other; sleep 600' > /dev/null 2>&1 &
while [ ! -s other ]; do :; done`, &bytes.Buffer{})
	check.That(t, err == nil && got.Passed, "got %+v, %v; want that it passed", got, err)
	wantDead(t, filepath.Join(dir, "other"))
}

// TestAGateEndsWithItsContext, for the reason of the context.
func TestAGateEndsWithItsContext(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("caught a signal")
	log := writerFunc(func(p []byte) (int, error) { cancel(why); return len(p), nil })
	_, err := gatesIn(dir).Run(ctx, `echo $$ > self; echo started; sleep 600`, log)
	check.That(t, errors.Is(err, why), "got %v, want %v", err, why)
	wantDead(t, filepath.Join(dir, "self"))
}

// TestAGateThatFloodsIsBounded: the file has a limit, the tail is the end, and
// the gate is not held up.
func TestAGateThatFloodsIsBounded(t *testing.T) {
	t.Parallel()
	var size int
	log := writerFunc(func(p []byte) (int, error) { size += len(p); return len(p), nil })
	got, err := gatesIn(t.TempDir()).Run(t.Context(), `yes 0123456789 | head -c 80000000; echo; echo the end`, log)
	if err != nil || !got.Passed {
		t.Fatalf("got %+v, %v; want that it passed", got.Exit, err)
	}
	check.That(t, size == bounded.Data, "got %d bytes in the log, want %d", size, bounded.Data)
	check.That(t, len(got.Tail) <= tailSize && strings.HasSuffix(got.Tail, "the end\n") && strings.HasPrefix(got.Tail, "0123456789\n"),
		"got a tail of %d bytes that begins %.20q and ends %q", len(got.Tail), got.Tail, got.Tail[len(got.Tail)-20:])
}

// TestALogThatCannotBeWrittenIsAnError, not a verdict.
func TestALogThatCannotBeWrittenIsAnError(t *testing.T) {
	t.Parallel()
	full := errors.New("disk full")
	log := writerFunc(func([]byte) (int, error) { return 0, full })
	got, err := gatesIn(t.TempDir()).Run(t.Context(), "echo x", log)
	check.That(t, errors.Is(err, full), "got %+v, %v; want %v", got, err, full)
}

// TestATailBeginsAtALine unless there is none.
func TestATailBeginsAtALine(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ in, want string }{
		"what is short is kept":           {"a\nb\n", "a\nb\n"},
		"half a line is dropped":          {strings.Repeat("x", tailSize) + "\nb\n", "b\n"},
		"of many lines the last are kept": {strings.Repeat("0123456789\n", tailSize), strings.Repeat("0123456789\n", tailSize/11)},
		"one long line is cut":            {strings.Repeat("x", 5*tailSize), strings.Repeat("x", tailSize)},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, chunk := range []int{len(tt.in), tailSize, 1000, 7} {
				var tl tail
				for rest := []byte(tt.in); len(rest) > 0; {
					n := min(chunk, len(rest))
					tl.add(rest[:n])
					rest = rest[n:]
				}
				got := tl.String()
				check.That(t, got == tt.want, "in chunks of %d: got %d bytes %.30q, want %d bytes %.30q", chunk, len(got), got, len(tt.want), tt.want)
				check.That(t, len(tl) <= 2*tailSize+chunk, "in chunks of %d: it keeps %d bytes", chunk, len(tl))
			}
		})
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// wantDead reads a process ID from a file and wants nobody to have it.
func wantDead(t *testing.T, path string) {
	t.Helper()
	text, err := os.ReadFile(path)
	check.OK(t, err)
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	check.OK(t, err)
	if id, err := proc.Of(pid); err == nil && proc.Liveness(id) != proc.Dead {
		t.Errorf("process %d of %s still lives", pid, filepath.Base(path))
	}
}

// TestAGateIsWorseWhenItNamesAnotherFailure, not when only numbers differ.
func TestAGateIsWorseWhenItNamesAnotherFailure(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		before, now string
		killed      bool
		want        bool
	}{
		"the same":                     {"--- FAIL: TestA (0.00s)\nFAIL\n", "--- FAIL: TestA (0.00s)\nFAIL\n", false, false},
		"other times":                  {"--- FAIL: TestA (0.01s)\nFAIL\tx\t1.2s\n", "--- FAIL: TestA (2.75s)\nFAIL\tx\t13.9s\n", false, false},
		"other lines of the code":      {"a.go:3:1: missing return\n", "a.go:12:1: missing return\n", false, false},
		"one more":                     {"--- FAIL: TestA (0s)\n", "--- FAIL: TestA (0s)\n--- FAIL: TestB (0s)\n", false, true},
		"another instead":              {"--- FAIL: TestA (0s)\n", "--- FAIL: TestB (0s)\n", false, true},
		"one fewer":                    {"--- FAIL: TestA (0s)\n--- FAIL: TestB (0s)\n", "--- FAIL: TestA (0s)\n", false, false},
		"a compiler's complaint":       {"", "./a.go:3:1: undefined: x\n", false, true},
		"mocha":                        {"✕ adds\n", "✕ adds\n✕ subtracts\n", false, true},
		"pytest":                       {"FAILED test_a.py::test_x\n", "FAILED test_a.py::test_y\n", false, true},
		"cargo":                        {"test a ... FAILED\n", "test a ... FAILED\ntest b ... FAILED\n", false, true},
		"tap":                          {"not ok 1 - a\n", "not ok 1 - b\n", false, true},
		"tap, another number":          {"not ok 1 - parses 1\n", "not ok 1 - parses 2\n", false, true},
		"tap, at another place":        {"not ok 1 - a\n", "not ok 2 - a\n", false, false},
		"in colour":                    {"FAILED test_a.py::test_x\n", "\x1b[31mFAILED\x1b[0m test_a.py::test_x\n", false, false},
		"talk is no failure":           {"nothing\n", "something\nelse\n", false, false},
		"it does not come to its end":  {"FAIL\n", "FAIL\n", true, true},
		"without a newline at the end": {"FAIL a", "FAIL b", false, true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, chunk := range []int{1, 3, 1 << 20} {
				of := func(text string) Result {
					f := newReader()
					for len(text) > 0 {
						n := min(chunk, len(text))
						f.add([]byte(text[:n]))
						text = text[n:]
					}
					return Result{Failures: failureLines(f)}
				}
				now := of(tt.now)
				now.Killed = tt.killed
				check.Equal(t, "worse", tt.want, Worse(of(tt.before), now))
			}
		})
	}
}

// TestFailuresAreBounded, in number and in length.
func TestFailuresAreBounded(t *testing.T) {
	t.Parallel()
	f := newReader()
	letters := "abcdefghijklmnopqrstuvwxyz"
	for i := range 2 * maxFailures {
		f.add([]byte("FAIL " + string(letters[i%26]) + string(letters[i/26%26]) + string(letters[i/676]) + strings.Repeat("x", 10*maxLine) + "\n"))
	}
	if got := failureLines(f); strings.Count(got, "\n") != maxFailures-1 || len(got) > maxFailures*(maxLine+1) {
		t.Errorf("got %d lines, %d bytes", strings.Count(got, "\n")+1, len(got))
	}
}

func failureLines(r *reader) string {
	_, _ = r.end()
	return r.failureLines()
}
