package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"ralph/internal/project"
	"ralph/internal/term"
	"ralph/internal/testing/check"
	"ralph/internal/testing/fakeagent"
)

// terminal is a pseudo-terminal with the program at its other end.
type terminal struct {
	*running
	master *os.File

	mu    sync.Mutex
	shown bytes.Buffer
}

// onTerminal runs the program on a terminal and keeps what it shows.
func (p *place) onTerminal(t *testing.T, args ...string) *terminal {
	t.Helper()
	return p.onTerminalOf(t, unix.Winsize{}, args...)
}

func (p *place) onTerminalOf(t *testing.T, size unix.Winsize, args ...string) *terminal {
	t.Helper()
	term := p.openTerminal(t, size, args...)
	go func() {
		buf := make([]byte, 4096)
		for {
			n, err := term.master.Read(buf)
			term.mu.Lock()
			term.shown.Write(buf[:n])
			term.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	return term
}

// openTerminal runs the program on a terminal of that size; the caller reads it.
func (p *place) openTerminal(t *testing.T, size unix.Winsize, args ...string) *terminal {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skipf("no pseudo-terminal here: %v", err)
	}
	t.Cleanup(func() { master.Close() })
	check.OK(t, unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0))
	n, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	check.OK(t, err)
	slave, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("no pseudo-terminal here: %v", err)
	}
	defer slave.Close()
	if size != (unix.Winsize{}) {
		check.OK(t, unix.IoctlSetWinsize(int(slave.Fd()), unix.TIOCSWINSZ, &size))
	}
	term := &terminal{running: &running{cmd: p.command(args...), ended: make(chan struct{})}, master: master}
	term.cmd.Stdin, term.cmd.Stdout, term.cmd.Stderr = slave, slave, slave
	term.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	check.OK(t, term.cmd.Start())
	go func() {
		term.err = term.cmd.Wait()
		close(term.ended)
	}()
	t.Cleanup(func() {
		select {
		case <-term.ended:
		default:
			_ = term.cmd.Process.Kill()
			<-term.ended
		}
	})
	return term
}

func (term *terminal) screen() string {
	term.mu.Lock()
	defer term.mu.Unlock()
	return term.shown.String()
}

// wait is that of the program, which says nothing but on the screen.
func (term *terminal) wait(t *testing.T, status int) {
	t.Helper()
	defer func() {
		if t.Failed() {
			t.Logf("on the screen:\n%s", term.screen())
		}
	}()
	term.running.wait(t, status)
}

// expect waits until a text was shown, and then types.
func (term *terminal) expect(t *testing.T, text, typed string) {
	t.Helper()
	eventually(t, fmt.Sprintf("%q is shown", text), func() bool {
		select {
		case <-term.ended:
			t.Fatalf("it ended before it showed %q:\n%s", text, term.screen())
		default:
		}
		return strings.Contains(term.screen(), text)
	})
	if _, err := term.master.WriteString(typed); err != nil {
		t.Fatal(err)
	}
}

const ctrlC = "\x03"

func hangsOnce() fakeagent.Script {
	return fakeagent.Script{Conversations: []fakeagent.Conversation{
		{When: fakeagent.When{Attempt: 1}, Steps: append(family(), fakeagent.Step{Do: "say", Text: "thinking\n"}, fakeagent.Step{Do: "hang"})},
	}}
}

