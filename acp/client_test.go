package acp

import (
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"ralph/internal/fakeagent"
)

func TestFilesThroughTheClient(t *testing.T) {
	t.Parallel()
	b := newBench(t, say(
		step{Do: "write", Path: "new/deep/file.txt", Text: "one\ntwo\nthree\n"},
		step{Do: "read", Path: "new/deep/file.txt"},
		step{Do: "read", Path: "new/../new/deep/file.txt", Line: 2, Limit: 1},
		step{Do: "read", Path: "missing.txt"},
		step{Do: "write", Path: ".git/hooks/pre-commit", Text: "x"},
		step{Do: "write", Path: "../escape.txt", Text: "x"},
		step{Do: "read", Path: "/etc/passwd"},
		step{Do: "request", Method: "vendor/strange", Params: []byte(`{"sessionId":"x"}`)},
		step{Do: "request", Method: "fs/read_text_file", Params: []byte(`{"sessionId":"other","path":"a"}`)},
		step{Do: "request", Method: "fs/write_text_file", Params: []byte(`7`)},
	))
	turn, err := b.prompt(t)
	if err != nil {
		t.Fatal(err)
	}
	results := b.results(t)
	for name, want := range map[string]string{
		"write new/deep/file.txt":       `{}`,
		"read new/deep/file.txt":        `{"content":"one\ntwo\nthree\n"}`,
		"read new/../new/deep/file.txt": `{"content":"two\n"}`,
		"read missing.txt":              "error -32002",
		"write .git/hooks/pre-commit":   "protected",
		"write ../escape.txt":           "outside the project",
		"read /etc/passwd":              "outside the project",
		"vendor/strange":                "unknown session",
		"fs/read_text_file":             "unknown session",
		"fs/write_text_file":            "error -32602",
	} {
		if got := results[name]; !strings.Contains(got, want) {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
	}
	if diff := cmp.Diff([]string{"new/deep/file.txt"}, turn.Files); diff != "" {
		t.Error(diff)
	}
}

func TestReadOnlySession(t *testing.T) {
	t.Parallel()
	b := newBench(t, say(step{Do: "write", Path: "a.txt", Text: "x"}, step{Do: "terminal", Argv: []string{"echo", "ran"}}))
	b.cfg.ReadOnly = true
	if _, err := b.prompt(t); err != nil {
		t.Fatal(err)
	}
	if got := b.results(t)["write a.txt"]; !strings.Contains(got, "read-only") {
		t.Errorf("write: got %s", got)
	}
	if got := b.results(t)["terminal output"]; !strings.Contains(got, "ran") {
		t.Errorf("terminals must still work: got %s", got)
	}
	if strings.Contains(b.transcript.String(), `"writeTextFile":true`) {
		t.Error("the agent was not told")
	}
	if _, err := os.Stat(filepath.Join(b.cfg.Dir, "a.txt")); err == nil {
		t.Error("the file was written")
	}
}

func TestMissingFileAsEmptyText(t *testing.T) {
	t.Parallel()
	b := newBench(t, say(step{Do: "read", Path: "missing.txt"}))
	b.cfg.MissingFile = MissingEmpty
	if _, err := b.prompt(t); err != nil {
		t.Fatal(err)
	}
	if got := b.results(t)["read missing.txt"]; got != `{"content":""}` {
		t.Errorf("got %s", got)
	}
}

func TestPermissions(t *testing.T) {
	t.Parallel()
	all := []fakeagent.Option{
		{ID: "1", Kind: "allow_always"}, {ID: "2", Kind: "reject_once"}, {ID: "3", Kind: "allow_once"}, {ID: "4", Kind: "allow_once"},
	}
	for name, tc := range map[string]struct {
		policy  Policy
		kind    string
		options []fakeagent.Option
		want    string
	}{
		"once before always":         {AllowAll, "edit", all, `"optionId":"3"`},
		"always if there is no once": {AllowAll, "edit", all[:2], `"optionId":"1"`},
		"nothing usable":             {AllowAll, "edit", all[1:2], `"outcome":"cancelled"`},
		"no options":                 {AllowAll, "edit", nil, `"outcome":"cancelled"`},
		"unknown kinds":              {AllowAll, "edit", []fakeagent.Option{{ID: "x", Kind: "whatever"}}, `"outcome":"cancelled"`},
		"a write rejected":           {RejectWrites, "edit", all, `"optionId":"2"`},
		"a command allowed":          {RejectWrites, "execute", all, `"optionId":"3"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if tc.options == nil {
				tc.options = []fakeagent.Option{}
			}
			b := newBench(t, say(step{Do: "permission", Text: "do it", Kind: tc.kind, Options: tc.options}))
			b.cfg.Permissions = tc.policy
			if _, err := b.prompt(t); err != nil {
				t.Fatal(err)
			}
			if got := b.results(t)["permission"]; !strings.Contains(got, tc.want) {
				t.Errorf("got %s, want %s", got, tc.want)
			}
		})
	}
}

func TestTerminals(t *testing.T) {
	t.Parallel()
	sub := "sub"
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
		"output limit zero":      {step{Argv: []string{"echo", "hello"}, Limit: -1}, `{"exitCode":0,"signal":null}`, `"output":"hello\n","truncated":false`},
		"background kept open":   {step{Argv: []string{"sh", "-c", "echo now; sleep 1000 &"}}, `{"exitCode":0,"signal":null}`, `"output":"now\n"`},
		"stdin is empty":         {step{Argv: []string{"cat"}}, `{"exitCode":0,"signal":null}`, `"output":""`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tc.step.Do = "terminal"
			b := newBench(t, say(tc.step))
			if err := os.Mkdir(filepath.Join(b.cfg.Dir, sub), 0o755); err != nil {
				t.Fatal(err)
			}
			if _, err := b.prompt(t); err != nil {
				t.Fatal(err)
			}
			results := b.results(t)
			if got := results["terminal exit"]; got != tc.exit {
				t.Errorf("exit: got %s, want %s", got, tc.exit)
			}
			if got := results["terminal output"]; !strings.Contains(got, tc.out) {
				t.Errorf("output: got %s, want %s", got, tc.out)
			}
		})
	}
}

func TestTerminalsRefused(t *testing.T) {
	t.Parallel()
	b := newBench(t, say())
	out := t.TempDir()
	if err := os.Symlink(out, filepath.Join(b.cfg.Dir, "link")); err != nil {
		t.Fatal(err)
	}
	b = withScript(b, say(
		step{Do: "terminal", Argv: []string{"pwd"}, Path: "/"},
		step{Do: "mark", Text: "next"},
		step{Do: "request", Method: "terminal/create", Params: mustJSON(map[string]any{"sessionId": "{{session}}", "command": "pwd", "cwd": filepath.Join(b.cfg.Dir, "link")})},
	))
	// The session's name is not known before it starts, so the agent is asked
	// with steps that fill it in.
	if _, err := b.prompt(t); err != nil {
		t.Fatal(err)
	}
	if got := b.results(t)["terminal"]; !strings.Contains(got, "outside the project") {
		t.Errorf("cwd outside: got %s", got)
	}
	terms := &terminals{files: mustFiles(t, b.cfg.Dir), open: map[string]*terminal{}, alive: func() {}}
	if _, err := terms.dir(ptr(filepath.Join(b.cfg.Dir, "link"))); err == nil {
		t.Error("a link that leads out was accepted")
	}
	if _, err := terms.get("term-1"); err == nil {
		t.Error("a foreign terminal was accepted")
	}
}

func withScript(b *bench, script fakeagent.Script) *bench {
	b.cfg.Env = append(b.cfg.Env, fakeagent.ScriptEnv+"="+script.JSON())
	return b
}

func mustJSON(v any) json.RawMessage {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return raw
}

func mustFiles(t testing.TB, dir string, protected ...string) *files {
	t.Helper()
	f, err := openFiles(dir, protected)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.close)
	return f
}

func TestShellLinesInTerminalsOnlyWhenAsked(t *testing.T) {
	t.Parallel()
	line := step{Do: "terminal", Argv: []string{"echo one && echo two"}}
	b := newBench(t, say(line))
	if _, err := b.prompt(t); err != nil {
		t.Fatal(err)
	}
	if got := b.results(t)["terminal"]; !strings.Contains(got, "not found") {
		t.Errorf("got %s, want no shell", got)
	}
	b = newBench(t, say(line))
	b.cfg.TerminalShell = true
	if _, err := b.prompt(t); err != nil {
		t.Fatal(err)
	}
	if got := b.results(t)["terminal output"]; !strings.Contains(got, `one\ntwo\n`) {
		t.Errorf("got %s, want both", got)
	}
}

// A terminal that floods and never ends is bounded, and dies with the session.
func TestTerminalFlood(t *testing.T) {
	t.Parallel()
	b := newBench(t, say(step{Do: "terminal_start", Argv: []string{"sh", "-c", "echo $$ > pid; exec yes flooding"}},
		step{Do: "await", Path: "pid"}))
	if _, err := b.prompt(t); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(filepath.Join(b.cfg.Dir, "pid"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat("/proc/" + strings.TrimSpace(string(raw))); err == nil {
		t.Error("the command still runs")
	}
}

func TestRing(t *testing.T) {
	t.Parallel()
	r := newRing(10)
	for range 1000 {
		r.Write([]byte("äöü"))
		if text, _ := r.text(); len(text) > 10 || !utf8.ValidString(text) || strings.ContainsRune(text, '\uFFFD') {
			t.Fatalf("got %q", text)
		}
	}
	if cap(r.buf) > 64 {
		t.Errorf("it grew to %d bytes", cap(r.buf))
	}
	r.Write([]byte(strings.Repeat("x", 1000)))
	if text, cut := r.text(); text != "xxxxxxxxxx" || !cut {
		t.Errorf("got %q, %v", text, cut)
	}
	if text, cut := newRing(0).text(); text != "" || cut {
		t.Errorf("empty: got %q, %v", text, cut)
	}
}

func TestFilesAttacks(t *testing.T) {
	t.Parallel()
	dir, out := t.TempDir(), t.TempDir()
	secret := filepath.Join(out, "secret")
	for path, text := range map[string]string{secret: "secret", dir + "/ok.txt": "ok", dir + "/bin": "\xff\xfe"} {
		if err := os.WriteFile(path, []byte(text), 0o640); err != nil {
			t.Fatal(err)
		}
	}
	for _, folder := range []string{".git/hooks", ".ralph/runs", "sub"} {
		if err := os.MkdirAll(filepath.Join(dir, folder), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	links := map[string]string{
		"out": out, "file-out": secret, "up": "../..", "to-ralph": ".ralph", "to-runs": ".ralph/runs", "to-git": "sub/../.git",
		"loop": "loop", "to-ok": "ok.txt", "abs-ok": filepath.Join(dir, "ok.txt"), "sub/to-hooks": "../.git/hooks", "dangling": "not/yet.txt",
	}
	for name, target := range links {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mkfifo(filepath.Join(dir, "fifo"), 0o644); err != nil {
		t.Fatal(err)
	}
	huge, err := os.Create(filepath.Join(dir, "huge"))
	if err != nil {
		t.Fatal(err)
	}
	if err := huge.Truncate(1 << 40); err != nil {
		t.Fatal(err)
	}
	huge.Close()
	f := mustFiles(t, dir, ".ralph", ".git/hooks", ".git/config")

	for path, want := range map[string]string{
		"../x": "outside", "/etc/passwd": "outside", secret: "outside", "out/secret": "outside", "file-out": "outside", "up/etc": "outside",
		dir + "/../" + filepath.Base(out) + "/secret": "outside",
		"fifo": "not a regular", "sub": "not a regular", ".": "not a regular", "huge": "too large", "bin": "not UTF-8",
		"": "outside", "a\x00b": "outside", "loop": "too many", "none": "no such file",
	} {
		if text, err := f.read(path, 0, 0); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("read %q: got %q, %v, want %q", path, text, err, want)
		}
	}
	for path, want := range map[string]string{
		"../x": "outside", "/tmp/x": "outside", "out/x": "outside", "file-out": "outside", "up/x": "outside", "loop": "outside", "abs-ok": "outside",
		".ralph/x": "protected", ".RALPH/x": "protected", "to-ralph/x": "protected", "to-runs/x": "protected", ".ralph": "protected",
		".git/hooks/x": "protected", ".git/config": "protected", "to-git/config": "protected", "to-git/hooks/x": "protected",
		"sub/to-hooks/x": "protected", ".git": "not a regular", ".git/../.git/config": "protected",
		"fifo": "not a regular", "sub": "not a regular", ".": "outside", "": "outside", "ok.txt/x": "not a regular",
	} {
		if _, err := f.write(path, "evil"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("write %q: got %v, want %q", path, err, want)
		}
	}
	for path, want := range map[string]string{
		"ok.txt": "ok.txt", dir + "/ok.txt": "ok.txt", "to-ok": "ok.txt", "a/b/c.txt": "a/b/c.txt",
		"to-git/index": ".git/index", "dangling": "not/yet.txt",
	} {
		if got, err := f.write(path, "new "+path); err != nil || got != want {
			t.Errorf("write %q: got %q, %v, want %q", path, got, err, want)
		} else if text, err := f.read(path, 0, 0); err != nil || text != "new "+path {
			t.Errorf("read back %q: got %q, %v", path, text, err)
		}
	}
	if info, err := os.Stat(dir + "/ok.txt"); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("the mode was not kept: %v", info.Mode())
	}
	if raw, _ := os.ReadFile(secret); string(raw) != "secret" {
		t.Errorf("the file outside was changed: %q", raw)
	}
	filepath.WalkDir(dir, func(path string, _ os.DirEntry, _ error) error {
		if strings.HasSuffix(path, ".tmp") {
			t.Errorf("left behind: %s", path)
		}
		return nil
	})
}

func TestReadLines(t *testing.T) {
	t.Parallel()
	const text = "1\n2\n3\n4"
	for name, tc := range map[string]struct {
		line, limit int
		want        string
	}{
		"all": {0, 0, text}, "from the first": {1, 0, text}, "from the third": {3, 0, "3\n4"}, "two": {2, 2, "2\n3\n"},
		"beyond the end": {9, 0, ""}, "more than there are": {4, 9, "4"}, "the first one": {0, 1, "1\n"},
	} {
		if got, err := readLines(strings.NewReader(text), tc.line, tc.limit); err != nil || got != tc.want {
			t.Errorf("%s: got %q, %v, want %q", name, got, err, tc.want)
		}
	}
}

// A folder is swapped for a link that leads out, or to what is protected, again
// and again while we write through it.
func TestSwappedLinks(t *testing.T) {
	t.Parallel()
	dir, out := t.TempDir(), t.TempDir()
	for _, folder := range []string{".ralph", "real"} {
		if err := os.Mkdir(filepath.Join(dir, folder), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	f := mustFiles(t, dir, ".ralph")
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		name := filepath.Join(dir, "swap")
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			os.RemoveAll(name)
			switch i % 3 {
			case 0:
				os.Symlink(out, name)
			case 1:
				os.Symlink(".ralph", name)
			default:
				os.Mkdir(name, 0o755)
			}
			runtime.Gosched()
		}
	}()
	wrote := 0
	for range 3000 {
		if _, err := f.write("swap/evil.txt", "evil"); err == nil {
			wrote++
		}
	}
	close(stop)
	<-stopped
	for _, folder := range []string{out, filepath.Join(dir, ".ralph")} {
		if entries, _ := os.ReadDir(folder); len(entries) > 0 {
			t.Errorf("%s: got %v, want nothing written", folder, entries)
		}
	}
	t.Logf("%d of 3000 writes went to the folder itself", wrote)
}

func TestObserverNeverBlocksAndCountsWhatItDrops(t *testing.T) {
	t.Parallel()
	gate, got := make(chan struct{}), make(chan Event, 5000)
	o := newObserver(func(e Event) { <-gate; got <- e })
	o.push(Plan{})
	for range 10 {
		o.push(Text{Text: "ab"})
	}
	o.push(Thought{Text: "t"})
	for range 3000 {
		o.push(Plan{})
	}
	o.push(Text{Text: strings.Repeat("x", 2<<20)})
	close(gate)
	o.flush()
	o.stop()
	<-o.done
	close(got)
	var texts []string
	events, dropped := 0, 0
	for e := range got {
		switch e := e.(type) {
		case Text:
			texts = append(texts, e.Text)
		case Dropped:
			dropped += e.Events
		case Plan:
			events++
		}
	}
	if all := strings.Join(texts, ""); all != strings.Repeat("ab", 10) {
		t.Errorf("text: got %q", all)
	}
	if events+dropped != 3002 || dropped < 1000 {
		t.Errorf("got %d events and %d dropped, want 3002 together", events, dropped)
	}
}

func TestIdleWatch(t *testing.T) {
	t.Parallel()
	var n int64
	w := newIdleWatch(time.Hour, func() int64 { return n })
	defer w.stop()
	for range idleTicks {
		if w.expired() {
			t.Fatal("too early")
		}
	}
	n++
	for range idleTicks + 1 {
		if w.expired() {
			t.Fatal("activity did not count")
		}
	}
	if !w.expired() {
		t.Error("not expired")
	}
}
