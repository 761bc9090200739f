package modelagent

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
)

const anthropicStream = `event: message_start
data: {"type":"message_start","message":{"id":"m1","type":"message","role":"assistant","model":"m","content":[],"stop_reason":null,"usage":{"input_tokens":11,"cache_read_input_tokens":200,"cache_creation_input_tokens":30,"output_tokens":1},"new":{"a":[1]}}}

event: ping
data: {"type":"ping"}

event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"Hm, "}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"well."}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"c2ln"}}

event: content_block_stop
data: {"type":"content_block_stop","index":0}

event: content_block_start
data: {"type":"content_block_start","index":1,"content_block":{"type":"redacted_thinking","data":"c2VjcmV0"}}

event: content_block_stop
data: {"type":"content_block_stop","index":1}

event: content_block_start
data: {"type":"content_block_start","index":2,"content_block":{"type":"text","text":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":2,"delta":{"type":"text_delta","text":"I look – "}}

event: content_block_delta
data: {"type":"content_block_delta","index":2,"delta":{"type":"text_delta","text":"now."}}

event: content_block_stop
data: {"type":"content_block_stop","index":2}

event: content_block_start
data: {"type":"content_block_start","index":3,"content_block":{"type":"tool_use","id":"toolu_1","name":"read","input":{}}}

event: content_block_delta
data: {"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":"{\"path\":"}}

event: content_block_delta
data: {"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":"\"a.go\"}"}}

event: content_block_stop
data: {"type":"content_block_stop","index":3}

event: message_delta
data: {"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"output_tokens":42}}

event: message_stop
data: {"type":"message_stop"}

`

const openaiStream = `: a comment

data: {"id":"c1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}],"new":{"a":[1]}}

data: {"id":"c1","choices":[{"index":0,"delta":{"reasoning_content":"Hm, "},"finish_reason":null}]}

data: {"id":"c1","choices":[{"index":0,"delta":{"reasoning_content":"well."},"finish_reason":null}]}

data: {"id":"c1","choices":[{"index":0,"delta":{"content":"I look – "},"finish_reason":null}],"usage":null}

data: {"id":"c1","choices":[{"index":0,"delta":{"content":"now."},"finish_reason":null}]}

data: {"id":"c1","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"call_1","type":"function","function":{"name":"read","arguments":""}}]},"finish_reason":null}]}

data: {"id":"c1","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"path\":"}}]},"finish_reason":null}]}

data: {"id":"c1","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"\"a.go\"}"}}]},"finish_reason":null}]}

data: {"id":"c1","choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}

data: {"id":"c1","choices":[],"usage":{"prompt_tokens":211,"completion_tokens":42,"total_tokens":253,"prompt_tokens_details":{"cached_tokens":200}}}

data: [DONE]

`

// dialect is one of the two, for tests of what they have in common.
type dialect struct {
	connect func(*wire) Provider
	stream  string
	whole   Reply
}

func dialects() map[string]dialect {
	text := Block{Kind: Text, Text: "I look – now."}
	call := func(id string) Block {
		return Block{Kind: Call, ID: id, Name: "read", Args: json.RawMessage(`{"path":"a.go"}`)}
	}
	return map[string]dialect{
		"anthropic": {
			connect: func(w *wire) Provider { return newAnthropic(w, "sk-secret-1234", "") },
			stream:  anthropicStream,
			whole: Reply{
				Message: Message{Role: Assistant, Blocks: []Block{
					{Kind: Thinking, Text: "Hm, well.", Signature: "c2ln"}, {Kind: Thinking, Signature: "redacted:c2VjcmV0"}, text, call("toolu_1"),
				}},
				Stop: StopCalls, Usage: Usage{Input: 11, CacheRead: 200, CacheWrite: 30, Output: 42},
			},
		},
		"openai": {
			connect: func(w *wire) Provider { return newOpenAI(w, "sk-secret-1234") },
			stream:  openaiStream,
			whole: Reply{
				Message: Message{Role: Assistant, Blocks: []Block{text, call("call_1")}},
				Stop:    StopCalls, Usage: Usage{Input: 11, CacheRead: 200, Output: 42},
			},
		},
	}
}

// inDialects runs a test once for each dialect.
func inDialects(t *testing.T, test func(t *testing.T, d dialect)) {
	t.Helper()
	for name, d := range dialects() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, d)
		})
	}
}

