package model

import (
	"encoding/json"
	"io"
	"strings"
)

// responses is the Responses API.
type responses struct{}

func (responses) parse(body []byte) (request, error) {
	var in struct {
		Model  string `json:"model"`
		Stream bool   `json:"stream"`
		Input  []struct {
			Type    string          `json:"type"`
			Role    string          `json:"role"`
			Content json.RawMessage `json:"content"`
			Output  json.RawMessage `json:"output"`
		} `json:"input"`
		Tools []struct {
			Name   string `json:"name"`
			Schema schema `json:"parameters"`
		} `json:"tools"`
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return request{}, err
	}
	r := request{model: in.Model, stream: in.Stream}
	for _, item := range in.Input {
		switch {
		case strings.HasSuffix(item.Type, "call_output"):
			r.messages = append(r.messages, message{role: "tool", text: text(item.Output)})
		case strings.HasSuffix(item.Type, "call"):
			r.messages = append(r.messages, message{role: "assistant", calls: 1})
		case item.Type == "message" || item.Type == "":
			r.messages = append(r.messages, message{role: item.Role, text: text(item.Content)})
		}
	}
	for _, t := range in.Tools {
		r.tools = append(r.tools, tool{t.Name, t.Schema})
	}
	return r, nil
}

func (responses) write(w io.Writer, r request, text string, c *call) error {
	said := object{
		"id": newID("msg_"), "type": "message", "role": "assistant", "status": "completed",
		"content": []object{{"type": "output_text", "text": text, "annotations": []object{}}},
	}
	items := []object{said}
	if c != nil {
		items = append(items, object{
			"id": newID("fc_"), "type": "function_call", "status": "completed", "call_id": newID("call_"), "name": c.name, "arguments": arguments(c),
		})
	}
	whole := object{
		"id": newID("resp_"), "object": "response", "created_at": 0, "model": r.model, "status": "completed", "output": items,
		"usage": object{
			"input_tokens": tokensIn, "input_tokens_details": object{"cached_tokens": tokensCached},
			"output_tokens": tokensOut, "output_tokens_details": object{"reasoning_tokens": 0}, "total_tokens": tokensIn + tokensOut,
		},
	}
	if !r.stream {
		return json.NewEncoder(w).Encode(whole)
	}
	e := &events{w: w}
	n := 0
	send := func(kind string, data object) {
		data["type"], data["sequence_number"] = kind, n
		n++
		e.send(kind, data)
	}
	send("response.created", object{"response": object{"id": whole["id"], "object": "response", "created_at": 0, "model": r.model, "status": "in_progress", "output": []object{}}})
	open := object{"id": said["id"], "type": "message", "role": "assistant", "status": "in_progress", "content": []object{}}
	send("response.output_item.added", object{"output_index": 0, "item": open})
	for _, piece := range pieces(text) {
		send("response.output_text.delta", object{"item_id": said["id"], "output_index": 0, "content_index": 0, "delta": piece})
	}
	for i, item := range items {
		send("response.output_item.done", object{"output_index": i, "item": item})
	}
	send("response.completed", object{"response": whole})
	return e.err
}

func (responses) failure(status int, text string) any { return openAIFailure(status, text) }
