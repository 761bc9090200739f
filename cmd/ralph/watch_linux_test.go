package main

import (
	"regexp"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"ralph/internal/testing/check"
	"ralph/internal/testing/fakeagent"
	"ralph/report"
)

// watching is `ralph watch` on a terminal.
func (p *place) watching(t *testing.T, args ...string) *terminal {
	t.Helper()
	p.env = append(p.env, "TERM=xterm-256color")
	term := p.onTerminal(t, append([]string{"watch"}, args...)...)
	term.resize(t, 80, 24) // it began with no size at all
	return term
}

func (term *terminal) resize(t *testing.T, width, height uint16) {
	t.Helper()
	check.OK(t, unix.IoctlSetWinsize(int(term.master.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Col: width, Row: height}))
}

// types types, without looking.
func (term *terminal) types(t *testing.T, keys string) {
	t.Helper()
	if _, err := term.master.WriteString(keys); err != nil {
		t.Fatal(err)
	}
}

// restored waits until the screen of before is back: what was written may be read
// after its writer has ended.
func (term *terminal) restored(t *testing.T) {
	t.Helper()
	eventually(t, "the screen of before is restored", func() bool { return strings.Contains(term.screen(), "\x1b[?1049l") })
}

// TestWatchSteersARunOfAnotherProcess: each key has its effect on the run, and the
// view neither ends it nor ends with it.
func TestWatchSteersARunOfAnotherProcess(t *testing.T) {
	t.Parallel()
	p := newPlace(t, gated())
	p.plan(t, "First-of-all", "Second")
	r := p.start(t, "run", "--json")
	p.awaitMark(t, "t-00000001")
	w := p.watching(t)
	state := func() (s report.Overview) {
		p.json(t, &s, "status")
		return s
	}

	w.expect(t, "First-of-all", "p")
	eventually(t, "the project is paused", func() bool { return !state().Paused.IsZero() })
	w.types(t, "p")
	eventually(t, "the project is resumed", func() bool { return state().Paused.IsZero() })

	w.types(t, "jg") // the second task
	w.expect(t, "Guidance", "use the window\r")
	eventually(t, "the guidance is kept", func() bool {
		return strings.Contains(p.want(t, 0, "task", "log", "t-00000002").stdout, "use the window")
	})

	w.types(t, "sn") // asked and refused
	w.types(t, "sy")
	eventually(t, "the run is asked to stop", func() bool { s := state(); return len(s.Runs) == 1 && s.Runs[0].State == "stopping" })
	p.write(t, "go-t-00000001", "")
	r.wait(t, 4)
	w.expect(t, "stopped", "") // the end of the run is shown, and the view stays
	w.types(t, "pq")           // what was asked for is done before it leaves
	w.wait(t, 0)
	w.restored(t)
	if state().Paused.IsZero() {
		t.Error("it left before it paused")
	}
	p.want(t, 0, "resume")
	if regexp.MustCompile("\x1b\\[[0-9;]*3[0-7][;m]").MatchString(w.screen()) {
		t.Error("NO_COLOR is set, and there is colour")
	}

	p.write(t, "go-t-00000002", "")
	p.want(t, 0, "run")
	prompts := p.prompts(t)
	if len(prompts) != 2 || strings.Contains(prompts[0], "use the window") || !strings.Contains(prompts[1], "> use the window") {
		t.Errorf("got %d prompts, want the guidance in the second:\n%s", len(prompts), strings.Join(prompts, "\n----\n"))
	}
}

// TestWatchSkipsAndRetriesARunningTask: its agent is ended, and the run goes on.
func TestWatchSkipsAndRetriesARunningTask(t *testing.T) {
	t.Parallel()
	script := say(append(family(), fakeagent.Step{Do: "hang"})...)
	script.Conversations[0].When = fakeagent.When{Task: "t-00000001", Attempt: 1}
	p := newPlace(t, script)
	p.plan(t, "Hangs", "Other")
	r := p.start(t, "run")
	p.awaitMark(t, "at work")
	w := p.watching(t)
	w.expect(t, "t-00000001", "x")
	w.expect(t, "Skip", "y")
	r.wait(t, 2) // what was skipped remains
	p.wantStatus(t, "t-00000001", "blocked")
	p.wantStatus(t, "t-00000002", "done")
	w.expect(t, "blocked", "\x1b[H") // Home
	w.types(t, "r")
	w.expect(t, "again", "y")
	eventually(t, "the task is reset", func() bool { return p.task(t, "t-00000001").Status == "pending" })
	w.types(t, "\x03")
	w.wait(t, 0)
	p.want(t, 0, "run")
}

// TestWatchEndsWithASignal, and gives the terminal back.
func TestWatchEndsWithASignal(t *testing.T) {
	t.Parallel()
	p := newPlace(t, fakeagent.Script{})
	w := p.watching(t) // an empty project, without a run
	w.expect(t, "import", "")
	check.OK(t, w.cmd.Process.Signal(syscall.SIGTERM))
	w.wait(t, 143)
	w.restored(t)
	w = p.watching(t, "r-none")
	w.wait(t, 3)
	p.env = append(p.env, "TERM=dumb")
	w = p.onTerminal(t, "watch")
	w.wait(t, 64)
}
