package transcript

import (
	"cmp"
	"encoding/json"
	"strings"
	"time"
)

// decoder reads the lines of one attempt's transcript.jsonl, in order. What it does
// not know it leaves out: agents may say anything.
type decoder struct {
	asked     map[string]string // requests of the agent, by ID: what for
	sent      map[string]string // our requests, by ID: their method
	terminals map[string]string // what was last read from each
	reads     map[string]string // requests for it, by ID: from which
	titles    map[string]string // of tool calls, by ID
}

func newDecoder() *decoder {
	return &decoder{asked: map[string]string{}, sent: map[string]string{}, terminals: map[string]string{}, reads: map[string]string{}, titles: map[string]string{}}
}

// entry is one thing that was said, before it is known in which attempt.
type entry struct {
	at   time.Time
	kind Kind
	text string
	tool *Tool
}

type wireLine struct {
	At  time.Time `json:"at"`
	Dir string    `json:"dir"`
	Raw string    `json:"raw"`
	Msg struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
		Params json.RawMessage `json:"params"`
		Result json.RawMessage `json:"result"`
		Error  *struct {
			Message string          `json:"message"`
			Data    json.RawMessage `json:"data"`
		} `json:"error"`
	} `json:"msg"`
}

func (d *decoder) line(text []byte) []entry {
	var w wireLine
	if json.Unmarshal(text, &w) != nil {
		return nil
	}
	if w.Raw != "" {
		return []entry{{w.At, Raw, w.Raw, nil}}
	}
	m := w.Msg
	id := string(m.ID)
	switch {
	case m.Method != "" && w.Dir == "out":
		d.sent[id] = m.Method
		if m.Method == "session/prompt" {
			return []entry{{w.At, Prompt, promptText(m.Params), nil}}
		}
	case m.Method == "session/update":
		return d.update(w.At, m.Params)
	case m.Method != "":
		return d.request(w.At, id, m.Method, m.Params)
	case w.Dir == "out":
		return d.answered(w.At, id, m.Result)
	default:
		method := d.sent[id]
		delete(d.sent, id)
		if m.Error != nil {
			return []entry{{w.At, Failed, strings.TrimSpace(method + ": " + m.Error.Message + " " + string(m.Error.Data)), nil}}
		}
		var r struct {
			StopReason string `json:"stopReason"`
		}
		if method == "session/prompt" && json.Unmarshal(m.Result, &r) == nil && r.StopReason != "" && r.StopReason != "end_turn" {
			return []entry{{w.At, Stopped, r.StopReason, nil}}
		}
	}
	return nil
}

func promptText(params json.RawMessage) string {
	var p struct {
		Prompt []block `json:"prompt"`
	}
	_ = json.Unmarshal(params, &p) // what is not there is empty
	var parts []string
	for _, b := range p.Prompt {
		parts = append(parts, b.Text)
	}
	return strings.Join(parts, "\n")
}

type block struct {
	Text string `json:"text"`
	URI  string `json:"uri"`
}

type content struct {
	Type       string `json:"type"`
	Content    block  `json:"content"`
	Path       string `json:"path"`
	TerminalID string `json:"terminalId"`
}

func (d *decoder) update(at time.Time, params json.RawMessage) []entry {
	var p struct {
		Update struct {
			Kind       string          `json:"sessionUpdate"`
			Content    json.RawMessage `json:"content"`
			ToolCallID string          `json:"toolCallId"`
			Title      string          `json:"title"`
			ToolKind   string          `json:"kind"`
			Status     string          `json:"status"`
			RawInput   json.RawMessage `json:"rawInput"`
			Entries    []struct {
				Content string `json:"content"`
				Status  string `json:"status"`
			} `json:"entries"`
		} `json:"update"`
	}
	if json.Unmarshal(params, &p) != nil {
		return nil
	}
	u := p.Update
	switch u.Kind {
	case "agent_message_chunk", "agent_thought_chunk":
		var b block
		_ = json.Unmarshal(u.Content, &b) // other content than text is not told
		kind := Said
		if u.Kind == "agent_thought_chunk" {
			kind = Thought
		}
		if b.Text == "" {
			return nil
		}
		return []entry{{at, kind, b.Text, nil}}
	case "tool_call", "tool_call_update":
		t := &Tool{ID: u.ToolCallID, Title: u.Title, Kind: u.ToolKind, Status: u.Status, New: u.Kind == "tool_call", Input: inputText(u.RawInput)}
		t.Output, t.Files = d.toolContent(u.Content)
		if t.Title != "" {
			d.titles[t.ID] = t.Title
		}
		t.Title = d.titles[t.ID]
		return []entry{{at, ToolCall, "", t}}
	case "plan":
		var steps []string
		for _, e := range u.Entries {
			steps = append(steps, e.Status+": "+e.Content)
		}
		return []entry{{at, Plan, strings.Join(steps, "\n"), nil}}
	}
	return nil
}

// toolContent is what a tool call shows: text, or what its terminal printed.
func (d *decoder) toolContent(raw json.RawMessage) (output string, files []string) {
	var list []content
	if json.Unmarshal(raw, &list) != nil {
		return "", nil
	}
	var texts, printed []string
	for _, c := range list {
		switch {
		case c.Content.Text != "":
			texts = append(texts, c.Content.Text)
		case c.Type == "diff":
			files = append(files, c.Path)
		case c.TerminalID != "" && d.terminals[c.TerminalID] != "":
			printed = append(printed, d.terminals[c.TerminalID])
		}
	}
	if len(texts) == 0 {
		texts = printed
	}
	return strings.Join(texts, "\n"), files
}

// inputText is the one thing in a tool's input that people want to see.
func inputText(raw json.RawMessage) string {
	var in map[string]any
	if json.Unmarshal(raw, &in) != nil {
		return ""
	}
	for _, key := range []string{"script", "command", "cmd", "file_path", "path", "pattern", "query", "url"} {
		if s, ok := in[key].(string); ok && s != "" {
			return s
		}
	}
	return ""
}

func (d *decoder) request(at time.Time, id, method string, params json.RawMessage) []entry {
	var p struct {
		Path       string `json:"path"`
		TerminalID string `json:"terminalId"`
		ToolCall   struct {
			Title string `json:"title"`
			ID    string `json:"toolCallId"`
		} `json:"toolCall"`
	}
	_ = json.Unmarshal(params, &p) // what is not there is empty
	switch method {
	case "session/request_permission":
		d.asked[id] = cmp.Or(p.ToolCall.Title, d.titles[p.ToolCall.ID])
	case "terminal/output":
		d.reads[id] = p.TerminalID
	case "fs/write_text_file":
		return []entry{{at, Wrote, p.Path, nil}}
	}
	return nil
}

func (d *decoder) answered(at time.Time, id string, result json.RawMessage) []entry {
	if terminal, ok := d.reads[id]; ok {
		delete(d.reads, id)
		var r struct {
			Output string `json:"output"`
		}
		if json.Unmarshal(result, &r) == nil {
			d.terminals[terminal] = r.Output
		}
		return nil
	}
	what, ok := d.asked[id]
	if !ok {
		return nil
	}
	delete(d.asked, id)
	var r struct {
		Outcome struct {
			Outcome  string `json:"outcome"`
			OptionID string `json:"optionId"`
		} `json:"outcome"`
	}
	_ = json.Unmarshal(result, &r) // what is not there is empty
	return []entry{{at, Asked, what + ": " + cmp.Or(r.Outcome.OptionID, r.Outcome.Outcome), nil}}
}