// play answers with a stream.
func play(w http.ResponseWriter, stream string) {
	w.Header().Set("Content-Type", "text/event-stream")
	_, _ = io.WriteString(w, stream)
}

// ignore is told of thoughts that no test asks for.
func ignore(string) {}

func question(model string) Request {
	return Request{Model: model, Messages: []Message{{Role: User, Blocks: []Block{{Kind: Text, Text: "Look."}}}}}
}

func TestAnAnswerIsReadToItsEnd(t *testing.T) {
	t.Parallel()
	inDialects(t, func(t *testing.T, d dialect) {
		synctest.Test(t, func(t *testing.T) {
			p := d.connect(piped(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { play(w, d.stream) })))
			var thoughts strings.Builder
			alive := 0
			got, err := p.Send(t.Context(), question("m"), func(text string) {
				thoughts.WriteString(text)
				alive++
			})
			if diff := cmp.Diff(d.whole, got); err != nil || diff != "" {
				t.Errorf("%v, %s", err, diff)
			}
			if thoughts.String() != "Hm, well." || alive < 3 {
				t.Errorf("thoughts %q, alive %d times", thoughts.String(), alive)
			}
		})
	})
}

// cuts answers a request whose model is "cut-N-how" with the first N bytes, and then ends the answer or the connection.
// The next request for the same model gets all.
type cuts struct {
	stream string
	mu     sync.Mutex
	seen   map[string]int
}

func (c *cuts) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var request struct{ Model string }
	_ = json.NewDecoder(r.Body).Decode(&request)
	c.mu.Lock()
	c.seen[request.Model]++
	first := c.seen[request.Model] == 1
	c.mu.Unlock()
	at, how := 0, ""
	if _, err := fmt.Sscanf(request.Model, "cut-%d-%s", &at, &how); err != nil {
		panic(err)
	}
	if !first {
		play(w, c.stream)
		return
	}
	play(w, c.stream[:at])
	if how == "broken" {
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	}
}

// withoutUsage is a reply to compare: what tells the usage may come after all that makes an answer whole.
func withoutUsage(r Reply) Reply {
	r.Usage = Usage{}
	return r
}

// isWholeOrBroken holds what Send promises.
func isWholeOrBroken(whole, got Reply, err error) error {
	var f *Failure
	switch {
	case err == nil && cmp.Equal(withoutUsage(whole), withoutUsage(got)) && (got.Usage == Usage{} || got.Usage == whole.Usage):
		return nil
	case errors.As(err, &f) && f.Kind == Broken && cmp.Equal(got, Reply{}):
		return nil
	}
	return fmt.Errorf("got %+v, %w", got, err)
}

func TestAnAnswerCutAnywhereIsWholeOrBroken(t *testing.T) {
	t.Parallel()
	inDialects(t, func(t *testing.T, d dialect) {
		server := httptest.NewServer(&cuts{stream: d.stream, seen: map[string]int{}})
		defer server.Close()
		p := d.connect(newWire(getenv(nil), server.URL, "", ""))
		for at := range len(d.stream) + 1 {
			model := fmt.Sprintf("cut-%d-%s", at, []string{"ended", "broken"}[at%2]) // the other way in the next test
			got, err := p.Send(t.Context(), question(model), ignore)
			if err := isWholeOrBroken(d.whole, got, err); err != nil {
				t.Fatalf("%s: %v", model, err)
			}
		}
	})
}

func TestAskingAgainEndsInOneWholeAnswer(t *testing.T) {
	t.Parallel()
	inDialects(t, func(t *testing.T, d dialect) {
		synctest.Test(t, func(t *testing.T) {
			server := &cuts{stream: d.stream, seen: map[string]int{}}
			p := d.connect(piped(t, server))
			for at := range len(d.stream) + 1 {
				model := fmt.Sprintf("cut-%d-%s", at, []string{"broken", "ended"}[at%2])
				waits := 0
				got, err := ask(t.Context(), p, question(model), ignore, func(string) { waits++ })
				if diff := cmp.Diff(withoutUsage(d.whole), withoutUsage(got)); err != nil || diff != "" {
					t.Fatalf("%s: %v, %s", model, err, diff)
				}
				if server.seen[model] != waits+1 || waits > 1 {
					t.Fatalf("%s: asked %d times after %d waits", model, server.seen[model], waits)
				}
			}
		})
	})
}
