package acp

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"ralph/internal/testing/check"
	"ralph/internal/testing/fakeagent"
)

func TestRequestsOfTheAgent(t *testing.T) {
	t.Parallel()
	further, outside := t.TempDir(), "outside the project"
	check.OK(t, os.WriteFile(filepath.Join(further, "code.go"), []byte("package x\n"), 0o600))
	check.OK(t, os.Symlink("/etc/passwd", filepath.Join(further, "out")))
	type options = []fakeagent.Option
	all := options{{ID: "1", Kind: "allow_always"}, {ID: "2", Kind: "reject_once"}, {ID: "3", Kind: "allow_once"}, {ID: "4", Kind: "allow_once"}}
	run := func(argv ...string) step { return step{Do: "terminal", Argv: argv} }
	sh := func(line string) step { return run("sh", "-c", line) }
	for name, tc := range map[string]struct {
		step   step
		change func(*Config, *step)
		want   []string // in the answers
	}{
		"write":                        {step{Do: "write", Path: "new/deep/file.txt", Text: "x"}, nil, []string{`{}`}},
		"read":                         {step{Do: "read", Path: "lines.txt"}, nil, []string{`{"content":"one\ntwo\nthree\n"}`}},
		"read lines":                   {step{Do: "read", Path: "sub/../lines.txt", Line: 2, Limit: 1}, nil, []string{`{"content":"two\n"}`}},
		"a missing file":               {step{Do: "read", Path: "missing.txt"}, nil, []string{"error -32002"}},
		"a missing file as empty text": {step{Do: "read", Path: "missing.txt"}, func(c *Config, _ *step) { c.MissingIsEmpty = true }, []string{`{"content":""}`}},
		"write what is protected":      {step{Do: "write", Path: ".git/hooks/pre-commit", Text: "x"}, nil, []string{"protected"}},
		"write outside":                {step{Do: "write", Path: "../escape.txt", Text: "x"}, nil, []string{outside}},
		"read outside":                 {step{Do: "read", Path: "/etc/passwd"}, nil, []string{outside}},
		"read in a further folder":     {step{Do: "read", Path: further + "/code.go"}, nil, []string{`{"content":"package x\n"}`}},
		"a link out of it":             {step{Do: "read", Path: further + "/out"}, nil, []string{outside}},
		"write in a further folder":    {step{Do: "write", Path: further + "/new.go", Text: "x"}, nil, []string{outside}},

		"an unknown method":       {step{Do: "request", Method: "vendor/strange", Params: []byte(`{"sessionId":"x"}`)}, nil, []string{"unknown session"}},
		"another session":         {step{Do: "request", Method: "fs/read_text_file", Params: []byte(`{"sessionId":"other","path":"a"}`)}, nil, []string{"unknown session"}},
		"no object":               {step{Do: "request", Method: "fs/write_text_file", Params: []byte(`7`)}, nil, []string{"error -32602"}},
		"terminal of nobody":      {step{Do: "waits", Method: "term-99"}, nil, []string{"error -32002", "no such terminal"}},
		"terminal outside":        {run("pwd"), func(_ *Config, s *step) { s.Path = "/" }, []string{outside}},
		"terminal behind a link":  {run("pwd"), func(_ *Config, s *step) { s.Path = "link" }, []string{outside}},
		"no shell unless asked":   {run("echo one && echo two"), nil, []string{"not found"}},
		"a shell line":            {run("echo one && echo two"), func(c *Config, _ *step) { c.TerminalShell = true }, []string{`"output":"one\ntwo\n"`}},
		"argv, no shell":          {run("echo", "$HOME; echo x"), nil, []string{`{"exitCode":0,"signal":null}`, `"output":"$HOME; echo x\n","truncated":false`}},
		"stderr too":              {sh("echo out; echo err >&2; exit 3"), nil, []string{`{"exitCode":3,"signal":null}`, `"output":"out\nerr\n"`}},
		"environment":             {sh("echo $X"), func(_ *Config, s *step) { s.Env = map[string]string{"X": "given"} }, []string{`"output":"given\n"`}},
		"folder":                  {sh("basename $PWD"), func(_ *Config, s *step) { s.Path = "sub" }, []string{`"output":"sub\n"`}},
		"a signal":                {sh("kill -9 $$"), nil, []string{`{"exitCode":null,"signal":"SIGKILL"}`, `"output":""`}},
		"output limit at a rune":  {sh("printf 'aaaéé'"), func(_ *Config, s *step) { s.Limit = 3 }, []string{`"output":"é","truncated":true`}},
		"background kept open":    {sh("echo now; sleep 1000 &"), nil, []string{`{"exitCode":0,"signal":null}`, `"output":"now\n"`}},
		"stdin is empty":          {run("cat"), nil, []string{`{"exitCode":0,"signal":null}`, `"output":""`}},
		"allow once, not always":  {step{Do: "permission", Options: all}, nil, []string{`"optionId":"3"`}},
		"always if not once":      {step{Do: "permission", Options: all[:2]}, nil, []string{`"optionId":"1"`}},
		"nothing usable":          {step{Do: "permission", Options: all[1:2]}, nil, []string{`"outcome":"cancelled"`}},
		"no options":              {step{Do: "permission", Options: options{}}, nil, []string{`"outcome":"cancelled"`}},
		"options of another kind": {step{Do: "permission", Options: options{{ID: "x", Kind: "whatever"}}}, nil, []string{`"outcome":"cancelled"`}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, fakeagent.Script{})
			b.cfg.Reads = further
			if tc.change != nil {
				tc.change(&b.cfg, &tc.step)
			}
			b.cfg.Env = append(b.cfg.Env, fakeagent.ScriptEnv+"="+say(tc.step).JSON())
			check.OK(t, os.Mkdir(filepath.Join(b.cfg.Dir, "sub"), 0o755))
			check.OK(t, os.Symlink(further, filepath.Join(b.cfg.Dir, "link")))
			check.OK(t, os.WriteFile(filepath.Join(b.cfg.Dir, "lines.txt"), []byte("one\ntwo\nthree\n"), 0o600))
			b.must(t)
			answers := strings.Join(slices.Collect(maps.Values(b.results(t))), "\n")
			for _, want := range tc.want {
				check.Contains(t, "answers", want, answers)
			}
		})
	}
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
