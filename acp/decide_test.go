package acp

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"ralph/internal/testing/check"
	"ralph/internal/testing/fakeagent"
	"ralph/internal/toolcall"
)

func options(kinds ...string) (list []fakeagent.Option) {
	for _, kind := range kinds {
		list = append(list, fakeagent.Option{ID: "id of " + kind, Kind: kind})
	}
	return list
}

// every is what agents offer.
var every = []string{"allow_always", "reject_always", "reject_once", "allow_once"}

// What an agent asks for and what it wants from us is described alike, in whatever words it says it.
func TestCallsThatAreDecided(t *testing.T) {
	t.Parallel()
	ask := func(s step) []step {
		s.Do, s.Options = "permission", options(every...)
		return []step{s}
	}
	for name, tc := range map[string]struct {
		steps []step
		want  toolcall.Call // DIR stands for the project
	}{
		"a command":           {ask(step{Text: "Run it", Kind: "execute", Params: []byte(`{"command":"git push"}`)}), toolcall.Call{Kind: "execute", Command: "git push", Text: "Run it"}},
		"only a title":        {ask(step{Text: "git push", Kind: "execute"}), toolcall.Call{Kind: "execute", Command: "git push", Text: "git push"}},
		"a file":              {ask(step{Text: "Edit", Kind: "edit", Paths: []string{"a/../b.txt"}}), toolcall.Call{Kind: "edit", Paths: []string{"b.txt"}, Text: "Edit"}},
		"a file in the input": {ask(step{Text: "Edit", Kind: "edit", Params: []byte(`{"file_path":"a/x.go","fileName":"/etc/hosts"}`)}), toolcall.Call{Kind: "edit", Paths: []string{"/etc/hosts", "a/x.go"}, Text: "Edit"}},
		"a link":              {ask(step{Text: "Edit", Kind: "edit", Paths: []string{"link"}}), toolcall.Call{Kind: "edit", Paths: []string{".env", "link"}, Text: "Edit"}},
		"outside":             {ask(step{Text: "Edit", Kind: "edit", Params: []byte(`{"path":"/etc/../etc/hosts"}`)}), toolcall.Call{Kind: "edit", Paths: []string{"/etc/hosts"}, Text: "Edit"}},
		"strange input":       {ask(step{Text: "x", Kind: "other", Params: []byte(`[{"command":7}]`)}), toolcall.Call{Kind: "other", Text: "x"}},
		"what was announced": {
			append([]step{{Do: "tool", ID: "t1", Text: "Run", Kind: "execute", Params: []byte(`{"command":"make"}`)}}, ask(step{ID: "t1", Text: "Run"})...),
			toolcall.Call{Kind: "execute", Command: "make", Text: "Run"},
		},
		"to read a file of ours":     {[]step{{Do: "read", Path: "link"}}, toolcall.Call{Kind: "read", Paths: []string{".env", "link"}, Text: "DIR/link"}},
		"a file from us":             {[]step{{Do: "write", Path: "sub/new.txt", Text: "x"}}, toolcall.Call{Kind: "write", Paths: []string{"sub/new.txt"}, Text: "DIR/sub/new.txt"}},
		"a new file behind a link":   {[]step{{Do: "write", Path: "dangling", Text: "x"}}, toolcall.Call{Kind: "write", Paths: []string{"dangling", "deep/new/.env"}, Text: "DIR/dangling"}},
		"a circle of links":          {[]step{{Do: "write", Path: "circle", Text: "x"}}, toolcall.Call{Kind: "write", Paths: []string{"circle"}, Text: "DIR/circle"}},
		"a file behind a link":       {[]step{{Do: "write", Path: "link", Text: "x"}}, toolcall.Call{Kind: "write", Paths: []string{".env", "link"}, Text: "DIR/link"}},
		"a terminal":                 {[]step{{Do: "terminal", Argv: []string{"echo", "a b"}}}, toolcall.Call{Kind: "terminal", Command: "echo 'a b'", Text: "echo 'a b'"}},
		"a terminal with a long arg": {[]step{{Do: "terminal", Argv: []string{"echo", "x;y"}}}, toolcall.Call{Kind: "terminal", Command: "echo 'x;y'", Text: "echo 'x;y'"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, say(tc.steps...))
			check.OK(t, os.Symlink(".env", filepath.Join(b.cfg.Dir, "link")))
			check.OK(t, os.Mkdir(filepath.Join(b.cfg.Dir, "deep"), 0o755))
			for name, target := range map[string]string{"folder": "deep", "dangling": "folder/new/.env", "circle": "circle/circle"} {
				check.OK(t, os.Symlink(target, filepath.Join(b.cfg.Dir, name)))
			}
			check.OK(t, os.WriteFile(filepath.Join(b.cfg.Dir, ".env"), nil, 0o600))
			var got []toolcall.Call
			b.cfg.Decide = func(_ context.Context, c toolcall.Call) Decision {
				c.Text = strings.ReplaceAll(c.Text, b.cfg.Dir, "DIR")
				c.Input, c.With = nil, nil
				got = append(got, c)
				return Decision{Allow: true}
			}
			b.must(t)
			check.Equal(t, "calls", []toolcall.Call{tc.want}, got)
		})
	}
}