// TestCtrlCAsksForGuidance: what is typed is in the next prompt, and the run goes on.
func TestCtrlCAsksForGuidance(t *testing.T) {
	t.Parallel()
	p := newPlace(t, hangsOnce())
	p.plan(t, "mine")
	term := p.onTerminal(t, "run")
	p.awaitMark(t, "at work")
	term.expect(t, "thinking", ctrlC)
	term.expect(t, "stopping the running tasks; Ctrl-C again kills them", "")
	term.expect(t, "Guidance for t-00000001", "use the window\n")
	term.expect(t, "Go on? [y/N]", "y\n")
	term.wait(t, 0)
	prompts := p.prompts(t)
	if len(prompts) != 2 || strings.Contains(prompts[0], "use the window") || !strings.Contains(prompts[1], "> use the window") {
		t.Errorf("got %d prompts, want the guidance in the second:\n%s", len(prompts), strings.Join(prompts, "\n----\n"))
	}
	log := p.want(t, 0, "task", "log", "t-00000001")
	log.inStdout(t, "use the window")
	if task := p.task(t, "t-00000001"); task.Status != "done" || task.Attempts != 1 {
		t.Errorf("got %s with %d attempts, want done with 1", task.Status, task.Attempts)
	}
}

// TestCtrlCCanEndARun: whoever does not want to go on gets the signal's status.
func TestCtrlCCanEndARun(t *testing.T) {
	t.Parallel()
	tests := map[string]func(t *testing.T, term *terminal){
		"no":              func(t *testing.T, term *terminal) { term.expect(t, "Guidance", "\n"); term.expect(t, "Go on?", "n\n") },
		"Enter":           func(t *testing.T, term *terminal) { term.expect(t, "Guidance", "\n"); term.expect(t, "Go on?", "\n") },
		"Ctrl-C again":    func(t *testing.T, term *terminal) { term.expect(t, "Guidance", ctrlC) },
		"the end of file": func(t *testing.T, term *terminal) { term.expect(t, "Guidance", "\x04") },
	}
	for name, answer := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t, hangsOnce())
			p.plan(t, "mine")
			term := p.onTerminal(t, "run")
			p.awaitMark(t, "at work")
			term.expect(t, "thinking", ctrlC)
			answer(t, term)
			term.wait(t, 130)
			p.wantNothingLeft(t)
			p.wantInterrupted(t)
		})
	}
}

// TestSIGTERMAsksNothing, on a terminal neither.
func TestSIGTERMAsksNothing(t *testing.T) {
	t.Parallel()
	p := newPlace(t, hangsOnce())
	p.plan(t, "mine")
	term := p.onTerminal(t, "run")
	p.awaitMark(t, "at work")
	check.OK(t, term.cmd.Process.Signal(syscall.SIGTERM))
	term.wait(t, 143)
	if strings.Contains(term.screen(), "Guidance") {
		t.Errorf("it asked:\n%s", term.screen())
	}
	p.wantInterrupted(t)
}

// TestLinesAreBrokenAtWords has a narrow terminal, and lines of commands that are wider than it.
func TestLinesAreBrokenAtWords(t *testing.T) {
	t.Parallel()
	const columns = 40
	p := newPlace(t, say(fakeagent.Step{Do: "say", Text: "<task-failed>{{task}}: " + strings.Repeat("because of words ", 8) + "</task-failed>\n"}))
	p.plan(t, "one")
	p.want(t, 1, "run")
	for command, status := range map[string]int{
		"run --keep-going --fail-fast": 64, "run --feature of-no-name": 3, "task show t-00000001": 0, "status": 0,
	} {
		term := p.onTerminalOf(t, unix.Winsize{Col: columns, Row: 50}, strings.Fields(command)...)
		term.wait(t, status)
		eventually(t, "the hint or the error is shown", func() bool { return strings.Count(term.screen(), "\n") > 2 })
		for line := range strings.Lines(term.screen()) {
			if line = strings.TrimRight(line, "\r\n"); len(line) > columns {
				t.Errorf("%q is wider than %d columns", line, columns)
			}
		}
	}
}

