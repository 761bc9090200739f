package model

import (
	"cmp"
	"encoding/json"
	"io"
)

// anthropic is the Messages API.
type anthropic struct{}

func (anthropic) parse(body []byte) (request, error) {
	var in struct {
		Model    string `json:"model"`
		Stream   bool   `json:"stream"`
		Messages []struct {
			Role    string          `json:"role"`
			Content json.RawMessage `json:"content"`
		} `json:"messages"`
		Tools []struct {
			Name   string `json:"name"`
			Schema schema `json:"input_schema"`
		} `json:"tools"`
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return request{}, err
	}
	r := request{model: in.Model, stream: in.Stream}
	for _, m := range in.Messages {
		r.messages = append(r.messages, anthropicMessages(m.Role, m.Content)...)
	}
	for _, t := range in.Tools {
		r.tools = append(r.tools, tool{t.Name, t.Schema})
	}
	return r, nil
}

// anthropicMessages takes the results of tools out of what the user says.
func anthropicMessages(role string, content json.RawMessage) []message {
	var blocks []struct {
		Type    string          `json:"type"`
		Content json.RawMessage `json:"content"`
	}
	if json.Unmarshal(content, &blocks) != nil {
		return []message{{role: role, text: text(content)}}
	}
	said := message{role: role, text: text(content)}
	var list []message
	for _, b := range blocks {
		switch b.Type {
		case "tool_use":
			said.calls++
		case "tool_result":
			list = append(list, message{role: "tool", text: text(b.Content)})
		}
	}
	return append(list, said)
}

func (anthropic) usage(out int) object {
	return object{"input_tokens": tokensIn, "cache_read_input_tokens": tokensCached, "cache_creation_input_tokens": 0, "output_tokens": out}
}

func (p anthropic) write(w io.Writer, r request, text string, c *call) error {
	stop := "end_turn"
	blocks := []object{{"type": "text", "text": text}}
	if c != nil {
		stop = "tool_use"
		blocks = append(blocks, object{"type": "tool_use", "id": newID("toolu_"), "name": c.name, "input": c.args})
	}
	head := object{"id": newID("msg_"), "type": "message", "role": "assistant", "model": r.model, "stop_sequence": nil}
	if !r.stream {
		head["content"], head["stop_reason"], head["usage"] = blocks, stop, p.usage(tokensOut)
		return json.NewEncoder(w).Encode(head)
	}
	head["content"], head["stop_reason"], head["usage"] = []object{}, nil, p.usage(1)
	e := &events{w: w}
	send := func(kind string, data object) {
		data["type"] = kind
		e.send(kind, data)
	}
	send("message_start", object{"message": head})
	block := func(i int, empty object, delta, key, text string) {
		send("content_block_start", object{"index": i, "content_block": empty})
		for _, piece := range pieces(text) {
			send("content_block_delta", object{"index": i, "delta": object{"type": delta, key: piece}})
		}
		send("content_block_stop", object{"index": i})
	}
	block(0, object{"type": "text", "text": ""}, "text_delta", "text", text)
	if c != nil {
		blocks[1]["input"] = object{}
		block(1, blocks[1], "input_json_delta", "partial_json", arguments(c))
	}
	send("message_delta", object{"delta": object{"stop_reason": stop, "stop_sequence": nil}, "usage": p.usage(tokensOut)})
	send("message_stop", object{})
	return e.err
}

func (anthropic) failure(status int, text string) any {
	kind := map[int]string{401: "authentication_error", 429: "rate_limit_error", 529: "overloaded_error"}[status]
	return object{"type": "error", "error": object{"type": cmp.Or(kind, "api_error"), "message": text}}
}
