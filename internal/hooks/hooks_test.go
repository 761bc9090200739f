package hooks

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"ralph/internal/permission"
	"ralph/internal/proc"
	"ralph/internal/redact"
	"ralph/internal/testing/check"
	"ralph/internal/toolcall"
)

func TestMain(m *testing.M) {
	proc.RunHelper(nil)
	// The race detector holds every exiting process for a second otherwise.
	os.Setenv("GORACE", "atexit_sleep_ms=0")
	goleak.VerifyTestMain(m)
}

var at = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func problems(out Outcome) string { return strings.Join(out.Problems, "\n") }

func setIn(t *testing.T, dir string, list ...Hook) *Set {
	t.Helper()
	set, err := New(Options{
		Hooks: list, Dir: dir, Env: []string{"PATH=" + os.Getenv("PATH")}, Now: func() time.Time { return at }, Redact: redact.New("s3cr3t-value"),
	})
	check.OK(t, err)
	return set
}

// aCall is one of ralph's own, whose paths are in its input.
func aCall(kind string, input map[string]any) *Tool {
	t := &Tool{Call: toolcall.Call{Kind: kind, Input: input, With: func(more map[string]any) (toolcall.Call, error) {
		if more["path"] == "bad" {
			return toolcall.Call{}, errors.New("no such file can be")
		}
		merged := maps.Clone(input)
		maps.Copy(merged, more)
		return aCall(kind, merged).Call, nil
	}}}
	if path, ok := input["path"].(string); ok {
		t.Paths = []string{path}
	}
	return t
}

// Hooks on tool calls see what those before them made of a call, and none sees a secret.
func TestHooksReplaceCallsOneAfterTheOther(t *testing.T) {
	t.Parallel()
	before := func(match, run string) Hook { return Hook{On: ToolBefore, Match: match, Run: run} }
	own, agents := aCall("write", map[string]any{"path": "a.txt", "content": "s3cr3t-value"}), &Tool{Call: toolcall.Call{Kind: "execute", Command: "ls"}}
	elsewhere := before("write:a.txt", `echo '{"replace":{"path":"b.txt"}}'`)
	for name, tc := range map[string]struct {
		hooks []Hook
		tool  *Tool
		want  map[string]any // the input of the call
		says  string         // the reason, or a problem
	}{
		"one":                  {[]Hook{elsewhere}, own, map[string]any{"path": "b.txt", "content": "s3cr3t-value"}, ""},
		"the next matches":     {[]Hook{elsewhere, before("write:b.txt", `echo '{"replace":{"path":"c.txt"}}'`)}, own, map[string]any{"path": "c.txt", "content": "s3cr3t-value"}, ""},
		"the next denies":      {[]Hook{elsewhere, before("write:b.txt", "echo not there >&2; exit 2")}, own, map[string]any{"path": "b.txt", "content": "s3cr3t-value"}, "not there"},
		"no longer":            {[]Hook{elsewhere, before("write:a.txt", "exit 2")}, own, map[string]any{"path": "b.txt", "content": "s3cr3t-value"}, ""},
		"secrets":              {[]Hook{elsewhere, before("", "! grep -q s3cr3t || exit 2")}, own, map[string]any{"path": "b.txt", "content": "s3cr3t-value"}, ""},
		"no call":              {[]Hook{before("", `echo '{"replace":{"path":"bad"}}'`)}, own, nil, "the call cannot be made with what it replaces: no such file can be"},
		"a text":               {[]Hook{before("", `echo '{"replace":"x"}'`)}, own, nil, "print an object with the fields that change"},
		"an agent's own":       {[]Hook{before("", `echo '{"replace":{}}'`)}, agents, nil, "the agent makes this call itself"},
		"an agent's own, must": {[]Hook{{On: ToolBefore, Must: true, Run: `echo '{"result":""}'`}}, agents, nil, "the agent makes this call itself"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out := setIn(t, t.TempDir(), tc.hooks...).Run(t.Context(), Payload{Point: ToolBefore, Tool: tc.tool})
			var got map[string]any
			if out.Call != nil {
				got = out.Call.Input
			}
			check.Equal(t, "input", tc.want, got)
			check.Contains(t, "what it says", tc.says, out.Reason+problems(out))
			check.Equal(t, "silent", tc.says == "", out.Reason+problems(out) == "")
		})
	}
}

