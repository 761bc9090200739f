package modelagent

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
)

// recorder keeps what it is asked and answers with a stream, after what refuse says in its place.
type recorder struct {
	stream string
	refuse func(body map[string]any) (text string)
	seen   []map[string]any
}

func (r *recorder) ServeHTTP(w http.ResponseWriter, hr *http.Request) {
	raw, _ := io.ReadAll(hr.Body)
	var body map[string]any
	_ = json.Unmarshal(raw, &body)
	r.seen = append(r.seen, body)
	if r.refuse != nil {
		if text := r.refuse(body); text != "" {
			w.WriteHeader(400)
			_ = json.NewEncoder(w).Encode(map[string]any{"error": map[string]any{"type": "invalid_request_error", "message": text}})
			return
		}
	}
	play(w, r.stream)
}

// conversation has everything that can be sent.
func conversation() Request {
	return Request{
		Model: "m", System: "Be brief.",
		Tools: []Spec{
			{Name: "read", Description: "Read a file.", Schema: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"}},"additionalProperties":false}`)},
			{Name: "now", Schema: json.RawMessage(`{"type":"object"}`)},
		},
		Messages: []Message{
			{Role: User, Blocks: []Block{{Kind: Text, Text: "Look."}}},
			{Role: Assistant, Blocks: []Block{
				{Kind: Thinking, Text: "Hm.", Signature: "c2ln"},
				{Kind: Thinking, Signature: "redacted:ZGF0YQ"},
				{Kind: Thinking, Text: "of another provider"},
				{Kind: Text, Text: "I look."},
				{Kind: Call, ID: "c1", Name: "read", Args: json.RawMessage(`{"path":"a"}`)},
				{Kind: Call, ID: "c2", Name: "read", Args: json.RawMessage(`"{\"path\":"`)},
			}},
			{Role: User, Blocks: []Block{
				{Kind: Text, Text: "Go on."},
				{Kind: Result, ID: "c1", Name: "read", Text: "package a"},
				{Kind: Result, ID: "c2", Name: "read", Failed: true},
			}},
			{Role: Assistant, Blocks: []Block{{Kind: Text, Text: " \n"}}},
		},
	}
}

func sent(t *testing.T, d dialect, r Request) map[string]any {
	t.Helper()
	server := &recorder{stream: d.stream}
	synctest.Test(t, func(t *testing.T) {
		if _, err := d.connect(piped(t, server)).Send(t.Context(), r, ignore); err != nil {
			t.Error(err)
		}
	})
	if len(server.seen) != 1 {
		t.Fatalf("asked %d times", len(server.seen))
	}
	return server.seen[0]
}

func parse(t *testing.T, text string) (v map[string]any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatal(err)
	}
	return v
}

func TestARequestToAnthropic(t *testing.T) {
	t.Parallel()
	want := parse(t, `{
		"model": "m", "max_tokens": 16000, "stream": true,
		"system": [{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}],
		"tools": [
			{"name": "read", "description": "Read a file.", "input_schema": {"type": "object", "properties": {"path": {"type": "string"}}, "additionalProperties": false}},
			{"name": "now", "description": "", "input_schema": {"type": "object"}, "cache_control": {"type": "ephemeral"}}
		],
		"messages": [
			{"role": "user", "content": [{"type": "text", "text": "Look.", "cache_control": {"type": "ephemeral"}}]},
			{"role": "assistant", "content": [
				{"type": "thinking", "thinking": "Hm.", "signature": "c2ln"},
				{"type": "redacted_thinking", "data": "ZGF0YQ"},
				{"type": "text", "text": "I look."},
				{"type": "tool_use", "id": "c1", "name": "read", "input": {"path": "a"}},
				{"type": "tool_use", "id": "c2", "name": "read", "input": {"malformed": "{\"path\":"}}
			]},
			{"role": "user", "content": [
				{"type": "tool_result", "tool_use_id": "c1", "is_error": false, "content": "package a"},
				{"type": "tool_result", "tool_use_id": "c2", "is_error": true, "content": "(no output)"},
				{"type": "text", "text": "Go on.", "cache_control": {"type": "ephemeral"}}
			]}
		]
	}`)
	if diff := cmp.Diff(want, sent(t, dialects()["anthropic"], conversation())); diff != "" {
		t.Error(diff)
	}
}

