package e2e

import (
	"encoding/json"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"
)

// exchange is one way to ask the same.
type exchange struct {
	path   string // %METHOD% is there where it says whether to stream
	ask    string // %PROMPT% is what is said
	tooled string // the same after one tool was called, which said "42"
}

func exchanges() map[string]exchange {
	const (
		chatTools = `"tools":[{"type":"function","function":{"name":"bash","parameters":{"properties":{"command":{"type":"string"},"reason":{"type":"string"}},"required":["command","reason"]}}}]`
		antTools  = `"tools":[{"name":"Bash","input_schema":{"properties":{"command":{"type":"string"},"timeout":{"type":"number"}},"required":["command"]}}]`
		gemTools  = `"tools":[{"functionDeclarations":[{"name":"run_shell_command","parametersJsonSchema":{"properties":{"command":{"type":"string"}},"required":["command"]}}]}]`
		resTools  = `"tools":[{"type":"function","name":"shell","parameters":{"properties":{"command":{"type":"array"}},"required":["command"]}},{"type":"web_search"}]`
	)
	return map[string]exchange{
		"messages": {
			"/v1/messages",
			`{"model":"m",STREAM,` + antTools + `,"messages":[{"role":"user","content":[{"type":"text","text":"<reminder>"},{"type":"text","text":"%PROMPT%"}]}]}`,
			`{"model":"m",STREAM,` + antTools + `,"messages":[{"role":"user","content":"%PROMPT%"},{"role":"assistant","content":[{"type":"text","text":"x"},{"type":"tool_use","id":"1","name":"Bash","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"1","content":[{"type":"text","text":"42"}]},{"type":"text","text":"<reminder>"}]}]}`,
		},
		"chat": {
			"/v1/chat/completions",
			`{"model":"m",STREAM,` + chatTools + `,"messages":[{"role":"system","content":"s"},{"role":"user","content":"%PROMPT%"}]}`,
			`{"model":"m",STREAM,` + chatTools + `,"messages":[{"role":"user","content":"%PROMPT%"},{"role":"assistant","content":null,"tool_calls":[{"id":"1"}]},{"role":"tool","tool_call_id":"1","content":"42"}]}`,
		},
		"gemini": {
			"/v1beta/models/m:%METHOD%",
			`{` + gemTools + `,"contents":[{"role":"user","parts":[{"text":"context"},{"text":"%PROMPT%"}]}]}`,
			`{` + gemTools + `,"contents":[{"role":"user","parts":[{"text":"%PROMPT%"}]},{"role":"model","parts":[{"text":"x"},{"functionCall":{"name":"run_shell_command","args":{}}}]},{"role":"user","parts":[{"functionResponse":{"name":"run_shell_command","response":{"output":"42"}}}]}]}`,
		},
		"responses": {
			"/v1/responses",
			`{"model":"m",STREAM,` + resTools + `,"input":[{"type":"message","role":"developer","content":[{"type":"input_text","text":"s"}]},{"type":"message","role":"user","content":[{"type":"input_text","text":"%PROMPT%"}]}]}`,
			`{"model":"m",STREAM,` + resTools + `,"input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"%PROMPT%"}]},{"type":"reasoning"},{"type":"function_call","call_id":"1"},{"type":"function_call_output","call_id":"1","output":"42"}]}`,
		},
	}
}