// TestAHookMayDoWhatItsPointAllows tries every answer at every point: what the table does not
// allow is reported and has no effect.
func TestAHookMayDoWhatItsPointAllows(t *testing.T) {
	t.Parallel()
	answers := map[string]struct {
		run   string
		needs []Ability
		took  func(Outcome) bool
	}{
		"exit status 2":    {"echo no >&2; exit 2", []Ability{Block}, func(o Outcome) bool { return o.Blocked() && o.Reason == "no" }},
		"deny":             {`echo '{"decision":"deny","reason":"no"}'`, []Ability{Block, Decide}, func(o Outcome) bool { return o.Blocked() && o.Reason == "no" }},
		"ask":              {`echo '{"decision":"ask"}'`, []Ability{Decide}, func(o Outcome) bool { return o.Decision == permission.Ask }},
		"inject":           {`echo '{"inject":"more"}'`, []Ability{Inject}, func(o Outcome) bool { return o.Inject == "more" }},
		"replace":          {`case $RALPH_HOOK in tool.before) echo '{"replace":{}}';; *) echo '{"replace":""}';; esac`, []Ability{Replace}, func(o Outcome) bool { return o.Call != nil || o.Replace != nil && *o.Replace == "" }},
		"result":           {`echo '{"result":"x"}'`, []Ability{Result}, func(o Outcome) bool { return o.Result != nil && *o.Result == "x" }},
		"model":            {`echo '{"model":"opus"}'`, []Ability{Model}, func(o Outcome) bool { return o.Model == "opus" }},
		"finding":          {`echo '{"finding":"a key"}'`, []Ability{Finding}, func(o Outcome) bool { return len(o.Findings) == 1 }},
		"select knowledge": {`echo '{"knowledge":[]}'`, []Ability{Select}, func(o Outcome) bool { return o.Knowledge != nil }},
	}
	for name, tc := range answers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, s := range points() {
				w := setIn(t, t.TempDir(), Hook{On: s.point, Run: tc.run})
				out := w.Run(t.Context(), Payload{Point: s.point, Tool: aCall("write", map[string]any{})})
				may := false
				for _, a := range tc.needs {
					may = may || s.allows(a)
				}
				check.Equal(t, string(s.point)+" took it", may, tc.took(out))
				check.Equal(t, string(s.point)+" reported it", !may, strings.Contains(problems(out), "but a hook on "+string(s.point)))
			}
		})
	}
}

func TestHooksThatGoWrong(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ run, want string }{
		"another status":           {"echo no route >&2; echo more >&2; exit 3", "exit status 3: no route"},
		"never ends":               {"trap '' TERM INT; sleep 1000 & wait; sleep 1000", "still running after 200ms"},
		"killed":                   {"kill -9 $$", "signal"},
		"no such command":          {"./missing.sh", "exit status 127"},
		"an unknown field":         {`echo '{"verdict":"deny"}'`, `unknown field "verdict"; the fields are decision, reason, inject`},
		"a wrong type":             {`echo '{"inject":7}'`, "cannot unmarshal number"},
		"half an answer":           {`echo '{"inject":'`, "its answer cannot be read"},
		"two answers":              {`echo '{}{}'`, "print one JSON object"},
		"an unknown decision":      {`echo '{"decision":"perhaps"}'`, `it decides "perhaps", which is neither allow, deny nor ask`},
		"too long an answer":       {`printf '{"inject":"'; head -c 100000 /dev/zero | tr '\0' x; printf '"}'`, "its answer is longer than 64 KiB"},
		"its words stay to itself": {"echo s3cr3t-value >&2; exit 1", "exit status 1: [redacted]"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			timeout := time.Minute
			if strings.Contains(tc.want, "200ms") {
				timeout = 200 * time.Millisecond
			}
			h := Hook{On: TaskBefore, Run: tc.run, Timeout: timeout}
			out := setIn(t, t.TempDir(), h).Run(t.Context(), Payload{Point: TaskBefore})
			check.Equal(t, "outcome", Outcome{Problems: out.Problems}, out)
			check.Contains(t, "report", "on task.before: ", problems(out))
			check.Contains(t, "report", tc.want, problems(out))

			h.Must = true // then it blocks, and whoever it blocks says so
			out = setIn(t, t.TempDir(), h).Run(t.Context(), Payload{Point: TaskBefore})
			check.That(t, out.Blocked(), "got %+v", out)
			check.Contains(t, "refusal", tc.want, out.Refusal())
			check.Contains(t, "refusal", "and it must succeed", out.Refusal())
			check.Equal(t, "problems", "", problems(out))
		})
	}
}