func TestARequestToOpenAI(t *testing.T) {
	t.Parallel()
	want := parse(t, `{
		"model": "m", "stream": true, "stream_options": {"include_usage": true}, "reasoning_effort": "low",
		"tools": [
			{"type": "function", "function": {"name": "read", "description": "Read a file.",
				"parameters": {"type": "object", "properties": {"path": {"type": "string"}}, "additionalProperties": false}}},
			{"type": "function", "function": {"name": "now", "description": "", "parameters": {"type": "object"}}}
		],
		"messages": [
			{"role": "system", "content": "Be brief."},
			{"role": "user", "content": "Look."},
			{"role": "assistant", "content": "I look.", "tool_calls": [
				{"id": "c1", "type": "function", "function": {"name": "read", "arguments": "{\"path\":\"a\"}"}},
				{"id": "c2", "type": "function", "function": {"name": "read", "arguments": "{\"malformed\":\"{\\\"path\\\":\"}"}}
			]},
			{"role": "tool", "tool_call_id": "c1", "content": "package a"},
			{"role": "tool", "tool_call_id": "c2", "content": "(no output)"},
			{"role": "user", "content": "Go on."}
		]
	}`)
	r := conversation()
	r.Effort = Low
	if diff := cmp.Diff(want, sent(t, dialects()["openai"], r)); diff != "" {
		t.Error(diff)
	}
}

// A prompt and the summary that follows it are blocks of one message.
func TestTextsOfAMessageDoNotRunIntoEachOther(t *testing.T) {
	t.Parallel()
	r := Request{Model: "m", Messages: []Message{{Role: User, Blocks: []Block{{Kind: Text, Text: "Do it."}, {Kind: Text, Text: "What was done:"}}}}}
	body := sent(t, dialects()["openai"], r)
	text, _ := json.Marshal(body["messages"])
	if want := `[{"content":"Do it.\n\nWhat was done:","role":"user"}]`; string(text) != want {
		t.Errorf("got %s, want %s", text, want)
	}
}

// choices shows what a request says about thinking.
func choices(body map[string]any) string {
	var parts []string
	for _, name := range []string{"max_tokens", "thinking", "output_config", "reasoning_effort"} {
		if v, ok := body[name]; ok {
			text, _ := json.Marshal(v)
			parts = append(parts, name+" "+string(text))
		}
	}
	return strings.Join(parts, ", ")
}

func TestWhatAModelRefusesIsNotAskedAgain(t *testing.T) {
	t.Parallel()
	const (
		budget   = `max_tokens 24000, thinking {"budget_tokens":8000,"type":"enabled"}`
		adaptive = `max_tokens 24000, thinking {"display":"summarized","type":"adaptive"}, output_config {"effort":"medium"}`
		plainly  = `max_tokens 16000`
	)
	refuse := func(text string, members ...string) func(map[string]any) string {
		return func(body map[string]any) string {
			for _, member := range members {
				if strings.Contains(choices(body), member) {
					return text
				}
			}
			return ""
		}
	}
	for name, c := range map[string]struct {
		dialect string
		refuse  func(map[string]any) string
		first   []string // what is asked until there is an answer
		second  []string // and the next time
	}{
		"a model that thinks within a budget": {"anthropic", nil, []string{budget}, []string{budget}},
		"a model that thinks as it likes": {
			"anthropic", refuse(`"thinking.type.enabled" is not supported for this model.`, "enabled"), []string{budget, adaptive}, []string{adaptive},
		},
		"a model that does not think": {
			"anthropic", refuse("this model does not support thinking", "thinking"), []string{budget, adaptive, plainly}, []string{plainly},
		},
		"a conversation without thoughts": {
			"anthropic", refuse("a final `assistant` message must start with a thinking block", "thinking"),
			[]string{budget, adaptive, plainly},
			[]string{budget, adaptive, plainly},
		},
		"a model of few words": {
			"anthropic", refuse("max_tokens: 24000 > 8192, which is the maximum allowed number of output tokens for m", "24000"),
			[]string{budget, `max_tokens 8192, thinking {"budget_tokens":4096,"type":"enabled"}`},
			[]string{`max_tokens 8192, thinking {"budget_tokens":4096,"type":"enabled"}`},
		},
		"a model with an effort": {"openai", nil, []string{`reasoning_effort "medium"`}, []string{`reasoning_effort "medium"`}},
		"a model without effort": {
			"openai", refuse("Unrecognized request argument supplied: reasoning_effort", "reasoning_effort"), []string{`reasoning_effort "medium"`, ""}, []string{""},
		},
		"a model without tools while it thinks": {
			"openai", func(body map[string]any) string {
				if body["reasoning_effort"] != "none" {
					return "Function tools with reasoning_effort are not supported"
				}
				return ""
			},
			[]string{`reasoning_effort "medium"`, "", `reasoning_effort "none"`},
			[]string{`reasoning_effort "none"`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				d := dialects()[c.dialect]
				server := &recorder{stream: d.stream, refuse: c.refuse}
				p := d.connect(piped(t, server))
				r := question("m")
				r.Effort = Medium
				for _, want := range [][]string{c.first, c.second} {
					server.seen = nil
					if _, err := p.Send(t.Context(), r, ignore); err != nil {
						t.Fatal(err)
					}
					var got []string
					for _, body := range server.seen {
						got = append(got, choices(body))
					}
					if diff := cmp.Diff(want, got); diff != "" {
						t.Error(diff)
					}
				}
			})
		})
	}
}

