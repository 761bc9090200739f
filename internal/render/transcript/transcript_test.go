package transcript

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode"

	"pgregory.net/rapid"

	"ralph/internal/event"
	"ralph/internal/testing/check"
	"ralph/internal/testing/golden"
	_ "ralph/internal/testing/seeded"
	"ralph/internal/toolcall"
)

var start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// files is a run's folder that a test writes like a run does.
type files struct {
	t   *testing.T
	dir string
	at  time.Time
}

func newFiles(t *testing.T) *files { return &files{t: t, dir: t.TempDir(), at: start} }

func (f *files) append(name string, v any) {
	f.t.Helper()
	path := filepath.Join(f.dir, name)
	check.OK(f.t, os.MkdirAll(filepath.Dir(path), 0o700))
	line, err := json.Marshal(v)
	check.OK(f.t, err)
	check.OK(f.t, grow(path, append(line, '\n')))
	f.at = f.at.Add(time.Second)
}

func (f *files) event(e event.Event) {
	f.t.Helper()
	e.At, e.Run = f.at, "r-1"
	f.append("events.jsonl", e)
}

func (f *files) wire(attempt, dir, msg string) {
	f.t.Helper()
	f.append(attempt+"/transcript.jsonl", map[string]any{"at": f.at, "dir": dir, "msg": json.RawMessage(msg)})
}

func (f *files) update(attempt, update string) {
	f.t.Helper()
	f.wire(attempt, "in", `{"method":"session/update","params":{"update":`+update+`}}`)
}

