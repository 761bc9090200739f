package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/rogpeppe/go-internal/testscript"
)

// modelServer is a server of models that says what a file tells it to, one reply after the other and the last for ever,
// in the dialects of Anthropic and OpenAI.
type modelServer struct {
	Key     string // that everybody has to show; empty lets everybody in
	Models  []string
	Replies []modelReply

	mu    sync.Mutex
	said  int
	asked io.Writer
}

type modelReply struct {
	Status int // of a refusal, which has the text and is called as the field Code says
	Code   string
	Text   string
	Calls  []struct {
		Name string
		Args json.RawMessage
	}
}

// scriptModels starts one for the script, and puts its address into MODELS: models FILE. What it is asked is in FILE.asked.
func scriptModels(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: models FILE")
	}
	file, err := os.OpenFile(ts.MkAbs(args[0])+".asked", os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	ts.Check(err)
	m := &modelServer{asked: file}
	ts.Check(json.Unmarshal([]byte(ts.ReadFile(args[0])), m))
	server := httptest.NewServer(m)
	ts.Setenv("MODELS", server.URL)
	ts.Defer(func() { server.Close(); file.Close() })
}

func (m *modelServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	key, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if m.Key != "" && key != m.Key && r.Header.Get("X-Api-Key") != m.Key {
		refuse(w, http.StatusUnauthorized, "invalid_api_key", "that key is not known")
		return
	}
	switch r.URL.Path {
	case "/v1/models":
		list := []map[string]any{}
		for _, name := range m.Models {
			list = append(list, map[string]any{"id": name, "type": "model", "object": "model", "display_name": name, "created_at": "2026-01-01T00:00:00Z"})
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"data": list, "object": "list", "has_more": false})
	case "/v1/messages", "/v1/chat/completions":
		var asked struct{ Model string }
		body, err := io.ReadAll(r.Body)
		if err != nil || json.Unmarshal(body, &asked) != nil || !slices.Contains(m.Models, asked.Model) {
			refuse(w, http.StatusNotFound, "model_not_found", "the model "+asked.Model+" does not exist")
			return
		}
		reply, n := m.next(body)
		if reply.Status != 0 {
			refuse(w, reply.Status, reply.Code, reply.Text)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		if r.URL.Path == "/v1/messages" {
			reply.asAnthropic(w, n)
		} else {
			reply.asOpenAI(w, n)
		}
	default:
		http.NotFound(w, r)
	}
}

func refuse(w http.ResponseWriter, status int, code, text string) {
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]any{"type": "error", "error": map[string]string{"type": code, "code": code, "message": text}})
}

func (m *modelServer) next(body []byte) (reply modelReply, n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	fmt.Fprintln(m.asked, strings.ReplaceAll(string(body), "\n", " "))
	reply = m.Replies[min(m.said, len(m.Replies)-1)]
	m.said++
	return reply, m.said
}

// asAnthropic writes a reply as a stream of events.
func (r modelReply) asAnthropic(w io.Writer, n int) {
	type object = map[string]any
	send := func(kind string, fields object) {
		fields["type"] = kind
		data, _ := json.Marshal(fields)
		fmt.Fprintf(w, "event: %s\ndata: %s\n\n", kind, data)
	}
	send("message_start", object{"message": object{
		"id": fmt.Sprint("msg_", n), "type": "message", "role": "assistant", "content": []any{}, "model": "m", "usage": object{"input_tokens": 10, "output_tokens": 1},
	}})
	index, stop := 0, "end_turn"
	block := func(start, delta object) {
		send("content_block_start", object{"index": index, "content_block": start})
		send("content_block_delta", object{"index": index, "delta": delta})
		send("content_block_stop", object{"index": index})
		index++
	}
	if r.Text != "" {
		block(object{"type": "text", "text": ""}, object{"type": "text_delta", "text": r.Text})
	}
	for i, c := range r.Calls {
		stop = "tool_use"
		block(object{"type": "tool_use", "id": fmt.Sprintf("call_%d_%d", n, i), "name": c.Name, "input": object{}}, object{"type": "input_json_delta", "partial_json": string(c.Args)})
	}
	send("message_delta", object{"delta": object{"stop_reason": stop}, "usage": object{"output_tokens": 5}})
	send("message_stop", object{})
}

// asOpenAI writes a reply as a stream of chunks.
func (r modelReply) asOpenAI(w io.Writer, n int) {
	type object = map[string]any
	send := func(choices []object, more object) {
		chunk := object{"id": fmt.Sprint("chat-", n), "object": "chat.completion.chunk", "model": "m", "choices": choices}
		for name, v := range more {
			chunk[name] = v
		}
		data, _ := json.Marshal(chunk)
		fmt.Fprintf(w, "data: %s\n\n", data)
	}
	delta := func(d object) { send([]object{{"index": 0, "delta": d}}, nil) }
	stop := "stop"
	if r.Text != "" {
		delta(object{"role": "assistant", "content": r.Text})
	}
	for i, c := range r.Calls {
		stop = "tool_calls"
		delta(object{"tool_calls": []object{{"index": i, "id": fmt.Sprintf("call_%d_%d", n, i), "type": "function", "function": object{"name": c.Name, "arguments": string(c.Args)}}}})
	}
	send([]object{{"index": 0, "delta": object{}, "finish_reason": stop}}, nil)
	send([]object{}, object{"usage": object{"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}})
	fmt.Fprint(w, "data: [DONE]\n\n")
}
