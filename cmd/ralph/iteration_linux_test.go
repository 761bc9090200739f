package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	ours "ralph/internal/term"
	"ralph/internal/testing/check"
	"ralph/internal/testing/fakeagent"
	"ralph/internal/testing/golden"
)

const walkPlan = `- ref: t-00000001
  title: Greet the world
  description: |
    Write greeting.txt, with a draft first.

    ` + "```sh" + `
    if test -e draft.txt; then mv draft.txt greeting.txt; else echo "hello, world" > draft.txt; fi
    ` + "```" + `
  gates: ["cat greeting.txt"]
`

// TestTheWalkThroughAnIterationIsReal runs the commands of the last section of docs/dev/architecture.md in their
// order and compares what they print with the page.
func TestTheWalkThroughAnIterationIsReal(t *testing.T) {
	t.Parallel()
	const path, heading = "docs/dev/architecture.md", "\n## One iteration, played\n"
	before, section, found := strings.Cut(repoFile(t, path), heading)
	check.That(t, found, "%s has no %q", path, heading)
	p := newPlace(t, fakeagent.Script{})
	p.shell("rm -r .ralph.toml script.json ledger")
	p.write("plan.yaml", walkPlan)
	text := regexp.MustCompile("(?ms)^````console\n(.*?)^````$").ReplaceAllStringFunc(section, func(block string) string {
		out := "````console\n"
		for line := range strings.Lines(block) {
			if command, ok := strings.CutPrefix(line, "$ "); ok {
				out += line + p.shell(command)
			}
		}
		return out + "````"
	})
	b := &bench{t: t, dir: p.dir}
	golden.Check(t, "../../"+path, before+heading+timeless(b.normal(text)))
}

// timeless replaces times, durations, and what a machine can confine.
func timeless(text string) string {
	for _, r := range []struct{ is, becomes string }{
		{`\d{4}-\d\d-\d\d([T ])\d\d:\d\d:\d\d`, "2026-01-02${1}03:04:05"},
		{`\b\d\d:\d\d:\d\d\b`, "03:04:05"},
		{`(?m)^.* still running: .*\n`, ""}, // on a busy machine
		{`\b(as|show) [0-9a-f]{7}\b`, "$1 1234567"},
		{`\b[0-9a-f]{7}\.\.[0-9a-f]{7}\b`, "0123456..1234567"},
		{`\b(\d+m)?\d+(\.\d+)?(ms|s)\b`, "400ms"},
		{`(?m)(sandbox:? +).*$`, "${1}namespaces: as well as this machine can"},
	} {
		text = regexp.MustCompile(r.is).ReplaceAllString(text, r.becomes)
	}
	return text
}

// TestTheDemoNeedsNothing runs it in an empty environment, in a network namespace
// without a network, with nothing on PATH but the tools that its scripts call:
// no home, no agent.
func TestTheDemoNeedsNothing(t *testing.T) {
	t.Parallel()
	bin, tmp := t.TempDir(), t.TempDir()
	for _, tool := range []string{"ralph", "git", "sh", "mv", "rm", "mkdir", "cat", "chmod", "ls", "touch", "tar"} {
		path, err := exec.LookPath(tool)
		check.OK(t, err)
		check.OK(t, os.Symlink(path, filepath.Join(bin, tool)))
	}
	var stdout, stderr bytes.Buffer
	demo := func(isolate *syscall.SysProcAttr) error {
		stdout.Reset()
		stderr.Reset()
		cmd := exec.Command(filepath.Join(bin, "ralph"), "demo")
		cmd.Env, cmd.Dir = []string{"PATH=" + bin, "TMPDIR=" + tmp, "GORACE=atexit_sleep_ms=0"}, t.TempDir()
		cmd.Stdout, cmd.Stderr, cmd.SysProcAttr = &stdout, &stderr, isolate
		return cmd.Run()
	}
	err := demo(&syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNET,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
	})
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Logf("with the network, because there are no namespaces here: %v", err)
		err = demo(nil)
	}
	if err != nil {
		t.Fatalf("%v\n%s", err, stderr.String())
	}
	check.Equal(t, "tasks done", 9, strings.Count(stdout.String(), "  done  "))
	if left, err := os.ReadDir(tmp); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

var record = flag.Bool("record", false, "record docs/demo.cast again")

const (
	castPath  = "../../docs/demo.cast"
	castWidth = 100
	castLines = 34
	castPace  = 0.06 // seconds that a line is worth at least: people read slower than ralph runs
)