func TestAHookThatFloodsNeitherBlocksNorFillsMemory(t *testing.T) { // alone, because memory is counted
	w := setIn(t, t.TempDir(), Hook{On: TaskBefore, Timeout: time.Minute, Run: "head -c 100000000 /dev/zero; head -c 100000000 /dev/zero >&2; exit 2"})
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	out := w.Run(t.Context(), Payload{Point: TaskBefore})
	runtime.ReadMemStats(&after)
	check.That(t, out.Blocked() && len(out.Reason) <= maxOutput, "got %d bytes", len(out.Reason))
	check.That(t, after.TotalAlloc-before.TotalAlloc < 20<<20, "it took %d bytes", after.TotalAlloc-before.TotalAlloc)
}

func TestAHookGetsItsPayloadAndNoSecrets(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	w := setIn(t, dir, Hook{On: ToolBefore, Run: `cat > in.json; printf '%s|%s|%s|%s' "$RALPH_HOOK" "$RALPH_HOOK_TASK" "$RALPH_HOOK_DIR" "$RALPH_HOOK_TEXT" > env; pwd > where`})
	w.Run(t.Context(), Payload{Point: ToolBefore, Task: "t-1", Dir: "/slot", Tool: &Tool{Call: toolcall.Call{Kind: "execute", Command: "curl -H s3cr3t-value"}}})
	data, err := os.ReadFile(filepath.Join(dir, "in.json"))
	check.OK(t, err)
	var got Payload
	check.OK(t, json.Unmarshal(data, &got))
	check.Equal(t, "payload", Payload{
		V: 1, Point: ToolBefore, At: at, Project: dir, Task: "t-1", Dir: "/slot", Tool: &Tool{Call: toolcall.Call{Kind: "execute", Command: "curl -H [redacted]"}},
	}, got)
	env, _ := os.ReadFile(filepath.Join(dir, "env"))
	check.Equal(t, "environment", "tool.before|t-1|/slot|curl -H [redacted]", string(env))
}

func TestSeveralHooksOfOnePoint(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	w := setIn(
		t, dir,
		Hook{On: PromptBefore, Run: `echo '{"replace":"one","inject":"a"}'`},
		Hook{On: PromptBefore, Run: `grep -q '"prompt":"one"' && echo '{"replace":"two","inject":"b"}'`},
		Hook{On: ToolBefore, Match: "execute:git push*", Run: `echo '{"decision":"ask"}'`},
		Hook{On: ToolBefore, Run: `echo '{"decision":"allow"}'`},
		Hook{On: ToolBefore, Match: "execute:git push --force*", Run: "exit 2"},
		Hook{On: ToolBefore, Run: "touch late"},
	)
	out := w.Run(t.Context(), Payload{Point: PromptBefore, Prompt: "zero"})
	check.That(t, out.Replace != nil && *out.Replace == "two" && out.Inject == "a\n\nb", "got %+v", out)
	tool := func(text string) permission.Answer {
		return w.Run(t.Context(), Payload{Point: ToolBefore, Tool: &Tool{Call: toolcall.Call{Kind: "execute", Command: text}}}).Decision
	}
	check.Equal(t, "of no rule", permission.Allow, tool("go test"))
	check.OK(t, os.Remove(filepath.Join(dir, "late")))
	check.Equal(t, "one of several commands", permission.Ask, tool("cd sub && git push origin"))
	check.OK(t, os.Remove(filepath.Join(dir, "late")))
	check.Equal(t, "ask wins over allow", permission.Ask, tool("git push"))
	check.OK(t, os.Remove(filepath.Join(dir, "late")))
	check.Equal(t, "a block wins", permission.Deny, tool("git push --force"))
	_, err := os.Stat(filepath.Join(dir, "late"))
	check.That(t, errors.Is(err, os.ErrNotExist), "a hook ran after one that blocked")
}