// A call that is denied is answered, with the reason where the protocol has a place for one, and the turn goes on.
func TestCallsThatAreDenied(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		step         step
		answer, want string
	}{
		"a permission":     {step{Do: "permission", Text: "git push", Kind: "execute", Options: options(every...)}, "reject_once", `"optionId":"id of reject_once"`},
		"only always":      {step{Do: "permission", Text: "git push", Kind: "execute", Options: options(every[:2]...)}, "reject_always", `"optionId":"id of reject_always"`},
		"no way to reject": {step{Do: "permission", Text: "git push", Kind: "execute", Options: options("allow_once")}, "cancelled", `"outcome":"cancelled"`},
		"why":              {step{Do: "permission", Text: "git push", Kind: "execute", Options: options(every...)}, "reject_once", `"reason":"not on my watch"`},
		"a file":           {step{Do: "write", Path: "x.txt", Text: "x"}, "denied", "denied by ralph's rules: not on my watch"},
		"a terminal":       {step{Do: "terminal", Argv: []string{"touch", "x.txt"}}, "denied", "denied by ralph's rules: not on my watch"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, say(tc.step, step{Do: "say", Text: "I go on."}))
			b.cfg.Decide = func(context.Context, toolcall.Call) Decision {
				return Decision{Rule: "deny execute:*", By: "rules", Reason: "not on my watch"}
			}
			var seen []Permission
			b.cfg.Observe = func(e Event) {
				if p, ok := e.(Permission); ok {
					seen = append(seen, p)
				}
			}
			turn := b.must(t)
			check.Equal(t, "text", "I go on.", strings.Join(turn.Segments, ""))
			var answers string
			for _, answer := range b.results(t) {
				answers += answer
			}
			check.Contains(t, "answers", tc.want, answers)
			_, err := os.Stat(filepath.Join(b.cfg.Dir, "x.txt"))
			check.That(t, os.IsNotExist(err), "it was done: %v", err)
			check.That(t, len(seen) == 1 && seen[0].Answer == tc.answer && seen[0].Rule == "deny execute:*" && seen[0].By == "rules" && seen[0].Kind != "" && seen[0].Text != "", "got %+v", seen)
			check.Contains(t, "transcript", "not on my watch", b.transcript.String())
		})
	}
}