// conversation is one attempt in which everything happens.
func (f *files) conversation() {
	f.event(event.Event{Type: event.RunStarted, Setup: &event.Setup{Scope: "everything", Agent: "claude"}})
	f.event(event.Event{Type: event.TaskClaimed, Task: "t-1", Attempt: "a-1", Title: "Write the \x1b[31mparser", Iteration: 1, Agent: "claude", Model: "sonnet"})
	f.wire("a-1", "out", `{"id":1,"method":"session/prompt","params":{"prompt":[{"type":"text","text":"Do it.\nWell."}]}}`)
	f.update("a-1", `{"sessionUpdate":"agent_thought_chunk","content":{"text":"hm, "}}`)
	f.update("a-1", `{"sessionUpdate":"agent_thought_chunk","content":{"text":"a parser\n"}}`)
	f.update("a-1", `{"sessionUpdate":"plan","entries":[{"content":"read","status":"completed"},{"content":"write","status":"in_progress"}]}`)
	f.update("a-1", `{"sessionUpdate":"agent_message_chunk","content":{"text":"I will rea"}}`)
	f.update("a-1", `{"sessionUpdate":"agent_message_chunk","content":{"text":"d it.\nThen "}}`)
	f.update("a-1", `{"sessionUpdate":"tool_call","toolCallId":"c1","title":"Run the tests","kind":"execute","status":"pending","rawInput":{"command":"go test ./..."}}`)
	f.wire("a-1", "in", `{"id":"p1","method":"session/request_permission","params":{"toolCall":{"toolCallId":"c1"},"options":[]}}`)
	f.wire("a-1", "out", `{"id":"p1","result":{"outcome":{"outcome":"selected","optionId":"allow_once"}}}`)
	f.wire("a-1", "in", `{"id":7,"method":"terminal/output","params":{"terminalId":"term-1"}}`)
	f.wire("a-1", "out", `{"id":7,"result":{"output":"1\n2\n3\n4\n5\n6\n7\n8\n"}}`)
	f.update("a-1", `{"sessionUpdate":"tool_call_update","toolCallId":"c1","status":"in_progress"}`)
	f.update("a-1", `{"sessionUpdate":"tool_call_update","toolCallId":"c1","status":"failed","content":[{"type":"terminal","terminalId":"term-1"}]}`)
	f.update("a-1", `{"sessionUpdate":"tool_call","toolCallId":"c2","title":"Edit parser.go","kind":"edit","status":"completed","content":[{"type":"diff","path":"parser.go","newText":"x"}]}`)
	f.wire("a-1", "in", `{"id":9,"method":"fs/write_text_file","params":{"path":"notes.txt","content":"x"}}`)
	f.append("a-1/transcript.jsonl", map[string]any{"at": f.at, "dir": "in", "raw": "a banner of the agent"})
	f.update("a-1", `{"sessionUpdate":"something_new","content":{"text":"?"}}`)
	f.update("a-1", `{"sessionUpdate":"agent_message_chunk","content":{"text":"done"}}`)
	f.wire("a-1", "in", `{"id":1,"result":{"stopReason":"max_tokens"}}`)
	f.event(event.Event{Type: event.AgentText, Task: "t-1", Attempt: "a-1", Text: "the transcript has this"})
	f.event(event.Event{Type: event.GateEnded, Task: "t-1", Attempt: "a-1", Gate: &event.Gate{Command: "go vet", Passed: true}})
	f.event(event.Event{Type: event.GateEnded, Task: "t-1", Attempt: "a-1", Gate: &event.Gate{Command: "go test", Exit: "exit status 1"}})
	f.event(event.Event{Type: event.GateEnded, Task: "t-1", Attempt: "a-1", Reason: "before the work", Gate: &event.Gate{Command: "make", Exit: "exit status 2", Verdict: "failed"}})
	f.event(event.Event{Type: event.GateEnded, Task: "t-1", Attempt: "a-1", Gate: &event.Gate{Command: "make", Exit: "exit status 2", Verdict: "excused", Baseline: "red"}})
	f.event(event.Event{Type: event.GateEnded, Task: "t-1", Attempt: "a-1", Gate: &event.Gate{Command: "make e2e", Passed: true, Verdict: "flaky"}})
	f.event(event.Event{Type: event.VerifierEnded, Task: "t-1", Attempt: "a-1", Outcome: "fail", Reason: "no tests"})
	cost := 0.5
	f.event(event.Event{
		Type: event.AttemptEnded, Task: "t-1", Attempt: "a-1", Outcome: "retried", Status: "pending", Reason: "gate \"go test\": exit status 1\n--- FAIL: TestX",
		Duration: 80_250, Usage: &event.Usage{TokensIn: 100, TokensCached: 50, TokensOut: 7, CostUSD: &cost},
	})
	f.event(event.Event{Type: event.Warned, Text: "look at this"})
	f.event(event.Event{Type: event.RunEnded, Outcome: "agent_unavailable", Reason: "no", Duration: 1000})
}

func TestALogReadsLikeAConversation(t *testing.T) {
	t.Parallel()
	f := newFiles(t)
	f.conversation()
	for name, full := range map[string]bool{"short.txt": false, "full.txt": true} {
		var b bytes.Buffer
		p := &Printer{Out: &b, Full: full}
		f.read(&Reader{Emit: p.Print}, true)
		check.OK(t, p.Err())
		golden.Check(t, "testdata/"+name, b.String())
	}
}

// read polls once and expects the run to be over or not.
func (f *files) read(r *Reader, over bool) {
	f.t.Helper()
	r.Folder = f.dir
	got, err := r.Poll()
	check.OK(f.t, err)
	check.Equal(f.t, "the run is over", over, got)
}