// castHeader is the first line of a recording, as asciinema defines version 2.
type castHeader struct {
	Version int               `json:"version"`
	Width   int               `json:"width"`
	Height  int               `json:"height"`
	Title   string            `json:"title"`
	Env     map[string]string `json:"env"`
}

// castEvent is each other line: when, what it is, and what was shown.
type castEvent struct {
	At   float64
	Code string
	Data string
}

func (e castEvent) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode([]any{json.Number(fmt.Sprintf("%.3f", e.At)), e.Code, e.Data})
	return bytes.TrimSpace(b.Bytes()), err
}

func (e *castEvent) UnmarshalJSON(data []byte) error {
	return json.Unmarshal(data, &[]any{&e.At, &e.Code, &e.Data})
}

// TestTheRecordingShowsTheDemo: docs/demo.cast can be played, and shows the plan and
// the result that the demonstration has today.
func TestTheRecordingShowsTheDemo(t *testing.T) {
	t.Parallel()
	p := newPlace(t, fakeagent.Script{})
	if *record {
		recordDemo(t, p)
	}
	data, err := os.ReadFile(castPath)
	check.OK(t, err)
	lines := strings.Split(strings.TrimSpace(string(data)), "\n")
	var head castHeader
	if err := json.Unmarshal([]byte(lines[0]), &head); err != nil || head.Version != 2 || head.Width != castWidth || head.Height != castLines {
		t.Fatalf("%v: %s", err, lines[0])
	}
	var shown strings.Builder
	last := 0.0
	for _, line := range lines[1:] {
		var e castEvent
		if err := json.Unmarshal([]byte(line), &e); err != nil || e.Code != "o" || e.At < last || !utf8.ValidString(e.Data) {
			t.Fatalf("%v: %s", err, line)
		}
		last = e.At
		shown.WriteString(e.Data)
	}
	if last < 2 || last > 60 || len(data) > 100<<10 {
		t.Errorf("it takes %.1f s and has %d bytes: nobody will watch it", last, len(data))
	}
	plain := anonymous(shown.String())
	for line := range strings.Lines(p.want(0, "demo").stdout) {
		if want := strings.TrimSpace(anonymous(line)); want != "" && !strings.Contains(plain, want) {
			t.Errorf("the recording does not show %q; record it again with: just record", want)
		}
	}
	if home, err := os.UserHomeDir(); err == nil && home != "/" && strings.Contains(shown.String(), home) {
		t.Errorf("the recording tells where somebody lives: %s", home)
	}
}

// anonymous removes what differs between two demonstrations: colours and IDs.
func anonymous(text string) string {
	return regexp.MustCompile(`\b([tra])-[0-9a-f]{8}\b`).ReplaceAllString(ours.Strip(text), "$1-")
}

func recordDemo(t *testing.T, p *place) {
	t.Helper()
	p.env = append(p.env, "NO_COLOR=", "TERM=xterm-256color", "TMPDIR=/tmp")
	var events []castEvent
	at := 0.5
	show := func(text string) {
		events = append(events, castEvent{math.Round(at*1000) / 1000, "o", text})
	}
	for _, letter := range "$ ralph demo" {
		show(string(letter))
		at += 0.05
	}
	show("\r\n")
	term := p.openTerminal(unix.Winsize{Row: castLines, Col: castWidth}, "demo")
	begin, rest := time.Now(), []byte{}
	buf := make([]byte, 4096)
	for {
		n, err := term.master.Read(buf)
		rest = append(rest, buf[:n]...)
		// What ends in the middle of a character waits for the rest of it.
		whole := len(rest)
		for whole > 0 && whole > len(rest)-utf8.UTFMax && !utf8.Valid(rest[:whole]) {
			whole--
		}
		for line := range strings.Lines(string(rest[:whole])) {
			at = max(at+castPace, 1.2+time.Since(begin).Seconds())
			show(line)
		}
		rest = append([]byte{}, rest[whole:]...)
		if err != nil {
			break
		}
	}
	term.wait(0)
	at += 3 // to look at the result
	show("")
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	check.OK(t, enc.Encode(castHeader{2, castWidth, castLines, "ralph demo", map[string]string{"TERM": "xterm-256color"}}))
	for _, e := range events {
		check.OK(t, enc.Encode(e))
	}
	check.OK(t, os.WriteFile(castPath, b.Bytes(), 0o644))
}