// What an agent does to a file of the project that a hook executes keeps the hook from running.
func TestAHookWhoseFileChangedIsNotRun(t *testing.T) {
	t.Parallel()
	write := func(name string) func(dir string) error {
		return func(dir string) error {
			return errors.Join(os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700), os.WriteFile(filepath.Join(dir, name), []byte("touch "+dir+"/ran\n"), 0o700))
		}
	}
	for name, tc := range map[string]struct {
		run, file string
		change    func(dir string) error
	}{
		"changed": {"sh ./check.sh --strict", "check.sh", write("check.sh")},
		"deleted": {"./check.sh || true", "check.sh", func(dir string) error { return os.Remove(filepath.Join(dir, "check.sh")) }},
		"no file any more": {"sh check.sh", "check.sh", func(dir string) error {
			return errors.Join(os.Remove(filepath.Join(dir, "check.sh")), os.Mkdir(filepath.Join(dir, "check.sh"), 0o700))
		}},
		"a pipe": {"sh check.sh", "check.sh", func(dir string) error { // never read to its end, and neither is the next
			return errors.Join(os.Remove(filepath.Join(dir, "check.sh")), exec.Command("mkfifo", filepath.Join(dir, "check.sh")).Run())
		}},
		"a device": {"sh check.sh", "check.sh", func(dir string) error {
			return errors.Join(os.Remove(filepath.Join(dir, "check.sh")), os.Symlink("/dev/zero", filepath.Join(dir, "check.sh")))
		}},
		"new":                 {"test ! -x local.sh || ./local.sh", "local.sh", write("local.sh")},
		"new for a shell":     {"sh local.sh || true", "local.sh", write("local.sh")},
		"in a folder":         {"cd tools && ./check.sh", "tools/check.sh", write("tools/check.sh")},
		"in a folder below":   {"cd tools && cd more; sh -c './check.sh' || true", "tools/more/check.sh", write("tools/more/check.sh")},
		"in a shell's folder": {"sh -c 'cd tools; ./check.sh'", "tools/check.sh", write("tools/check.sh")},
		"in a new folder":     {"test ! -d new || cd new; ./check.sh", "new/check.sh", write("new/check.sh")},
		"left for a folder":   {"test ! -d new || cd new; ./check.sh", "check.sh", write("check.sh")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			check.OK(t, os.MkdirAll(filepath.Join(dir, "tools/more"), 0o700))
			for _, folder := range []string{"", "tools", "tools/more"} {
				check.OK(t, os.WriteFile(filepath.Join(dir, folder, "check.sh"), []byte("#!/bin/sh\nexit 0\n"), 0o700))
			}
			w := setIn(t, dir, Hook{On: RunBefore, Run: tc.run, Must: true})
			check.Equal(t, "outcome", Outcome{}, w.Run(t.Context(), Payload{Point: RunBefore}))
			check.OK(t, tc.change(dir))
			out := w.Run(t.Context(), Payload{Point: RunBefore})
			check.Contains(t, "reason", tc.file+" has changed since the run began", out.Reason)
			_, err := os.Stat(filepath.Join(dir, "ran"))
			check.That(t, errors.Is(err, os.ErrNotExist), "the changed file ran")
		})
	}
}

