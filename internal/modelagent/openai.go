package modelagent

import (
	"cmp"
	"encoding/json"
	"strings"
)

// newOpenAI speaks OpenAI's Chat Completions, which nearly every other server offers too.
func newOpenAI(w *wire, key string) *connection {
	if key != "" {
		w.header.Set("Authorization", "Bearer "+key)
	}
	return &connection{wire: w, protocol: protocol{"/chat/completions", "/models", openaiRequest, openaiEvent}}
}

func openaiRequest(r Request, w way) fields {
	q := fields{"model": r.Model, "stream": true, "stream_options": fields{"include_usage": true}}
	switch {
	case w.thinking == 0 && r.Effort != "":
		q["reasoning_effort"] = r.Effort
	case w.thinking == 2: // the model thinks unasked, and then refuses tools
		q["reasoning_effort"] = "none"
	}
	var tools, messages []fields
	for _, spec := range r.Tools {
		function := fields{"name": spec.Name, "description": spec.Description, "parameters": spec.Schema}
		tools = append(tools, fields{"type": "function", "function": function})
	}
	if len(tools) > 0 {
		q["tools"] = tools
	}
	if strings.TrimSpace(r.System) != "" {
		messages = append(messages, fields{"role": "system", "content": r.System})
	}
	for _, m := range r.Messages {
		messages = append(messages, openaiMessages(m)...)
	}
	q["messages"] = messages
	return q
}

// openaiMessages writes a message: each result is one of its own, before what else the user says.
func openaiMessages(m Message) []fields {
	var list, calls []fields
	var text []string
	for _, b := range ordered(m.Blocks) {
		switch b.Kind {
		case Text:
			text = append(text, b.Text)
		case Call:
			function := fields{"name": b.Name, "arguments": string(sendableArgs(b.Args))}
			calls = append(calls, fields{"id": b.ID, "type": "function", "function": function})
		case Result:
			list = append(list, fields{"role": "tool", "tool_call_id": b.ID, "content": output(b)})
		case Thinking: // it stays with the provider that made it
		}
	}
	message := fields{"role": m.Role}
	if said := strings.Join(text, "\n\n"); strings.TrimSpace(said) != "" {
		message["content"] = said
	}
	if len(calls) > 0 {
		message["tool_calls"] = calls
	}
	if len(message) > 1 {
		list = append(list, message)
	}
	return list
}

// openaiCall is a piece of a call.
type openaiCall struct {
	Index    int
	ID       string
	Function struct {
		Name      string
		Arguments json.RawMessage
	}
}

type openaiDelta struct {
	Content, Refusal, Reasoning string
	ReasoningContent            string       `json:"reasoning_content"`
	Calls                       []openaiCall `json:"tool_calls"`
}

// openaiEvent reads an event. None is known to be the last: the count of tokens comes after the message, if at all.
func openaiEvent(a *draft, event []byte, thought func(string)) (last bool) {
	var e struct {
		Choices []struct {
			Delta, Message openaiDelta // the latter without streaming
			Finish         string      `json:"finish_reason"`
		}
		Usage *struct {
			Input   int64 `json:"prompt_tokens"`
			Output  int64 `json:"completion_tokens"`
			Details struct {
				Cached int64 `json:"cached_tokens"`
			} `json:"prompt_tokens_details"`
		}
	}
	_ = json.Unmarshal(event, &e) // what is not of its type is left out
	if u := e.Usage; u != nil {
		cached := u.Details.Cached
		a.usage = Usage{Input: max(u.Input-cached, 0), CacheRead: cached, Output: u.Output}
	}
	for _, choice := range e.Choices {
		choice.Delta.add(a, thought)
		choice.Message.add(a, thought)
		a.stop = cmp.Or(choice.Finish, a.stop)
		a.whole = a.stop != "" && a.stop != "error"
	}
	return false
}

func (d openaiDelta) add(a *draft, thought func(string)) {
	if text := cmp.Or(d.ReasoningContent, d.Reasoning); text != "" {
		thought(text)
		a.size += len(text)
	}
	a.size += len(d.Content) + len(d.Refusal)
	const text = -1 // its index; calls have 0 and up
	if a.find(text) == nil {
		a.begin(text, Block{Kind: Text})
	}
	a.find(text).text.WriteString(d.Content + d.Refusal)
	for _, c := range d.Calls {
		c.add(a)
	}
}

// add finds the call that a piece belongs to. Some servers give all the same index, or no IDs.
func (c openaiCall) add(a *draft) {
	index, name := max(c.Index, 0), c.Function.Name
	p := a.find(index)
	begins := name != "" // without IDs, each call begins with its name
	if p != nil && c.ID != "" {
		begins = c.ID != p.ID
	}
	if p == nil || begins {
		p = a.begin(index, Block{Kind: Call, ID: c.ID, Name: name})
	}
	var text string
	if json.Unmarshal(c.Function.Arguments, &text) != nil {
		text = string(c.Function.Arguments) // an object in place of its text
	}
	p.text.WriteString(text)
	a.size += len(text)
}