func TestARefusalThatNothingHelpsIsReported(t *testing.T) {
	t.Parallel()
	inDialects(t, func(t *testing.T, d dialect) {
		for _, text := range []string{"reasoning, thinking and effort are all wrong", "max_tokens: 5 > 99999999999999999999", "max_tokens: 5 > 0", "no"} {
			synctest.Test(t, func(t *testing.T) {
				server := &recorder{refuse: func(map[string]any) string { return text }}
				r := question("m")
				r.Effort = High
				_, err := d.connect(piped(t, server)).Send(t.Context(), r, ignore)
				if want := (&Failure{Kind: Bad, Status: 400, Text: text}); !cmp.Equal(error(want), err) || len(server.seen) > 3 {
					t.Errorf("asked %d times, got %v", len(server.seen), err)
				}
			})
		}
	})
}

func TestCallsAreReadAsServersWriteThem(t *testing.T) {
	t.Parallel()
	call := func(id, name, args string) Block {
		return Block{Kind: Call, ID: id, Name: name, Args: json.RawMessage(args)}
	}
	for name, c := range map[string]struct {
		deltas []string // of tool_calls, one for each chunk
		finish string
		stop   Stop
		want   []Block
	}{
		"in pieces, two at a time": {
			deltas: []string{
				`[{"index":0,"id":"a","function":{"name":"read","arguments":""}},{"index":1,"id":"b","function":{"name":"bash"}}]`,
				`[{"index":1,"function":{"arguments":"{\"x\":"}},{"index":0,"function":{"arguments":"{\"y\":"}}]`,
				`[{"index":0,"function":{"arguments":"1}"}}]`, `[{"index":1,"function":{"arguments":"2}"}}]`,
			},
			finish: "tool_calls", stop: StopCalls, want: []Block{call("a", "read", `{"y":1}`), call("b", "bash", `{"x":2}`)},
		},
		"whole, all with the same index, as Ollama did": {
			deltas: []string{`[{"index":0,"id":"a","function":{"name":"read","arguments":"{}"}},{"index":0,"id":"b","function":{"name":"read","arguments":"{}"}}]`},
			finish: "stop", stop: StopCalls, want: []Block{call("a", "read", `{}`), call("b", "read", `{}`)},
		},
		"without index or ID": {
			deltas: []string{`[{"function":{"name":"read","arguments":"{\"x\":1}"}},{"function":{"name":"read","arguments":"{\"x\":2}"}},{"function":{"name":"now"}}]`},
			finish: "stop", stop: StopCalls, want: []Block{call("made", "read", `{"x":1}`), call("made", "read", `{"x":2}`), call("made", "now", `{}`)},
		},
		"without index, in pieces": {
			deltas: []string{`[{"id":"a","function":{"name":"read","arguments":"{\"x\""}}]`, `[{"function":{"arguments":":1}"}}]`},
			finish: "tool_calls", stop: StopCalls, want: []Block{call("a", "read", `{"x":1}`)},
		},
		"with the ID and the name in every piece": {
			deltas: []string{`[{"index":0,"id":"a","function":{"name":"read","arguments":"{\"x\""}}]`, `[{"index":0,"id":"a","function":{"name":"read","arguments":":1}"}}]`},
			finish: "tool_calls", stop: StopCalls, want: []Block{call("a", "read", `{"x":1}`)},
		},
		"with one ID for all": {
			deltas: []string{`[{"index":0,"id":"a","function":{"name":"read","arguments":"{}"}},{"index":1,"id":"a","function":{"name":"now","arguments":"{}"}}]`},
			finish: "tool_calls", stop: StopCalls, want: []Block{call("a", "read", `{}`), call("made", "now", `{}`)},
		},
		"with an object as arguments": {
			deltas: []string{`[{"index":0,"id":"a","function":{"name":"read","arguments":{"x":1}}}]`},
			finish: "tool_calls", stop: StopCalls, want: []Block{call("a", "read", `{"x":1}`)},
		},
		"with arguments that are no object": {
			deltas: []string{`[{"index":0,"id":"a","function":{"name":"read","arguments":"[1]"}},{"index":1,"id":"b","function":{"name":"read","arguments":"{\"x\": nope"}}]`},
			finish: "tool_calls", stop: StopCalls, want: []Block{call("a", "read", `"[1]"`), call("b", "read", `"{\"x\": nope"`)},
		},
		"with an odd member": {
			deltas: []string{`[{"index":"0","id":"a","type":7,"function":{"name":"read","arguments":"{}"}}]`},
			finish: "tool_calls", stop: StopCalls, want: []Block{call("a", "read", `{}`)},
		},
		"cut off by a limit": {
			deltas: []string{`[{"index":0,"id":"a","function":{"name":"read","arguments":"{\"x"}}]`},
			finish: "length", stop: StopLength, want: []Block{call("a", "read", `"{\"x"`)},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var stream strings.Builder
				for _, delta := range c.deltas {
					fmt.Fprintf(&stream, "data: {\"choices\":[{\"delta\":{\"tool_calls\":%s}}]}\n\n", delta)
				}
				fmt.Fprintf(&stream, "data: {\"choices\":[{\"delta\":{},\"finish_reason\":%q}]}", c.finish)
				p := dialects()["openai"].connect(piped(t, &recorder{stream: stream.String()}))
				got, err := p.Send(t.Context(), question("m"), ignore)
				if err != nil {
					t.Fatal(err)
				}
				seen := map[string]bool{}
				for i, b := range got.Message.Blocks {
					if seen[b.ID] || b.ID == "" {
						t.Errorf("call %d has the ID %q", i, b.ID)
					}
					seen[b.ID] = true
					if strings.HasPrefix(b.ID, "call_") {
						got.Message.Blocks[i].ID = "made"
					}
				}
				if diff := cmp.Diff(Reply{Message: Message{Role: Assistant, Blocks: c.want}, Stop: c.stop}, got); diff != "" {
					t.Error(diff)
				}
			})
		})
	}
}