func post(t *testing.T, s *Server, d exchange, body, prompt string, stream bool) (int, string, error) {
	t.Helper()
	body = strings.NewReplacer("%PROMPT%", prompt, "STREAM", map[bool]string{true: `"stream":true`, false: `"stream":false`}[stream]).Replace(body)
	path := strings.Replace(d.path, "%METHOD%", map[bool]string{true: "streamGenerateContent", false: "generateContent"}[stream], 1)
	res, err := http.Post(s.URL+path, "application/json", strings.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	return res.StatusCode, string(data), err
}

const work = `# Ralph\n\n## Assigned Task\n\nID: t-0123abcd`

// TestEveryDialectPlaysTheSameScript: a tool call in the agent's own terms, then
// words, whole or in pieces.
func TestEveryDialectPlaysTheSameScript(t *testing.T) {
	t.Parallel()
	for name, d := range exchanges() {
		for _, stream := range []bool{true, false} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				s := newServer(func(p Prompt) Answer {
					if p.Turn == 0 {
						return Answer{Text: "first", Shell: "make"}
					}
					return Answer{Text: "it said " + p.Tool}
				})
				defer s.Close()
				status, got, err := post(t, s, d, d.ask, work, stream)
				if err != nil || status != 200 || !strings.Contains(got, "first") || !regexp.MustCompile(`"name":"(Bash|bash|shell|run_shell_command)"`).MatchString(got) {
					t.Errorf("got %d %v: %s", status, err, got)
				}
				if stream == json.Valid([]byte(got)) {
					t.Errorf("streamed: %v, got %s", stream, got)
				}
				if _, got, _ = post(t, s, d, d.tooled, work, false); !regexp.MustCompile(`it said .*42`).MatchString(got) {
					t.Errorf("got %s, want what the tool said", got)
				}
				if errs := s.Errors(); len(errs) > 0 {
					t.Error(errs)
				}
				seen := s.Seen()
				if len(seen) != 2 || seen[0].Kind != Work || seen[0].Task != "t-0123abcd" || seen[0].Try != 1 || seen[1].Turn != 1 {
					t.Errorf("got %+v", seen)
				}
			})
		}
	}
}

func TestPromptsAreTold(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		text string
		want Kind
	}{
		"a task":          {work, Work},
		"a verdict":       {`# Ralph: verification\n\n## Assigned Task\n\nID: t-0123abcd`, Verify},
		"a follow-up":     {`Your answer ended without a sigil.\n\nAssigned Task: t-0123abcd`, Other},
		"something small": {`Answer with the one word OK.`, Other},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ask := strings.NewReplacer("%PROMPT%", tt.text, "STREAM,", "").Replace(exchanges()["chat"].ask)
			if r, err := parse([]byte(ask)); err != nil || r.prompt().Kind != tt.want {
				t.Errorf("got %s, %v, want %s", r.prompt().Kind, err, tt.want)
			}
		})
	}
}

// TestAFormIsFilledIn: an agent that asks which model to take gets what it can read.
func TestAFormIsFilledIn(t *testing.T) {
	t.Parallel()
	s := newServer(func(Prompt) Answer { return Answer{Text: "never"} })
	defer s.Close()
	const ask = `{"contents":[{"role":"user","parts":[{"text":"How hard is it?"}]}],"generationConfig":{"responseJsonSchema":{"properties":{"score":{"type":"INTEGER"},"why":{"type":"STRING"}},"required":["score","why"]}}}`
	_, got, err := post(t, s, exchanges()["gemini"], ask, "", false)
	if err != nil || !strings.Contains(got, `{\"score\":1,\"why\":\"as the task says\"}`) {
		t.Errorf("got %s %v", got, err)
	}
}

// TestFaults: each happens as often as it is meant to, and then the answer comes.
func TestFaults(t *testing.T) {
	t.Parallel()
	for name, d := range exchanges() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, status := range []int{429, 529, 401} {
				s := newServer(func(Prompt) Answer { return Answer{Text: "x", Fault: Fault{Status: status, Times: 2}} })
				for _, want := range []int{status, status, 200} {
					if got, body, err := post(t, s, d, d.ask, work, true); got != want || err != nil {
						t.Errorf("got %d %s, want %d", got, body, want)
					}
				}
				s.Close()
			}
			s := newServer(func(Prompt) Answer { return Answer{Text: strings.Repeat("x", 500), Fault: Fault{Cut: true, Times: 1}} })
			defer s.Close()
			if _, body, err := post(t, s, d, d.ask, work, true); err == nil || body == "" {
				t.Errorf("got all of %q, want a part of it", body)
			}
			if _, _, err := post(t, s, d, d.ask, work, true); err != nil {
				t.Error(err)
			}
			s.Play(func(Prompt) Answer { return Answer{Fault: Fault{Hang: true, Times: -1}} })
			ended := make(chan error)
			go func() {
				_, _, err := post(t, s, d, d.ask, work, true)
				ended <- err
			}()
			for len(s.Seen()) == 0 {
				select {
				case err := <-ended:
					t.Fatalf("it answered: %v", err)
				default:
				}
			}
			s.CloseClientConnections()
			if err := <-ended; err == nil {
				t.Error("got an answer, want none")
			}
		})
	}
}