// Whoever decides can have a call of ours done otherwise, or answer it, and what came of it can be replaced. Nothing
// gets further by that than the agent would have.
func TestCallsThatAreDoneOtherwise(t *testing.T) {
	t.Parallel()
	text := func(s string) *string { return &s }
	for name, tc := range map[string]struct {
		step   step
		with   map[string]any
		result *string
		after  func(toolcall.Call, string, bool) *string
		asked  string // the subject of the call that is done
		want   []string
		files  map[string]string // "" means that there is none
	}{
		"a write elsewhere":   {step: step{Do: "write", Path: "a.txt", Text: "x"}, with: map[string]any{"path": "sub/b.txt"}, asked: "sub/b.txt", want: []string{"{}"}, files: map[string]string{"a.txt": "", "sub/b.txt": "x"}},
		"other content":       {step: step{Do: "write", Path: "a.txt", Text: "x"}, with: map[string]any{"content": "y"}, asked: "a.txt", files: map[string]string{"a.txt": "y"}},
		"a write is answered": {step: step{Do: "write", Path: "a.txt", Text: "x"}, result: text("done"), want: []string{"{}"}, files: map[string]string{"a.txt": ""}},
		"protected":           {step: step{Do: "write", Path: "a.txt", Text: "x"}, with: map[string]any{"path": ".ralph/permissions.toml"}, asked: ".ralph/permissions.toml", want: []string{"protected by ralph"}, files: map[string]string{".ralph/permissions.toml": ""}},
		"outside":             {step: step{Do: "write", Path: "a.txt", Text: "x"}, with: map[string]any{"path": "../x.txt"}, asked: "x.txt", want: []string{"outside the project"}, files: map[string]string{"../x.txt": ""}},
		"behind a link":       {step: step{Do: "write", Path: "a.txt", Text: "x"}, with: map[string]any{"path": "link"}, asked: ".env, link", files: map[string]string{".env": "x"}},
		"another file":        {step: step{Do: "read", Path: "secret.txt"}, with: map[string]any{"path": "open.txt", "line": 2}, asked: "open.txt", want: []string{`{"content":"two\n"}`}},
		"a read is answered":  {step: step{Do: "read", Path: "secret.txt"}, result: text("nothing"), want: []string{`{"content":"nothing"}`}},
		"another command":     {step: step{Do: "terminal", Argv: []string{"touch", "a.txt"}}, with: map[string]any{"command": "echo", "args": []any{"-n", "a b"}}, asked: "echo -n 'a b'", want: []string{`"output":"a b"`}, files: map[string]string{"a.txt": ""}},
		"another folder":      {step: step{Do: "terminal", Argv: []string{"pwd"}, Path: "sub"}, with: map[string]any{"cwd": "/"}, asked: "pwd", want: []string{"outside the project"}},
		"no folder":           {step: step{Do: "terminal", Argv: []string{"sh", "-c", "test -e open.txt && echo top"}, Path: "sub"}, with: map[string]any{"cwd": nil}, asked: "sh -c 'test -e open.txt && echo top'", want: []string{`"output":"top\n"`}},
		"a terminal answered": {step: step{Do: "terminal", Argv: []string{"touch", "a.txt"}}, result: text("$(touch a.txt) 'x'"), want: []string{`"output":"$(touch a.txt) 'x'"`, `"exitCode":0`}, files: map[string]string{"a.txt": ""}},
		"what was read": {step: step{Do: "read", Path: "secret.txt"}, asked: "secret.txt", want: []string{`{"content":"read: one\n false"}`}, after: func(c toolcall.Call, result string, failed bool) *string {
			return text(fmt.Sprint(c.Kind, ": ", result, " ", failed))
		}},
		"what was printed": {step: step{Do: "terminal", Argv: []string{"sh", "-c", "echo x; exit 3"}}, asked: "sh -c 'echo x; exit 3'", want: []string{`"exitCode":3`, `"output":"terminal: x\n true","truncated":false`}, after: func(c toolcall.Call, result string, failed bool) *string {
			return text(fmt.Sprint(c.Kind, ": ", result, " ", failed))
		}},
		"nothing was written": {step: step{Do: "write", Path: "a.txt", Text: "x"}, asked: "a.txt", want: []string{"{}"}, files: map[string]string{"a.txt": "x"}, after: func(c toolcall.Call, _ string, _ bool) *string {
			return text(c.Kind)
		}},
		"left alone": {step: step{Do: "read", Path: "secret.txt"}, asked: "secret.txt", want: []string{`{"content":"one\n"}`}, after: func(toolcall.Call, string, bool) *string { return nil }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, say(tc.step))
			check.OK(t, os.Mkdir(filepath.Join(b.cfg.Dir, "sub"), 0o755))
			check.OK(t, os.Symlink(".env", filepath.Join(b.cfg.Dir, "link")))
			check.OK(t, os.WriteFile(filepath.Join(b.cfg.Dir, "secret.txt"), []byte("one\n"), 0o600))
			check.OK(t, os.WriteFile(filepath.Join(b.cfg.Dir, "open.txt"), []byte("one\ntwo\n"), 0o600))
			b.cfg.Decide = func(_ context.Context, c toolcall.Call) Decision {
				d := Decision{Allow: true, Rule: "hook", Result: tc.result}
				if tc.with != nil {
					made, err := c.With(tc.with)
					check.OK(t, err)
					d.Instead = &made
				}
				return d
			}
			if tc.after != nil {
				b.cfg.After = func(_ context.Context, c toolcall.Call, result string, failed bool) *string {
					return tc.after(c, result, failed)
				}
			}
			var seen []Permission
			b.cfg.Observe = func(e Event) {
				if p, ok := e.(Permission); ok {
					seen = append(seen, p)
				}
			}
			b.must(t)
			answers := strings.Join(slices.Collect(maps.Values(b.results(t))), "\n")
			for _, want := range tc.want {
				check.Contains(t, "answers", want, answers)
			}
			check.That(t, len(seen) == 1 && strings.HasSuffix(seen[0].Text, tc.asked) && seen[0].Instead == nil && seen[0].Result == nil, "got %+v", seen)
			for path, want := range tc.files {
				got, err := os.ReadFile(filepath.Join(b.cfg.Dir, path))
				check.That(t, string(got) == want && (want != "" || os.IsNotExist(err)), "%s: got %q, %v", path, got, err)
			}
		})
	}
}

