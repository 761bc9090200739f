package main

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

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
		args := []string{"ralph", "status"}
		if tc.flag != "" {
			args = append(args, tc.flag)
		}
		var out, errs bytes.Buffer
		status := run(args, system{
			stdin: strings.NewReader(""), stdout: &out, stderr: &errs, outIsTerm: tc.terminal, errIsTerm: tc.terminal,
			getenv: func(key string) string { return tc.env[key] }, environ: func() []string { return nil },
			getwd: func() (string, error) { return b.dir, nil }, now: func() time.Time { return b.now },
		})
		if status != 0 {
			t.Fatalf("%s: exit status %d\n%s", name, status, errs.String())
		}
		if got := strings.Contains(out.String(), "\x1b["); got != tc.want {
			t.Errorf("%s: coloured is %v, want %v", name, got, tc.want)
		}
	}
}