func TestWhyAModelStopped(t *testing.T) {
	t.Parallel()
	inDialects(t, func(t *testing.T, d dialect) {
		for reason, want := range map[string]Stop{
			"tool_use": StopCalls, "tool_calls": StopCalls, "stop": StopCalls, "end_turn": StopCalls, "new": StopCalls,
			"max_tokens": StopLength, "length": StopLength, "refusal": StopRefuse, "content_filter": StopRefuse,
		} {
			stream := strings.NewReplacer(`"stop_reason":"tool_use"`, `"stop_reason":"`+reason+`"`, `"finish_reason":"tool_calls"`, `"finish_reason":"`+reason+`"`).Replace(d.stream)
			ours := map[string]bool{"max_tokens": true, "refusal": true}[reason] == strings.Contains(d.stream, "message_stop")
			if other := want == StopLength || want == StopRefuse; other && !ours {
				continue // a word of the other dialect
			}
			synctest.Test(t, func(t *testing.T) {
				got, err := d.connect(piped(t, &recorder{stream: stream})).Send(t.Context(), question("m"), ignore)
				if err != nil || got.Stop != want {
					t.Errorf("%s: got %v, want %v (%v)", reason, got.Stop, want, err)
				}
			})
		}
	})
}

// spoken is a server that says the same to everything.
type spoken string

func (s spoken) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader(string(s)))}, nil
}

// FuzzAnswers holds Send to its promise whatever a server says.
func FuzzAnswers(f *testing.F) {
	f.Add(anthropicStream)
	f.Add(openaiStream)
	f.Add("data: {\"choices\":[{\"delta\":{\"tool_calls\":[{},{}]},\"finish_reason\":\"stop\"}]}")
	f.Add("event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n")
	f.Add("event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":-1}\n\n")
	f.Fuzz(func(t *testing.T, stream string) {
		for name, d := range dialects() {
			w := newWire(getenv(nil), "http://model.test", "", "")
			w.transport = spoken(stream)
			got, err := d.connect(w).Send(t.Context(), question("m"), ignore)
			var failure *Failure
			if err != nil && (!errors.As(err, &failure) || !cmp.Equal(got, Reply{})) {
				t.Errorf("%s: %+v, %v", name, got, err)
			}
			for _, b := range got.Message.Blocks {
				if b.Kind == Call && (b.ID == "" || !json.Valid(b.Args)) {
					t.Errorf("%s: call %+v", name, b)
				}
			}
		}
	})
}
