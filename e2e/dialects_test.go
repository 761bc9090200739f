package e2e

import (
	"cmp"
	"crypto/rand"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
)

type object = map[string]any

// What every answer is said to have used.
const (
	tokensIn     = 1000
	tokensCached = 200
	tokensOut    = 50
)

func writeAnthropic(w io.Writer, r request, text string, c *call) error {
	usage := func(out int) object {
		return object{"input_tokens": tokensIn, "cache_read_input_tokens": tokensCached, "cache_creation_input_tokens": 0, "output_tokens": out}
	}
	stop := "end_turn"
	blocks := []object{{"type": "text", "text": text}}
	if c != nil {
		stop = "tool_use"
		blocks = append(blocks, object{"type": "tool_use", "id": newID("toolu_"), "name": c.name, "input": c.args})
	}
	head := object{"id": newID("msg_"), "type": "message", "role": "assistant", "model": r.Model, "stop_sequence": nil}
	if !r.Stream {
		head["content"], head["stop_reason"], head["usage"] = blocks, stop, usage(tokensOut)
		return json.NewEncoder(w).Encode(head)
	}
	head["content"], head["stop_reason"], head["usage"] = []object{}, nil, usage(1)
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
		block(1, blocks[1], "input_json_delta", "partial_json", encode(c.args))
	}
	send("message_delta", object{"delta": object{"stop_reason": stop, "stop_sequence": nil}, "usage": usage(tokensOut)})
	send("message_stop", object{})
	return e.err
}

func anthropicFailure(status int, text string) object {
	kind := map[int]string{401: "authentication_error", 429: "rate_limit_error", 529: "overloaded_error"}[status]
	return object{"type": "error", "error": object{"type": cmp.Or(kind, "api_error"), "message": text}}
}

func writeChat(w io.Writer, r request, text string, c *call) error {
	usage := object{
		"prompt_tokens": tokensIn, "completion_tokens": tokensOut, "total_tokens": tokensIn + tokensOut,
		"prompt_tokens_details": object{"cached_tokens": tokensCached},
	}
	finish := "stop"
	said := object{"role": "assistant", "content": text}
	if c != nil {
		finish = "tool_calls"
		said["tool_calls"] = []object{{"index": 0, "id": newID("call_"), "type": "function", "function": object{"name": c.name, "arguments": encode(c.args)}}}
	}
	id := newID("chatcmpl-")
	whole := func(kind string, choices ...object) object {
		return object{"id": id, "object": kind, "created": 0, "model": r.Model, "choices": choices}
	}
	if !r.Stream {
		all := whole("chat.completion", object{"index": 0, "message": said, "finish_reason": finish})
		all["usage"] = usage
		return json.NewEncoder(w).Encode(all)
	}
	e := &events{w: w}
	chunk := func(delta object, finish any) {
		e.send("", whole("chat.completion.chunk", object{"index": 0, "delta": delta, "finish_reason": finish}))
	}
	chunk(object{"role": "assistant", "content": ""}, nil)
	for _, piece := range pieces(text) {
		chunk(object{"content": piece}, nil)
	}
	if c != nil {
		chunk(object{"tool_calls": said["tool_calls"]}, nil)
	}
	chunk(object{}, finish)
	last := whole("chat.completion.chunk")
	last["choices"], last["usage"] = []object{}, usage
	e.send("", last)
	if e.err == nil {
		_, e.err = io.WriteString(w, "data: [DONE]\n\n")
	}
	return e.err
}

func writeResponses(w io.Writer, r request, text string, c *call) error {
	said := object{
		"id": newID("msg_"), "type": "message", "role": "assistant", "status": "completed",
		"content": []object{{"type": "output_text", "text": text, "annotations": []object{}}},
	}
	items := []object{said}
	if c != nil {
		items = append(items, object{
			"id": newID("fc_"), "type": "function_call", "status": "completed", "call_id": newID("call_"), "name": c.name, "arguments": encode(c.args),
		})
		if c.namespace != "" {
			items[1]["namespace"] = c.namespace
		}
	}
	whole := object{
		"id": newID("resp_"), "object": "response", "created_at": 0, "model": r.Model, "status": "completed", "output": items,
		"usage": object{
			"input_tokens": tokensIn, "input_tokens_details": object{"cached_tokens": tokensCached},
			"output_tokens": tokensOut, "output_tokens_details": object{"reasoning_tokens": 0}, "total_tokens": tokensIn + tokensOut,
		},
	}
	if !r.Stream {
		return json.NewEncoder(w).Encode(whole)
	}
	e := &events{w: w}
	n := 0
	send := func(kind string, data object) {
		data["type"], data["sequence_number"] = kind, n
		n++
		e.send(kind, data)
	}
	send("response.created", object{"response": object{"id": whole["id"], "object": "response", "created_at": 0, "model": r.Model, "status": "in_progress", "output": []object{}}})
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

func openAIFailure(status int, text string) object {
	kind, code := "server_error", "server_error"
	switch status {
	case 401:
		kind, code = "invalid_request_error", "invalid_api_key"
	case 429:
		kind, code = "rate_limit_error", "rate_limit_exceeded"
	}
	return object{"error": object{"message": text, "type": kind, "code": code, "param": nil}}
}

func writeGemini(w io.Writer, r request, text string, c *call) error {
	id := newID("")
	answer := func(parts ...object) object {
		return object{
			"candidates":   []object{{"index": 0, "content": object{"role": "model", "parts": parts}}},
			"modelVersion": r.Model, "responseId": id,
		}
	}
	list := pieces(text)
	if !r.Stream {
		list = []string{text}
	}
	// The call stands beside a text: a part without text would make the whole answer invalid.
	parts := []object{{"text": list[len(list)-1]}}
	if c != nil {
		parts = append(parts, object{"functionCall": object{"id": newID("call_"), "name": c.name, "args": c.args}})
	}
	last := answer(parts...)
	last["candidates"].([]object)[0]["finishReason"] = "STOP"
	last["usageMetadata"] = object{
		"promptTokenCount": tokensIn, "cachedContentTokenCount": tokensCached, "candidatesTokenCount": tokensOut, "totalTokenCount": tokensIn + tokensOut,
	}
	if !r.Stream {
		return json.NewEncoder(w).Encode(last)
	}
	e := &events{w: w}
	for _, piece := range list[:len(list)-1] {
		e.send("", answer(object{"text": piece}))
	}
	e.send("", last)
	return e.err
}

func geminiFailure(status int, text string) object {
	kind := map[int]string{400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 429: "RESOURCE_EXHAUSTED"}[status]
	return object{"error": object{"code": status, "message": text, "status": cmp.Or(kind, "UNAVAILABLE")}}
}

// events writes server-sent events; the first error ends it.
type events struct {
	w   io.Writer
	err error
}

// send writes one event; without a name only its data.
func (e *events) send(name string, data any) {
	if e.err != nil {
		return
	}
	if name != "" {
		name = "event: " + name + "\n"
	}
	_, e.err = io.WriteString(e.w, name+"data: "+encode(data)+"\n\n")
	if f, ok := e.w.(http.Flusher); ok {
		f.Flush()
	}
}

// pieces cuts a text as models do, so that sigils arrive in parts.
func pieces(text string) []string {
	var out []string
	for piece := range slices.Chunk([]byte(text), 7) {
		out = append(out, string(piece))
	}
	return append(out, "")[:max(len(out), 1)]
}

func encode(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err) // maps of strings, numbers and lists can be written
	}
	return string(raw)
}

func newID(prefix string) string { return prefix + strings.ToLower(rand.Text()) }
