package acp

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"ralph/internal/testing/check"
	"ralph/internal/testing/fakeagent"
)

func TestTerminals(t *testing.T) {
	t.Parallel()
	const sub = "sub"
	for name, tc := range map[string]struct {
		step step
		exit string
		out  string
	}{
		"argv, no shell":         {step{Argv: []string{"echo", "$HOME; echo x"}}, `{"exitCode":0,"signal":null}`, `"output":"$HOME; echo x\n","truncated":false`},
		"stderr too":             {step{Argv: []string{"sh", "-c", "echo out; echo err >&2; exit 3"}}, `{"exitCode":3,"signal":null}`, `"output":"out\nerr\n"`},
		"environment":            {step{Argv: []string{"sh", "-c", "echo $X"}, Env: map[string]string{"X": "given"}}, `{"exitCode":0,"signal":null}`, `"output":"given\n"`},
		"folder":                 {step{Argv: []string{"sh", "-c", "basename $PWD"}, Path: sub}, `{"exitCode":0,"signal":null}`, `"output":"sub\n"`},
		"a signal":               {step{Argv: []string{"sh", "-c", "kill -9 $$"}}, `{"exitCode":null,"signal":"SIGKILL"}`, `"output":""`},
		"output limit at a rune": {step{Argv: []string{"sh", "-c", "printf 'aaaéé'"}, Limit: 3}, `{"exitCode":0,"signal":null}`, `"output":"é","truncated":true`},
		"background kept open":   {step{Argv: []string{"sh", "-c", "echo now; sleep 1000 &"}}, `{"exitCode":0,"signal":null}`, `"output":"now\n"`},
		"stdin is empty":         {step{Argv: []string{"cat"}}, `{"exitCode":0,"signal":null}`, `"output":""`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tc.step.Do = "terminal"
			b := newBench(t, say(tc.step))
			check.OK(t, os.Mkdir(filepath.Join(b.cfg.Dir, sub), 0o755))
			b.must(t)
			results := b.results(t)
			check.Equal(t, "exit", tc.exit, results["terminal exit"])
			check.Contains(t, "output", tc.out, results["terminal output"])
		})
	}
}

func TestTerminalsRefused(t *testing.T) {
	t.Parallel()
	b := newBench(t, say(
		step{Do: "terminal", Argv: []string{"pwd"}, Path: "/"},
		step{Do: "terminal_start", Argv: []string{"pwd"}, Path: "link"},
		step{Do: "request", Method: "terminal/output", Params: []byte(`{"sessionId":"","terminalId":"term-99"}`)},
	))
	check.OK(t, os.Symlink(t.TempDir(), filepath.Join(b.cfg.Dir, "link")))
	b.must(t)
	for name, want := range map[string]string{
		"terminal":        "outside the project",
		"terminal_start":  "outside the project",
		"terminal/output": "unknown session",
	} {
		check.Contains(t, name, want, b.results(t)[name])
	}
	terms := &terminals{open: map[string]*terminal{}}
	if _, err := terms.get("term-1"); !errors.Is(err, errNoTerminal) {
		t.Errorf("a foreign terminal: got %v", err)
	}
}

func TestShellLinesInTerminalsOnlyWhenAsked(t *testing.T) {
	t.Parallel()
	line := step{Do: "terminal", Argv: []string{"echo one && echo two"}}
	b := newBench(t, say(line))
	b.must(t)
	check.Contains(t, "terminal", "not found", b.results(t)["terminal"])
	b = newBench(t, say(line))
	b.cfg.TerminalShell = true
	b.must(t)
	check.Contains(t, "terminal output", `one\ntwo\n`, b.results(t)["terminal output"])
}

// A terminal that floods and never ends is bounded, and dies with the session.
func TestTerminalFlood(t *testing.T) {
	t.Parallel()
	b := newBench(t, say(step{Do: "terminal_start", Argv: []string{"sh", "-c", "echo $$ > pid.tmp; mv pid.tmp pid; exec yes flooding"}},
		step{Do: "await", Path: "pid"}))
	b.must(t)
	raw, err := os.ReadFile(filepath.Join(b.cfg.Dir, "pid"))
	check.OK(t, err)
	if _, err := os.Stat("/proc/" + strings.TrimSpace(string(raw))); err == nil {
		t.Error("the command still runs")
	}
}

func TestRing(t *testing.T) {
	t.Parallel()
	r := &ring{limit: 10}
	for range 1000 {
		r.Write([]byte("äöü"))
		if text, _ := r.text(); len(text) > 10 || !utf8.ValidString(text) || strings.ContainsRune(text, '\uFFFD') {
			t.Fatalf("got %q", text)
		}
	}
	check.That(t, cap(r.buf) <= 64, "it grew to %d bytes", cap(r.buf))
	r.Write([]byte(strings.Repeat("x", 1000)))
	if text, cut := r.text(); text != "xxxxxxxxxx" || !cut {
		t.Errorf("got %q, %v", text, cut)
	}
	if text, cut := new(ring).text(); text != "" || cut {
		t.Errorf("empty: got %q, %v", text, cut)
	}
}

func TestPermissions(t *testing.T) {
	t.Parallel()
	all := []fakeagent.Option{
		{ID: "1", Kind: "allow_always"}, {ID: "2", Kind: "reject_once"}, {ID: "3", Kind: "allow_once"}, {ID: "4", Kind: "allow_once"},
	}
	for name, tc := range map[string]struct {
		options []fakeagent.Option
		want    string
	}{
		"once before always":         {all, `"optionId":"3"`},
		"always if there is no once": {all[:2], `"optionId":"1"`},
		"nothing usable":             {all[1:2], `"outcome":"cancelled"`},
		"no options":                 {[]fakeagent.Option{}, `"outcome":"cancelled"`},
		"unknown kinds":              {[]fakeagent.Option{{ID: "x", Kind: "whatever"}}, `"outcome":"cancelled"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, say(step{Do: "permission", Text: "do it", Kind: "edit", Options: tc.options}))
			b.must(t)
			check.Contains(t, "permission", tc.want, b.results(t)["permission"])
		})
	}
}