// TestFollowingEmitsTheSame reads the files while they grow, after every byte or
// so: what is emitted is the same, in the same order, and nothing twice.
func TestFollowingEmitsTheSame(t *testing.T) {
	t.Parallel()
	whole := newFiles(t)
	whole.conversation()
	var want bytes.Buffer
	whole.read(&Reader{Emit: (&Printer{Out: &want, JSON: true}).Print}, true)
	parent, tries := t.TempDir(), 0
	rapid.Check(t, func(rt *rapid.T) {
		tries++
		dir := filepath.Join(parent, strconv.Itoa(tries))
		check.OK(rt, os.MkdirAll(filepath.Join(dir, "a-1"), 0o700))
		var got bytes.Buffer
		r := &Reader{Folder: dir, Emit: (&Printer{Out: &got, JSON: true}).Print}
		for _, name := range []string{"a-1/transcript.jsonl", "events.jsonl"} {
			data, err := os.ReadFile(filepath.Join(whole.dir, name))
			check.OK(rt, err)
			for len(data) > 0 {
				n := min(rapid.IntRange(1, 900).Draw(rt, "piece"), len(data))
				check.OK(rt, grow(filepath.Join(dir, name), data[:n]))
				data = data[n:]
				_, err := r.Poll()
				check.OK(rt, err)
			}
		}
		check.Equal(rt, "what is emitted", want.String(), got.String())
	})
}

func grow(path string, data []byte) error {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = f.Write(data)
	return err
}

func TestOnlyWhatIsWantedIsEmitted(t *testing.T) {
	t.Parallel()
	f := newFiles(t)
	f.conversation()
	var kinds []Kind
	f.read(&Reader{Emit: func(l Line) { kinds = append(kinds, l.Kind) }, Brief: func(string) bool { return true }}, true)
	check.Equal(t, "an attempt that has ended, in brief", []Kind{Began, Claimed, Ended, Warning, Over}, kinds)
	f.read(&Reader{Task: "t-2", Emit: func(l Line) { t.Errorf("emitted of another task: %+v", l) }}, true)
	missing := &Reader{}
	newFiles(t).read(missing, false)
	check.That(t, missing.Missing(), "a run without files is not missing")
}

func TestALineThatIsTooLongIsSkipped(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "f")
	check.OK(t, os.WriteFile(path, []byte("a\n"+strings.Repeat("x", maxLine+10)+"\nb\nnot whole"), 0o600))
	var got []string
	tail := &tail{path: path}
	check.OK(t, tail.poll(func(l []byte) { got = append(got, string(l)) }))
	check.Equal(t, "result", []string{"a", "b"}, got)
}