// Input that a request cannot be made of is refused before anything is done.
func TestInputThatMakesNoCall(t *testing.T) {
	t.Parallel()
	b := newBench(t, say(step{Do: "write", Path: "a.txt", Text: "x"}, step{Do: "terminal", Argv: []string{"echo"}}))
	b.cfg.Decide = func(_ context.Context, c toolcall.Call) Decision {
		for _, input := range []map[string]any{{"content": nil}, {"content": 7}, {"path": []any{}}, {"command": 7}} {
			if made, err := c.With(input); err == nil && len(input) == len(made.Input) {
				t.Errorf("%s: %v made %+v", c.Kind, input, made)
			}
		}
		return Decision{Allow: true}
	}
	b.must(t)
}

// Without anybody who decides, an answer is what it always was.
func TestNobodyDecides(t *testing.T) {
	t.Parallel()
	b := newBench(t, say(step{Do: "permission", Text: "git push", Kind: "execute", Params: []byte(`7`), Options: options(every...)}))
	var seen []Event
	b.cfg.Observe = func(e Event) {
		if p, ok := e.(Permission); ok {
			seen = append(seen, p)
		}
	}
	b.must(t)
	check.Equal(t, "events", []Event{Permission{Title: "git push", Answer: "allow_once"}}, seen)
	var answer map[string]json.RawMessage
	check.OK(t, json.Unmarshal([]byte(b.results(t)["permission"]), &answer))
	check.That(t, len(answer) == 1, "got %v, want only an outcome", answer)
}

// A decision may take as long as a person takes: the agent is not idle meanwhile. A turn that is cancelled answers what
// still waits, and nothing is done by a decision that was cut off.
func TestDecisionsThatWait(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		step   step
		answer string
	}{
		"a permission": {step{Do: "permission", Text: "git push", Kind: "execute", Options: options(every...)}, `"outcome":"cancelled"`},
		"a file":       {step{Do: "write", Path: "x.txt", Text: "x"}, "the turn was cancelled"},
		"a terminal":   {step{Do: "terminal", Argv: []string{"touch", "x.txt"}}, "the turn was cancelled"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, say(tc.step))
			ctx, cancel := context.WithCancel(t.Context())
			waited := make(chan struct{})
			var s *Session
			b.cfg.Decide = func(ctx context.Context, _ toolcall.Call) Decision {
				defer close(waited)
				if before := s.activity(); s.activity() == before {
					t.Error("an agent that waits for a decision counts as idle")
				}
				cancel()
				<-ctx.Done()
				return Decision{Allow: true}
			}
			s = b.start(t)
			if before := s.activity(); s.activity() != before {
				t.Error("an agent that waits for nothing is never idle")
			}
			_, err := s.Prompt(ctx, "Work.")
			<-waited
			check.That(t, err != nil, "the turn was not cancelled")
			check.Contains(t, "answers", tc.answer, strings.Join(slices.Collect(maps.Values(b.results(t))), "\n"))
			_, err = os.Stat(filepath.Join(b.cfg.Dir, "x.txt"))
			check.That(t, os.IsNotExist(err), "it was done: %v", err)
		})
	}
}

// Of a flood, as many wait as there are places; the others are told.
func TestTooManyDecisions(t *testing.T) {
	t.Parallel()
	b := newBench(t, say())
	s := b.start(t)
	var mu sync.Mutex
	waiting, release := 0, make(chan struct{})
	full := make(chan struct{})
	s.cfg.Decide = func(context.Context, toolcall.Call) Decision {
		mu.Lock()
		if waiting++; waiting == maxDeciding {
			close(full)
		}
		mu.Unlock()
		<-release
		return Decision{Allow: true}
	}
	var all sync.WaitGroup
	for range maxDeciding {
		s.intake.slots <- struct{}{}
		all.Go(func() {
			d, _ := s.decide(t.Context(), toolcall.Call{})
			check.That(t, d.Allow, "got %+v", d)
		})
	}
	<-full
	s.intake.slots <- struct{}{}
	d, _ := s.decide(t.Context(), toolcall.Call{})
	check.That(t, !d.Allow && strings.Contains(d.Reason, "more than 32 calls"), "got %+v", d)
	close(release)
	all.Wait()
}