// TestWhatProvidersSay: the rest of what can go wrong, in the words of the two dialects that ralph's own agent speaks.
func TestWhatProvidersSay(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 500)
	for name, tt := range map[string]struct {
		answer         Answer
		status         int
		messages, chat string // a part of what comes
	}{
		"an unknown model":     {Answer{Fault: Fault{Status: 404, Times: 1}}, 404, `"type":"not_found_error"`, `"code":"model_not_found"`},
		"a bad request":        {Answer{Fault: Fault{Status: 400, Times: 1}}, 400, `"type":"invalid_request_error"`, `"type":"invalid_request_error"`},
		"a request too long":   {Answer{Fault: Fault{Status: 400, TooLong: true, Times: 1}}, 400, "prompt is too long: 210000", `"code":"context_length_exceeded"`},
		"a broken server":      {Answer{Fault: Fault{Status: 500, Times: 1}}, 500, `"type":"api_error"`, `"type":"server_error"`},
		"an error half-way":    {Answer{Text: long, Fault: Fault{Error: true, Times: 1}}, 200, `"type":"overloaded_error"`, `data: {"error":{"code":"server_error"`},
		"an answer cut short":  {Answer{Text: "x", Short: true}, 200, `"stop_reason":"max_tokens"`, `"finish_reason":"length"`},
		"a tool nobody has":    {Answer{Raw: &Raw{"no_such_tool", `{}`}}, 200, `"name":"no_such_tool"`, `"name":"no_such_tool"`},
		"arguments that break": {Answer{Raw: &Raw{"bash", `{"comm`}}, 200, `"partial_json":"{\"comm"`, `"arguments":"{\"comm"`},
		"an answer of nothing": {Answer{}, 200, `"stop_reason":"end_turn"`, `"finish_reason":"stop"`},
	} {
		for dialect, want := range map[string]string{"messages": tt.messages, "chat": tt.chat} {
			t.Run(name+" in "+dialect, func(t *testing.T) {
				t.Parallel()
				s := newServer(func(Prompt) Answer { return tt.answer })
				defer s.Close()
				d := exchanges()[dialect]
				status, got, err := post(t, s, d, d.ask, work, true)
				if err != nil || status != tt.status || !strings.Contains(got, want) {
					t.Errorf("got %d %v: %s", status, err, got)
				}
				if charged := len(s.Bills()) > 0; charged != (tt.answer.Fault == Fault{}) {
					t.Errorf("charged: %v", charged)
				}
			})
		}
	}
}

// TestTheServerSaysWhenToTryAgain: or not, as providers do.
func TestTheServerSaysWhenToTryAgain(t *testing.T) {
	t.Parallel()
	for after, want := range map[string]string{"": "1", "none": "", "30": "30"} {
		s := newServer(func(Prompt) Answer { return Answer{Fault: Fault{Status: 429, After: after, Times: -1}} })
		d := exchanges()["chat"]
		res, err := http.Post(s.URL+d.path, "application/json", strings.NewReader(strings.NewReplacer("%PROMPT%", work, "STREAM", `"stream":true`).Replace(d.ask)))
		if err != nil || res.Header.Get("Retry-After") != want {
			t.Errorf("got %v, %v, want %q", res, err, want)
		}
		_ = res.Body.Close()
		s.Close()
	}
}

// TestModelsAreListed: those that the server was given, so that both dialects can read them.
func TestModelsAreListed(t *testing.T) {
	t.Parallel()
	s := newServer(func(Prompt) Answer { return Answer{} }, "large", "small")
	defer s.Close()
	res, err := http.Get(s.URL + "/v1/models")
	check(t, err)
	defer res.Body.Close()
	var got struct {
		Data []struct{ ID, Object, Type string }
	}
	check(t, json.NewDecoder(res.Body).Decode(&got))
	if len(got.Data) != 2 || got.Data[0].ID != "large" || got.Data[1].Object != "model" || got.Data[1].Type != "model" {
		t.Errorf("got %+v", got)
	}
}