// TestTimeAndCostAreShownDuringAnAttempt has an agent that says what it cost, and works on.
func TestTimeAndCostAreShownDuringAnAttempt(t *testing.T) {
	t.Parallel()
	cost := 0.4
	p := newPlace(t, say(
		fakeagent.Step{Do: "usage", N: 50, Cost: &cost}, fakeagent.Step{Do: "mark", Text: "at work"},
		fakeagent.Step{Do: "await", Path: "go"}, saysDone(),
	))
	p.plan(t, "one")
	term := p.onTerminal(t, "run")
	p.awaitMark(t, "at work")
	shown := regexp.MustCompile(`… [0-9ms]+, 0 tool calls, \$0\.40 so far, 0 of 1 done`)
	eventually(t, "time and cost are shown", func() bool { return shown.MatchString(term.screen()) })
	status := regexp.MustCompile(`t-00000001 prompted for [0-9ms]+, iteration 1, .*\$0\.40`)
	eventually(t, "the status has them, too", func() bool { return status.MatchString(p.want(t, 0, "status").stdout) })
	p.write(t, "go", "")
	term.wait(t, 0)
}

// TestTheConfigurationFitsATerminal: no line is wider than the terminal, whatever is
// configured, and nothing of it is left out.
func TestTheConfigurationFitsATerminal(t *testing.T) {
	t.Parallel()
	p := newPlace(t, fakeagent.Script{}, `model_strategy = "escalate"
[verify]
commands = ["go test ./...", "a gate that has `+strings.Repeat("very ", 30)+`many words", "日本語のテスト日本語のテスト日本語のテスト"]
[telemetry]
prometheus = "`+strings.Repeat("long/", 40)+`file"`)
	var settings []project.Setting
	p.json(t, &settings, "config", "show")
	for _, columns := range []int{80, 100, 132} {
		screen := p.onTerminalOf(t, unix.Winsize{Col: uint16(columns), Row: 24}, "config", "show")
		screen.wait(t, 0)
		last := settings[len(settings)-1].Key
		eventually(t, "all is shown", func() bool { return strings.Contains(screen.screen(), last) })
		lines := strings.Split(strings.ReplaceAll(screen.screen(), "\r", ""), "\n")
		var keys []string
		value := ""
		for _, line := range lines {
			if got := term.Width(line); got > columns {
				t.Errorf("%d wide on %d columns: %s", got, columns, line)
			}
			if key, rest, found := strings.Cut(line, " "); found && key != "" {
				keys = append(keys, key)
				line = rest
			}
			value += strings.ReplaceAll(strings.TrimSuffix(strings.TrimSpace(line), " .ralph.toml"), " ", "")
		}
		if len(keys) != len(settings) {
			t.Errorf("got %d keys, want %d: %v", len(keys), len(settings), keys)
		}
		for _, part := range []string{`"gotest./..."`, strings.Repeat("very", 30) + "manywords", strings.Repeat("日本語のテスト", 3), strings.Repeat("long/", 40) + `file"`, `".drone.yml"`} {
			if !strings.Contains(value, part) {
				t.Errorf("on %d columns %q is not whole:\n%s", columns, part, screen.screen())
			}
		}
	}
}

// TestAPersonsWordStands changes a task from another process while an agent works
// on it: the agent's answer is refused, and the run goes on with the rest.
func TestAPersonsWordStands(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		verb   []string
		status int    // of the run
		want   string // the task afterwards; empty if it is gone
		agents int    // that were given the task
	}{
		"done":   {[]string{"task", "done"}, 0, "done", 1},
		"fail":   {[]string{"task", "fail"}, 1, "failed", 1},
		"reset":  {[]string{"task", "reset"}, 0, "done", 2},
		"delete": {[]string{"task", "delete"}, 0, "", 1},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t, fakeagent.Script{Conversations: []fakeagent.Conversation{
				{When: fakeagent.When{Task: "t-00000001", Attempt: 1}, Steps: []fakeagent.Step{
					{Do: "mark", Text: "at work"},
					{Do: "await", Path: "go"},
					{Do: "say", Text: "<task-failed>t-00000001: too late</task-failed>\n"},
				}},
			}})
			p.plan(t, "mine", "other")
			r := p.start(t, "run", "--json")
			p.awaitMark(t, "at work")
			p.want(t, 1, "task", "block", "t-00000001").inStderr(t, "hint: to stop after the current attempt: ralph pause t-00000001")
			p.want(t, 0, "task", "log", "t-00000001", "-m", "hurry").inStderr(t, "the next one does")
			p.want(t, 0, append(tt.verb, "t-00000001")...)
			p.write(t, "go", "")
			out := r.wait(t, tt.status)
			if strings.Contains(out.stdout, "too late") {
				t.Errorf("the agent's word counted: %s", out.stdout)
			}
			if tt.want == "" {
				p.want(t, 3, "task", "show", "t-00000001")
			} else {
				p.wantStatus(t, "t-00000001", tt.want)
			}
			p.wantStatus(t, "t-00000002", "done")
			agents := 0
			for _, e := range p.entries(t) {
				if e.Event == "prompted" && e.Task == "t-00000001" {
					agents++
				}
			}
			if agents != tt.agents {
				t.Errorf("got %d agents for the task, want %d", agents, tt.agents)
			}
			p.want(t, 0, "doctor")
		})
	}
}

