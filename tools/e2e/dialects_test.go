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

// said is an answer of the model.
type said struct {
	text  string
	call  *call
	short bool // it is longer than allowed, and ends there
	used  used
}

// used is what a request has used: a token is four bytes of what was asked and of what was said, and a fifth of what
// was asked is said to come from a cache.
type used struct{ In, Cached, Out int }

func count(body []byte, text string, c *call) used {
	in, out := len(body)/4, len(text)
	if c != nil {
		out += len(c.name) + len(c.written())
	}
	return used{In: in - in/5, Cached: in / 5, Out: out/4 + 1}
}

func (u used) plus(v used) used { return used{u.In + v.In, u.Cached + v.Cached, u.Out + v.Out} }

func writeAnthropic(w io.Writer, r request, a said) error {
	usage := func(out int) object {
		return object{"input_tokens": a.used.In, "cache_read_input_tokens": a.used.Cached, "cache_creation_input_tokens": 0, "output_tokens": out}
	}
	stop, c := "end_turn", a.call
	blocks := []object{{"type": "text", "text": a.text}}
	if c != nil {
		stop = "tool_use"
		blocks = append(blocks, object{"type": "tool_use", "id": newID("toolu_"), "name": c.name, "input": c.args})
	}
	if a.short {
		stop = "max_tokens"
	}
	head := object{"id": newID("msg_"), "type": "message", "role": "assistant", "model": r.Model, "stop_sequence": nil}
	if !r.Stream {
		head["content"], head["stop_reason"], head["usage"] = blocks, stop, usage(a.used.Out)
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
	block(0, object{"type": "text", "text": ""}, "text_delta", "text", a.text)
	if c != nil {
		blocks[1]["input"] = object{}
		block(1, blocks[1], "input_json_delta", "partial_json", c.written())
	}
	send("message_delta", object{"delta": object{"stop_reason": stop, "stop_sequence": nil}, "usage": usage(a.used.Out)})
	send("message_stop", object{})
	return e.err
}

func anthropicFailure(status int, text string) object {
	kind := map[int]string{
		400: "invalid_request_error", 401: "authentication_error", 404: "not_found_error", 429: "rate_limit_error", 529: "overloaded_error",
	}[status]
	return object{"type": "error", "error": object{"type": cmp.Or(kind, "api_error"), "message": text}}
}

func writeChat(w io.Writer, r request, a said) error {
	in := a.used.In + a.used.Cached
	usage := object{
		"prompt_tokens": in, "completion_tokens": a.used.Out, "total_tokens": in + a.used.Out,
		"prompt_tokens_details": object{"cached_tokens": a.used.Cached},
	}
	finish, c := "stop", a.call
	said := object{"role": "assistant", "content": a.text}
	if c != nil {
		finish = "tool_calls"
		said["tool_calls"] = []object{{"index": 0, "id": newID("call_"), "type": "function", "function": object{"name": c.name, "arguments": c.written()}}}
	}
	if a.short {
		finish = "length"
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
	for _, piece := range pieces(a.text) {
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

func writeResponses(w io.Writer, r request, a said) error {
	in, c := a.used.In+a.used.Cached, a.call
	said := object{
		"id": newID("msg_"), "type": "message", "role": "assistant", "status": "completed",
		"content": []object{{"type": "output_text", "text": a.text, "annotations": []object{}}},
	}
	items := []object{said}
	if c != nil {
		items = append(items, object{
			"id": newID("fc_"), "type": "function_call", "status": "completed", "call_id": newID("call_"), "name": c.name, "arguments": c.written(),
		})
		if c.namespace != "" {
			items[1]["namespace"] = c.namespace
		}
	}
	whole := object{
		"id": newID("resp_"), "object": "response", "created_at": 0, "model": r.Model, "status": "completed", "output": items,
		"usage": object{
			"input_tokens": in, "input_tokens_details": object{"cached_tokens": a.used.Cached},
			"output_tokens": a.used.Out, "output_tokens_details": object{"reasoning_tokens": 0}, "total_tokens": in + a.used.Out,
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
	for _, piece := range pieces(a.text) {
		send("response.output_text.delta", object{"item_id": said["id"], "output_index": 0, "content_index": 0, "delta": piece})
	}
	for i, item := range items {
		send("response.output_item.done", object{"output_index": i, "item": item})
	}
	send("response.completed", object{"response": whole})
	return e.err
}

// The providers' own words for a request that does not fit.
const (
	anthropicTooLong = "prompt is too long: 210000 tokens > 200000 maximum"
	openAITooLong    = "This model's maximum context length is 128000 tokens. However, your messages resulted in 130000 tokens. Please reduce the length of the messages."
	geminiTooLong    = "The input token count (1050000) exceeds the maximum number of tokens allowed (1048576)."
)

func openAIFailure(status int, text string) object {
	kind, code := "server_error", "server_error"
	switch status {
	case 400:
		kind, code = "invalid_request_error", "invalid_value"
		if text == openAITooLong {
			code = "context_length_exceeded"
		}
	case 401:
		kind, code = "invalid_request_error", "invalid_api_key"
	case 404:
		kind, code = "invalid_request_error", "model_not_found"
	case 429:
		kind, code = "rate_limit_error", "rate_limit_exceeded"
	}
	return object{"error": object{"message": text, "type": kind, "code": code, "param": nil}}
}

func writeGemini(w io.Writer, r request, a said) error {
	id, in, c := newID(""), a.used.In+a.used.Cached, a.call
	answer := func(parts ...object) object {
		return object{
			"candidates":   []object{{"index": 0, "content": object{"role": "model", "parts": parts}}},
			"modelVersion": r.Model, "responseId": id,
		}
	}
	list := pieces(a.text)
	if !r.Stream {
		list = []string{a.text}
	}
	// The call stands beside a text: a part without text would make the whole answer invalid.
	parts := []object{{"text": list[len(list)-1]}}
	if c != nil {
		parts = append(parts, object{"functionCall": object{"id": newID("call_"), "name": c.name, "args": c.args}})
	}
	last := answer(parts...)
	last["candidates"].([]object)[0]["finishReason"] = "STOP"
	last["usageMetadata"] = object{
		"promptTokenCount": in, "cachedContentTokenCount": a.used.Cached, "candidatesTokenCount": a.used.Out, "totalTokenCount": in + a.used.Out,
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