// FuzzALineNeverBreaksTheLog feeds lines that are anything.
func FuzzALineNeverBreaksTheLog(f *testing.F) {
	f.Add([]byte(`{"dir":"in","msg":{"method":"session/update","params":{"update":{"sessionUpdate":"tool_call","toolCallId":"x","content":[null]}}}}`))
	f.Add([]byte(`{"dir":"out","msg":{"id":1,"result":null}}`))
	f.Add([]byte(`{"raw":"\u001b[31m\u202e"}`))
	f.Add([]byte(`{"dir":"in","msg":{"id":{},"error":{"message":"\u0000"}}}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		var b bytes.Buffer
		p := &Printer{Out: &b, Full: true}
		p.Print(new(decoder).line(line))
		for _, c := range b.String() {
			if c != '\n' && (unicode.IsControl(c) || unicode.Is(unicode.Bidi_Control, c)) {
				t.Fatalf("%q prints %U", line, c)
			}
		}
	})
}

func TestFollowingAnAttemptEmitsWhatIsNewAndWhatIsBeingSaid(t *testing.T) {
	t.Parallel()
	f := newFiles(t)
	var got []string
	a := &Attempt{Path: filepath.Join(f.dir, "a-1", "transcript.jsonl"), Emit: func(l Line) { got = append(got, string(l.Kind)+": "+l.Text) }}
	poll := func() {
		t.Helper()
		left, err := a.Poll()
		check.OK(t, err)
		check.That(t, left == 0, "left out %d bytes", left)
	}
	poll() // there is no file yet
	f.update("a-1", `{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"I will\nlo"}}`)
	poll()
	check.That(t, a.Unfinished() == "lo", "got %q, want what is being said", a.Unfinished())
	f.update("a-1", `{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"ok.\n"}}`)
	poll()
	poll()
	check.Equal(t, "result", []string{"said: I will\n", "said: look.\n"}, got)
}

// TestAFloodIsFollowedByItsNewestPart: 200,000 updates, written as fast as a file
// takes them, while somebody looks. What is emitted at a time has a bound, and so has
// what is kept; the end is always emitted.
func TestAFloodIsFollowedByItsNewestPart(t *testing.T) {
	t.Parallel()
	const updates = 200_000
	path := filepath.Join(t.TempDir(), "transcript.jsonl")
	wrote := make(chan error, 1)
	go func() { wrote <- flood(path, updates) }()
	emitted, last := 0, ""
	a := &Attempt{Path: path, Emit: func(l Line) { emitted += len(l.Text); last = l.Text }}
	var left int64
	for over := false; ; {
		before := emitted
		n, err := a.Poll()
		check.OK(t, err)
		left += n
		if emitted-before > 2*firstLook+maxLine || len(a.join.text) > 2*longSpeech {
			t.Fatalf("emitted %d bytes at once and kept %d", emitted-before, len(a.join.text))
		}
		if over {
			break
		}
		select {
		case err := <-wrote:
			check.OK(t, err)
			over = true
		default:
		}
	}
	check.That(t, strings.Contains(last+a.Unfinished(), fmt.Sprintf("word %d", updates-1)), "the end is not emitted: %.100q", last)
	check.That(t, left != 0, "nothing was left out: this was no flood")
	var mem runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&mem)
	check.That(t, mem.HeapAlloc <= 64<<20, "%d MiB are kept", mem.HeapAlloc>>20)
	runtime.KeepAlive(a)
}

// flood writes a transcript in which a line of speech never ends.
func flood(path string, updates int) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer f.Close()
	w := bufio.NewWriter(f)
	for i := range updates {
		fmt.Fprintf(w, `{"at":"2026-01-02T03:04:05Z","dir":"in","msg":{"method":"session/update","params":{"update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"word %d "}}}}}`+"\n", i)
	}
	return w.Flush()
}

func TestEventsLeaveOutWhatAgentsSay(t *testing.T) {
	t.Parallel()
	f := newFiles(t)
	f.event(event.Event{Type: event.AgentText, Text: "hello"})
	f.event(event.Event{Type: event.GateStarted, Gate: &event.Gate{Command: "go test"}})
	var got []event.Type
	e := &Events{Path: filepath.Join(f.dir, "events.jsonl"), Emit: func(e event.Event) { got = append(got, e.Type) }}
	check.OK(t, e.Poll())
	f.event(event.Event{Type: event.Warned, Text: "look"})
	check.OK(t, e.Poll())
	check.Equal(t, "result", []event.Type{event.GateStarted, event.Warned}, got)
}

// What was begun in an attempt, and what of it was under way when the transcript ends.
func TestCalls(t *testing.T) {
	t.Parallel()
	const (
		session = `{"dir":"out","msg":{"id":2,"method":"session/new","params":{"cwd":"/work"}}}`
		prompt  = `{"dir":"out","msg":{"id":3,"method":"session/prompt","params":{}}}`
		ended   = `{"dir":"in","msg":{"id":3,"result":{"stopReason":"end_turn"}}}`
		ask     = `{"dir":"in","msg":{"id":7,"method":"session/request_permission","params":{"toolCall":{"toolCallId":"a"},"options":[{"optionId":"y","kind":"allow_once"},{"optionId":"n","kind":"reject_once"}]}}}`
	)
	update := func(what, fields string) string {
		return `{"dir":"in","msg":{"method":"session/update","params":{"update":{"sessionUpdate":"` + what + `","toolCallId":"a",` + fields + `}}}}`
	}
	answer := func(option string) string {
		return `{"dir":"out","msg":{"id":7,"result":{"outcome":{"outcome":"selected","optionId":"` + option + `"}}}}`
	}
	make := update("tool_call", `"title":"Build","kind":"execute","rawInput":{"command":"make"}`)
	made := func(c toolcall.Call) Call { return Call{Call: c} }
	under := made(toolcall.Call{Kind: "execute", Text: "Build", Command: "make"})
	over := Call{Call: under.Call, Over: true}
	for name, tc := range map[string]struct {
		lines []string
		want  []Call
	}{
		"nothing":             {nil, []Call{}},
		"under way":           {[]string{make}, []Call{under}},
		"reported later":      {[]string{update("tool_call", `"title":"x"`), update("tool_call_update", `"title":"Build","kind":"execute","rawInput":{"command":"make"}`)}, []Call{under}},
		"completed":           {[]string{make, update("tool_call_update", `"status":"completed"`)}, []Call{over}},
		"failed":              {[]string{make, update("tool_call_update", `"status":"failed"`)}, []Call{over}},
		"its turn ended":      {[]string{make, ended}, []Call{over}},
		"the next turn":       {[]string{make, ended, prompt, make}, []Call{over, under}},
		"half a line":         {[]string{make, `{"dir":"in","msg":{"method":"session/upd`}, []Call{under}},
		"no JSON":             {[]string{`"tool_call`, `[]`, `7`, make}, []Call{under}},
		"waits":               {[]string{make, ask}, []Call{}},
		"allowed":             {[]string{make, ask, answer("y")}, []Call{under}},
		"refused":             {[]string{make, ask, answer("n")}, []Call{}},
		"files":               {[]string{update("tool_call", `"kind":"delete","locations":[{"path":"/work/a/b"},{"path":"/etc/x"}]`)}, []Call{made(toolcall.Call{Kind: "delete", Paths: []string{"/etc/x", "a/b"}})}},
		"a file in the input": {[]string{update("tool_call", `"kind":"delete","rawInput":{"file_path":"/work/a/b"}`)}, []Call{made(toolcall.Call{Kind: "delete", Paths: []string{"a/b"}})}},
		"replayed sessions":   {[]string{ended, make}, []Call{}},
	} {
		path := filepath.Join(t.TempDir(), "transcript.jsonl")
		text := strings.Join(append([]string{session, prompt}, tc.lines...), "\n")
		check.OK(t, os.WriteFile(path, []byte(text+"\n"), 0o600))
		got, err := Calls(path)
		check.OK(t, err)
		check.Equal(t, name, tc.want, got)
	}
	got, err := Calls(filepath.Join(t.TempDir(), "missing"))
	check.That(t, len(got) == 0 && err == nil, "got %v, %v", got, err)
}

// What people see of a tool's input is what rules compare, or else what it looks for.
func TestTheInputOfATool(t *testing.T) {
	t.Parallel()
	for update, want := range map[string]string{
		`"kind":"execute","rawInput":{"command":["bash","-lc","go test"]}`:        "bash -lc 'go test'",
		`"kind":"edit","rawInput":{"command":"str_replace","path":"a.go"}`:        "a.go",
		`"kind":"search","rawInput":{"pattern":"TODO","path":"src"}`:              "src",
		`"kind":"search","rawInput":{"pattern":"TODO"}`:                           "TODO",
		`"kind":"fetch","title":"Fetch","rawInput":{"url":"https://example.com"}`: "https://example.com",
		`"kind":"other","rawInput":{"script":"make","command":"x"}`:               "make",
		`"kind":"other","title":"Think","rawInput":[1],"locations":7`:             "",
	} {
		var d decoder
		l := d.line([]byte(`{"dir":"in","msg":{"method":"session/update","params":{"update":{"sessionUpdate":"tool_call","toolCallId":"a",` + update + `}}}}`))
		check.That(t, l.Tool != nil && l.Tool.Input == want, "%s: got %+v, want %q", update, l.Tool, want)
	}
}
