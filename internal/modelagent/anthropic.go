package modelagent

import (
	"encoding/json"
	"strings"
)

const (
	answerTokens = 16_000      // Anthropic wants a limit
	redacted     = "redacted:" // before the data of a thinking block that only Anthropic can read; no signature has a colon
)

var budgets = map[Effort]int{Low: 2_000, Medium: 8_000, High: 24_000}

// newAnthropic speaks Anthropic's Messages.
func newAnthropic(w *wire, key, token string) *connection {
	w.header.Set("Anthropic-Version", "2023-06-01")
	if key != "" {
		w.header.Set("X-Api-Key", key)
	} else if token != "" {
		w.header.Set("Authorization", "Bearer "+token)
	}
	return &connection{wire: w, protocol: protocol{"/messages", "/models?limit=1000", anthropicRequest, anthropicEvent}}
}

// anthropicRequest writes a request. What stays the same from one to the next ends with a mark, so that Anthropic reads
// it from its cache.
func anthropicRequest(r Request, w way) fields {
	q := fields{"model": r.Model, "stream": true}
	mark := fields{"type": "ephemeral"}
	if strings.TrimSpace(r.System) != "" {
		q["system"] = []fields{{"type": "text", "text": r.System, "cache_control": mark}}
	}
	var tools []fields
	for _, spec := range r.Tools {
		tools = append(tools, fields{"name": spec.Name, "description": spec.Description, "input_schema": spec.Schema})
	}
	if len(tools) > 0 {
		tools[len(tools)-1]["cache_control"] = mark
		q["tools"] = tools
	}
	var messages, ends []fields
	for _, m := range r.Messages {
		blocks := anthropicBlocks(m)
		if len(blocks) == 0 {
			continue
		}
		messages = append(messages, fields{"role": m.Role, "content": blocks})
		if m.Role == User {
			ends = append(ends, blocks[len(blocks)-1])
		}
	}
	q["messages"] = messages
	for _, end := range ends[max(len(ends)-2, 0):] { // the last but one is where the request before this one ended
		end["cache_control"] = mark
	}

	budget := budgets[r.Effort]
	if w.thinking == 2 {
		budget = 0
	}
	most := answerTokens + budget
	if w.most > 0 && most > w.most {
		most, budget = w.most, min(budget, w.most/2)
	}
	q["max_tokens"] = most
	switch {
	case budget == 0:
	case w.thinking == 0:
		q["thinking"] = fields{"type": "enabled", "budget_tokens": budget}
	default: // the model decides for itself
		q["thinking"] = fields{"type": "adaptive", "display": "summarized"}
		q["output_config"] = fields{"effort": r.Effort}
	}
	return q
}

func anthropicBlocks(m Message) []fields {
	var blocks []fields
	for _, b := range ordered(m.Blocks) {
		switch b.Kind {
		case Text:
			if strings.TrimSpace(b.Text) != "" { // it refuses an empty one
				blocks = append(blocks, fields{"type": "text", "text": b.Text})
			}
		case Thinking:
			if data, ok := strings.CutPrefix(b.Signature, redacted); ok {
				blocks = append(blocks, fields{"type": "redacted_thinking", "data": data})
			} else if b.Signature != "" { // or it is another provider's
				blocks = append(blocks, fields{"type": "thinking", "thinking": b.Text, "signature": b.Signature})
			}
		case Call:
			blocks = append(blocks, fields{"type": "tool_use", "id": b.ID, "name": b.Name, "input": sendableArgs(b.Args)})
		case Result:
			blocks = append(blocks, fields{"type": "tool_result", "tool_use_id": b.ID, "is_error": b.Failed, "content": output(b)})
		}
	}
	return blocks
}

// anthropicUsage is Usage in Anthropic's words.
type anthropicUsage struct {
	Input      int64 `json:"input_tokens"`
	CacheRead  int64 `json:"cache_read_input_tokens"`
	CacheWrite int64 `json:"cache_creation_input_tokens"`
	Output     int64 `json:"output_tokens"`
}

type anthropicBlock struct {
	Type, Text, Thinking, Signature, Data, ID, Name string
	Input                                           json.RawMessage
}

func (b anthropicBlock) begin(a *draft, index int) {
	switch b.Type {
	case "text":
		a.begin(index, Block{Kind: Text, Text: b.Text})
	case "thinking":
		a.begin(index, Block{Kind: Thinking, Text: b.Thinking, Signature: b.Signature})
	case "redacted_thinking":
		a.begin(index, Block{Kind: Thinking, Signature: redacted + b.Data})
	case "tool_use":
		a.begin(index, Block{Kind: Call, ID: b.ID, Name: b.Name, Args: b.Input})
	}
}

// anthropicEvent reads an event. Usage is counted over what was counted before, as not every event counts all. Blocks of a kind that nobody asked for are left out.
func anthropicEvent(a *draft, event []byte, thought func(string)) (last bool) {
	var e struct {
		Type    string
		Index   int
		Message struct{ Usage *anthropicUsage }
		Block   anthropicBlock   `json:"content_block"`
		Content []anthropicBlock // without streaming, and then
		Stop    string           `json:"stop_reason"`
		Delta   struct {
			Text, Thinking, Signature string
			Args                      string `json:"partial_json"`
			Stop                      string `json:"stop_reason"`
		}
		Usage *anthropicUsage
	}
	e.Usage = (*anthropicUsage)(&a.usage)
	e.Message.Usage = e.Usage
	_ = json.Unmarshal(event, &e) // what is not of its type is left out
	switch e.Type {
	case "content_block_start":
		e.Block.begin(a, e.Index)
	case "message":
		for i, b := range e.Content {
			b.begin(a, i)
		}
		a.stop, a.whole = e.Stop, e.Stop != ""
	case "content_block_delta":
		if p := a.find(e.Index); p != nil {
			p.text.WriteString(e.Delta.Text + e.Delta.Thinking + e.Delta.Args)
			p.signature.WriteString(e.Delta.Signature)
		}
		a.size += len(e.Delta.Text) + len(e.Delta.Thinking) + len(e.Delta.Args) + len(e.Delta.Signature)
		if e.Delta.Thinking != "" {
			thought(e.Delta.Thinking)
		}
	case "message_delta":
		a.stop = e.Delta.Stop
	case "message_stop":
		a.whole = true
	}
	return a.whole
}
