package model

import (
	"crypto/rand"
	"encoding/json"
	"io"
	"strings"
)

func newID(prefix string) string { return prefix + strings.ToLower(rand.Text()) }

// failure is an error as both of OpenAI's protocols have it.
func openAIFailure(status int, text string) any {
	kind, code := "server_error", "server_error"
	switch status {
	case 401:
		kind, code = "invalid_request_error", "invalid_api_key"
	case 429:
		kind, code = "rate_limit_error", "rate_limit_exceeded"
	}
	return object{"error": object{"message": text, "type": kind, "code": code, "param": nil}}
}

// chat is the Chat Completions API.
type chat struct{}

func (chat) parse(body []byte) (request, error) {
	var in struct {
		Model    string `json:"model"`
		Stream   bool   `json:"stream"`
		Messages []struct {
			Role    string            `json:"role"`
			Content json.RawMessage   `json:"content"`
			Calls   []json.RawMessage `json:"tool_calls"`
		} `json:"messages"`
		Tools []struct {
			Function struct {
				Name   string `json:"name"`
				Schema schema `json:"parameters"`
			} `json:"function"`
		} `json:"tools"`
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return request{}, err
	}
	r := request{model: in.Model, stream: in.Stream}
	for _, m := range in.Messages {
		r.messages = append(r.messages, message{role: m.Role, text: text(m.Content), calls: len(m.Calls)})
	}
	for _, t := range in.Tools {
		r.tools = append(r.tools, tool{t.Function.Name, t.Function.Schema})
	}
	return r, nil
}

func (chat) write(w io.Writer, r request, text string, c *call) error {
	usage := object{
		"prompt_tokens": tokensIn, "completion_tokens": tokensOut, "total_tokens": tokensIn + tokensOut,
		"prompt_tokens_details": object{"cached_tokens": tokensCached},
	}
	finish := "stop"
	var calls []object
	if c != nil {
		finish = "tool_calls"
		calls = []object{{"index": 0, "id": newID("call_"), "type": "function", "function": object{"name": c.name, "arguments": arguments(c)}}}
	}
	id := newID("chatcmpl-")
	if !r.stream {
		said := object{"role": "assistant", "content": text}
		if c != nil {
			said["tool_calls"] = calls
		}
		return json.NewEncoder(w).Encode(object{
			"id": id, "object": "chat.completion", "created": 0, "model": r.model, "usage": usage,
			"choices": []object{{"index": 0, "message": said, "finish_reason": finish}},
		})
	}
	e := &events{w: w}
	chunk := func(delta object, finish any) {
		e.send("", object{
			"id": id, "object": "chat.completion.chunk", "created": 0, "model": r.model,
			"choices": []object{{"index": 0, "delta": delta, "finish_reason": finish}},
		})
	}
	chunk(object{"role": "assistant", "content": ""}, nil)
	for _, piece := range pieces(text) {
		chunk(object{"content": piece}, nil)
	}
	if c != nil {
		chunk(object{"tool_calls": calls}, nil)
	}
	chunk(object{}, finish)
	e.send("", object{"id": id, "object": "chat.completion.chunk", "created": 0, "model": r.model, "choices": []object{}, "usage": usage})
	if e.err == nil {
		_, e.err = io.WriteString(w, "data: [DONE]\n\n")
	}
	return e.err
}

func (chat) failure(status int, text string) any { return openAIFailure(status, text) }