func TestWhatAHookExecutes(t *testing.T) {
	t.Parallel()
	const dir = "/project"
	for line, want := range map[string][]string{
		"./check.sh data.txt":                               {"check.sh"},
		"sh -e check.sh data.txt >> out.txt":                {"check.sh"},
		"cat data.txt | A=1 python3 -u ./lib.py":            {"lib.py"},
		"test -e data.txt && " + dir + "/check.sh":          {"check.sh"},
		"env A=b sh check.sh; if true; then . ./lib.py; fi": {"check.sh", "lib.py"},
		`sh "./check.sh" && ./'li'b.py`:                     {"check.sh", "lib.py"},
		`'./check.sh' data.txt; "./lib.py"`:                 {"check.sh", "lib.py"},
		"sh -ec './check.sh; sh lib.py' data.txt":           {"check.sh", "lib.py"},
		"bash -euo pipefail check.sh data.txt":              {"check.sh"},
		"bash -euo pipefail -c ./check.sh":                  {"check.sh"},
		"cd tools && ./check.sh data.txt":                   {"check.sh", "tools/check.sh"},
		"(cd tools && make) && cd ../lib && sh lib.py":      {"lib.py", "lib/lib.py", "tools/lib.py"},
		"cd " + dir + "/tools; ../check.sh":                 {"check.sh"},
		`cd "$X" || cd; cd -; ./check.sh`:                   {"check.sh"},
		"make; env make; exec make":                         {}, // programs of the system
		`sh "$FILE" data.txt; sh -c "$FILE"; "" data.txt`:   {},
		"cat > out.txt":                                     {},
		"../elsewhere.sh":                                   {},
		"sh 'unfinished":                                    {},
	} {
		got := []string{}
		for path := range filesOf(dir, line) {
			name, err := filepath.Rel(dir, path)
			check.OK(t, err)
			got = append(got, name)
		}
		slices.Sort(got)
		check.Equal(t, line, want, got)
	}
}

func TestFilesOfHooksThatAreMissing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	check.OK(t, os.Mkdir(filepath.Join(dir, "tools"), 0o700))
	check.OK(t, os.WriteFile(filepath.Join(dir, "tools/check.sh"), nil, 0o600))
	for line, want := range map[string][]string{
		"cd tools && sh ./check.sh":  nil,
		"cd tools && ./check.sh":     {"./check.sh is not executable: chmod +x ./check.sh"},
		"cd tools && env ./check.sh": {"./check.sh is not executable: chmod +x ./check.sh"},
		"cd tools && sh ./other.sh":  {"./other.sh does not exist"},
		"make && sh tools/check.sh":  nil,
	} {
		check.Equal(t, line, want, Hook{Run: line}.Broken(dir))
	}
}

func TestAHookEndsWithWhoWaitsForIt(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	w := setIn(t, dir, Hook{On: TaskBefore, Must: true, Timeout: time.Hour, Run: "echo > begun; sleep 1000"})
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		for ctx.Err() == nil {
			if _, err := os.Stat(filepath.Join(dir, "begun")); err == nil {
				cancel()
			}
			runtime.Gosched()
		}
	}()
	check.Equal(t, "outcome", Outcome{}, w.Run(ctx, Payload{Point: TaskBefore}))
}

func TestASetWithoutHooksDoesNothing(t *testing.T) {
	t.Parallel()
	var none *Set
	check.That(t, !none.Has(RunBefore), "it has one")
	check.Equal(t, "outcome", Outcome{}, none.Run(t.Context(), Payload{Point: RunBefore}))
}

func TestHooksThatMakeNoSense(t *testing.T) {
	t.Parallel()
	for want, h := range map[string]Hook{
		"it has no point":                     {Run: "x"},
		`"tool.befor" is not one of run.befo`: {On: "tool.befor", Run: "x"},
		"it has nothing to run":               {On: RunBefore, Run: " "},
		"match is for tool calls":             {On: RunBefore, Run: "x", Match: "execute:x*"},
		"task.done cannot be blocked":         {On: TaskDone, Run: "x", Must: true},
		`match: "execute" has no kind`:        {On: ToolBefore, Run: "x", Match: "execute"},
	} {
		_, err := New(Options{Hooks: []Hook{h}})
		check.Err(t, "new", want, err)
	}
}
