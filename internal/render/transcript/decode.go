package transcript

import (
	"cmp"
	"encoding/json"
	"strings"
	"time"

	"ralph/internal/toolcall"
)

// decoder reads the lines of one attempt's transcript.jsonl, in order. What it does
// not know it leaves out: agents may say anything. The zero value is ready for use.
type decoder struct {
	sent      map[string]string                                // our requests, by ID: their method
	asked     map[string]func(result json.RawMessage, l *Line) // requests of the agent, by ID: what our answer means
	terminals map[string]string                                // what was last read from each
	titles    map[string]string                                // of tool calls, by ID
	context   int64                                            // tokens that the last request took
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

// parse returns the zero value for what is not as expected. Names match in any case, so the
// fields of its types need no tags.
func parse[T any](raw json.RawMessage) (v T) {
	if json.Unmarshal(raw, &v) != nil {
		return *new(T)
	}
	return v
}

// line returns what a line of the file says, or a Line without a kind.
func (d *decoder) line(text []byte) (l Line) {
	if d.sent == nil {
		*d = decoder{sent: map[string]string{}, asked: map[string]func(json.RawMessage, *Line){}, terminals: map[string]string{}, titles: map[string]string{}}
	}
	w := parse[wireLine](text)
	if w.Raw != "" {
		l = Line{Kind: Raw, Text: w.Raw}
	} else {
		l = d.message(w)
	}
	l.At = w.At
	return l
}

func (d *decoder) message(w wireLine) Line {
	m, id := w.Msg, string(w.Msg.ID)
	switch {
	case m.Method == "session/prompt" && w.Dir == "out":
		d.sent[id] = m.Method
		var parts []string
		for _, b := range parse[struct{ Prompt []block }](m.Params).Prompt {
			parts = append(parts, b.Text)
		}
		return Line{Kind: Prompt, Text: strings.Join(parts, "\n")}
	case m.Method != "" && w.Dir == "out":
		d.sent[id] = m.Method
		return Line{}
	case m.Method == "session/update":
		return d.update(m.Params)
	case m.Method != "":
		return d.request(id, m.Method, m.Params)
	case w.Dir == "out":
		var l Line
		if answered := d.asked[id]; answered != nil {
			delete(d.asked, id)
			answered(m.Result, &l)
		}
		return l
	}
	method := d.sent[id]
	delete(d.sent, id)
	if m.Error != nil {
		return Line{Kind: Failed, Text: strings.TrimSpace(method + ": " + m.Error.Message + " " + string(m.Error.Data))}
	}
	if why := parse[struct{ StopReason string }](m.Result).StopReason; method == "session/prompt" && why != "" && why != "end_turn" {
		return Line{Kind: Stopped, Text: why}
	}
	return Line{}
}

type block struct{ Text string }

func (d *decoder) update(params json.RawMessage) Line {
	u := parse[struct {
		Update struct {
			toolcall.Said
			SessionUpdate, ToolCallID, Status string
			Entries                           []struct{ Content, Status string }
			Used                              int64
		}
	}](params).Update
	switch u.SessionUpdate {
	case "agent_message_chunk", "agent_thought_chunk":
		l := Line{Kind: Said, Text: parse[block](u.Content).Text} // other content has no words
		if u.SessionUpdate == "agent_thought_chunk" {
			l.Kind = Thought
		}
		if l.Text != "" {
			return l
		}
	case "tool_call", "tool_call_update":
		t := &Tool{ID: u.ToolCallID, Title: u.Title, Kind: u.Kind, Status: u.Status, New: u.SessionUpdate == "tool_call", Input: inputText(u.Said)}
		t.Output, t.Files = d.toolContent(u.Content)
		if t.Title != "" {
			d.titles[t.ID] = t.Title
		}
		t.Title = d.titles[t.ID]
		return Line{Kind: ToolCall, Tool: t}
	case "usage_update":
		d.context = u.Used
	case "plan":
		var steps []string
		for _, e := range u.Entries {
			steps = append(steps, e.Status+": "+e.Content)
		}
		return Line{Kind: Plan, Text: strings.Join(steps, "\n")}
	}
	return Line{}
}

// toolContent is what a tool call shows: text, or what its terminal printed.
func (d *decoder) toolContent(raw json.RawMessage) (output string, files []string) {
	var texts, printed []string
	for _, c := range parse[[]struct {
		Type, Path, TerminalID string
		Content                block
	}](raw) {
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
func inputText(s toolcall.Said) string {
	of := toolcall.Said{Kind: s.Kind, RawInput: s.RawInput} // the title is shown anyway
	in := parse[struct{ Script, Pattern, Query any }](s.RawInput)
	text := func(v any) string { said, _ := v.(string); return said }
	call := of.Call(func(path string) string { return path }).Complete()
	return cmp.Or(text(in.Script), call.Subject(), text(in.Pattern), text(in.Query))
}

// request notes what the agent asks of us. Our answer then says how it ended.
func (d *decoder) request(id, method string, params json.RawMessage) Line {
	p := parse[struct {
		Path, TerminalID string
		ToolCall         struct{ Title, ToolCallID string }
	}](params)
	switch method {
	case "session/request_permission":
		what := cmp.Or(p.ToolCall.Title, d.titles[p.ToolCall.ToolCallID])
		d.asked[id] = func(result json.RawMessage, l *Line) {
			r := parse[struct {
				Outcome struct{ Outcome, OptionID string }
			}](result).Outcome
			l.Kind, l.Text = Asked, what+": "+cmp.Or(r.OptionID, r.Outcome)
		}
	case "terminal/output":
		d.asked[id] = func(result json.RawMessage, _ *Line) {
			if r := parse[*struct{ Output string }](result); r != nil {
				d.terminals[p.TerminalID] = r.Output
			}
		}
	case "fs/write_text_file":
		return Line{Kind: Wrote, Text: p.Path}
	}
	return Line{}
}