// TestTheOutcomeIsTheLastLine of stdout, after all events.
func TestTheOutcomeIsTheLastLine(t *testing.T) {
	t.Parallel()
	p := newPlace(t, fakeagent.Script{})
	p.plan(t, "one", "two")
	out := p.want(t, 0, "run", "--json", "--events", "-")
	lines := strings.Split(strings.TrimSuffix(out.stdout, "\n"), "\n")
	for i, line := range lines {
		var object map[string]any
		if err := json.Unmarshal([]byte(line), &object); err != nil {
			t.Fatalf("line %d is no JSON: %q", i+1, line)
		}
		_, isOutcome := object["iterations"]
		if last := i == len(lines)-1; last != isOutcome {
			t.Errorf("line %d of %d: %s", i+1, len(lines), line)
		}
	}
}

// TestTheDoctorSaysWhatItWaitsFor while it waits, on a terminal or not.
func TestTheDoctorSaysWhatItWaitsFor(t *testing.T) {
	t.Parallel()
	silent := fakeagent.Script{At: map[string][]fakeagent.Step{"initialize": {{Do: "hang"}}}}
	const agent = "waiting for fake to say who it is, for at most 1m00s"
	t.Run("an agent, on a terminal", func(t *testing.T) {
		t.Parallel()
		p := newPlace(t, silent)
		screen := p.onTerminal(t, "doctor", "--timeout", "1m")
		screen.expect(t, agent, ctrlC)
		screen.wait(t, 130)
	})
	waits := func(t *testing.T, p *place, line string) {
		t.Helper()
		cmd := p.command("doctor", "--timeout", "1m")
		r, w, err := os.Pipe()
		check.OK(t, err)
		defer r.Close()
		cmd.Stderr = w
		check.OK(t, cmd.Start())
		w.Close()
		lines, said := bufio.NewScanner(r), false
		for !said && lines.Scan() { // on a busy machine other steps may be slow, too
			said = lines.Text() == line
		}
		if !said {
			t.Errorf("it ended without saying %q", line)
		}
		_ = cmd.Process.Signal(os.Interrupt)
		_ = cmd.Wait() // it was interrupted
	}
	t.Run("an agent, in a script", func(t *testing.T) {
		t.Parallel()
		waits(t, newPlace(t, silent), agent)
	})
	t.Run("git", func(t *testing.T) {
		t.Parallel()
		p := newPlace(t, fakeagent.Script{})
		bin := t.TempDir()
		check.OK(t, os.WriteFile(filepath.Join(bin, "git"), []byte("#!/bin/sh\n[ \"$1\" != --version ] || exec sleep 60\n"), 0o700))
		for i, v := range p.env {
			if path, ok := strings.CutPrefix(v, "PATH="); ok {
				p.env[i] = "PATH=" + bin + string(filepath.ListSeparator) + path
			}
		}
		waits(t, p, "waiting for git")
	})
}
