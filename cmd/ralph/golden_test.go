package main

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"ralph/internal/cli"
	"ralph/internal/redact"
	"ralph/internal/testing/check"
)

// bench is a project to run commands in, inside this process.
type bench struct {
	t   testing.TB
	dir string
	now time.Time
}

func newBench(t testing.TB) *bench {
	t.Helper()
	b := &bench{t: t, dir: t.TempDir(), now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	b.run(0, "init")
	return b
}

// run runs one command, wants that exit status, and returns what it printed.
func (b *bench) run(want int, args ...string) (stdout string) {
	b.t.Helper()
	return b.runOn(cli.System{Getenv: func(string) string { return "" }}, want, args...)
}

// runOn runs one command on a system, whose other fields it sets.
func (b *bench) runOn(sys cli.System, want int, args ...string) (stdout string) {
	b.t.Helper()
	var out, errs bytes.Buffer
	sys.Stdin, sys.Stdout, sys.Stderr = strings.NewReader(""), &out, &errs
	sys.Environ, sys.Getwd, sys.Now = func() []string { return nil }, func() (string, error) { return b.dir, nil }, func() time.Time { return b.now }
	if got := run(append([]string{"ralph"}, args...), sys); got != want {
		b.t.Fatalf("ralph %s: exit status %d, want %d\n%s", strings.Join(args, " "), got, want, errs.String())
	}
	return out.String()
}

// add adds a task and returns its ID.
func (b *bench) add(args ...string) string {
	b.t.Helper()
	return strings.TrimSpace(b.run(0, append([]string{"task", "add"}, args...)...))
}

// normal replaces what differs between runs: IDs, and the folder.
func (b *bench) normal(text string) string {
	seen := map[string]string{}
	text = strings.ReplaceAll(text, b.dir, "/home/you/project")
	return regexp.MustCompile(`\b([tfraw])-[0-9a-f]{8}\b`).ReplaceAllStringFunc(text, func(id string) string {
		if _, ok := seen[id]; !ok {
			seen[id] = fmt.Sprintf("%s-%08x", id[:1], len(seen)+1)
		}
		return seen[id]
	})
}

func TestColourIsForTerminalsThatWantIt(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.add("one")
	for name, tc := range map[string]struct {
		flag     string
		env      map[string]string
		terminal bool
		want     bool
	}{
		"a terminal":                         {terminal: true, want: true},
		"no terminal":                        {},
		"NO_COLOR":                           {terminal: true, env: map[string]string{"NO_COLOR": "1"}},
		"a dumb terminal":                    {terminal: true, env: map[string]string{"TERM": "dumb"}},
		"asked for without a terminal":       {flag: "--color=always", want: true},
		"asked for wins over NO_COLOR":       {flag: "--color=always", env: map[string]string{"NO_COLOR": "1"}, want: true},
		"asked not to":                       {flag: "--color=never", terminal: true},
		"auto is the same as saying nothing": {flag: "--color=auto", terminal: true, want: true},
	} {
		sys := cli.System{OutIsTerm: tc.terminal, ErrIsTerm: tc.terminal, Getenv: func(key string) string { return tc.env[key] }}
		out := b.runOn(sys, 0, append([]string{"status"}, strings.Fields(tc.flag)...)...)
		check.Equal(t, name+": coloured", tc.want, strings.Contains(out, "\x1b["))
	}
}

// TestASecretOfSeveralWordsIsHiddenBeforeALineIsBroken: its parts are no longer known.
func TestASecretOfSeveralWordsIsHiddenBeforeALineIsBroken(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	hide := redact.New("correct horse battery staple")
	a := newApp(cli.System{Stderr: hide.Whole(&out), ErrIsTerm: true, ErrWidth: func() int { return 24 }})
	a.Redact = hide
	a.Complain("it says correct horse battery staple, and more")
	check.Equal(t, "complaint", "it says [redacted], and\n  more\n", out.String())
}
