package transcript

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"strings"

	"ralph/internal/toolcall"
)

// Call is a tool call of an agent.
type Call struct {
	toolcall.Call
	Over bool // it ended, or its turn did
}

// Calls reads the tool calls that were begun in an attempt, from its transcript.jsonl. Each message is there before
// anybody acts on it, so what is not over was under way when the attempt was cut off. A call that was refused, or
// that still waited for a permission, was not begun. Without a file there are none.
func Calls(path string) ([]Call, error) {
	c := calls{byID: map[string]*call{}}
	file := tail{path: path}
	err := file.poll(c.line)
	out := make([]Call, 0, len(c.order))
	for _, at := range c.order {
		if !at.waits {
			at.Call.Call = at.Complete()
			out = append(out, at.Call)
		}
	}
	return out, err
}

type call struct {
	Call
	waits bool // for a permission
}

type calls struct {
	dir    string // of the session
	prompt string // the ID of the request that is the turn
	byID   map[string]*call
	asked  map[string]func(json.RawMessage)
	order  []*call
}

func (c *calls) line(text []byte) {
	if bytes.Contains(text, []byte(`"session/update"`)) && !bytes.Contains(text, []byte(`"tool_call`)) {
		return // most of a transcript
	}
	w := parse[wireLine](text)
	m, id := w.Msg, string(w.Msg.ID)
	switch {
	case m.Method == "session/prompt" && w.Dir == "out":
		c.endTurn()
		c.prompt = id
	case m.Method != "" && w.Dir == "out":
		if dir := parse[struct{ Cwd string }](m.Params).Cwd; dir != "" {
			c.dir = dir
		}
	case m.Method == "session/update":
		c.update(m.Params)
	case m.Method == "session/request_permission":
		c.permission(id, m.Params)
	case w.Dir == "out":
		if answered := c.asked[id]; answered != nil {
			answered(m.Result)
			delete(c.asked, id)
		}
	case w.Dir == "in" && m.Method == "" && id != "" && id == c.prompt:
		c.endTurn()
	}
}

func (c *calls) endTurn() {
	for _, at := range c.order {
		at.Over = true
	}
	c.prompt, c.byID, c.asked = "", map[string]*call{}, map[string]func(json.RawMessage){}
}

func (c *calls) update(params json.RawMessage) {
	u := parse[struct {
		Update struct {
			toolcall.Said
			SessionUpdate, ToolCallID, Status string
		}
	}](params).Update
	if !strings.HasPrefix(u.SessionUpdate, "tool_call") || c.prompt == "" {
		return
	}
	at := c.byID[u.ToolCallID]
	if at == nil {
		at = &call{}
		c.byID[u.ToolCallID] = at
		c.order = append(c.order, at)
	}
	at.Call.Call = u.Call(c.name).Or(at.Call.Call)
	at.Over = at.Over || toolcall.Over(u.Status)
}

// name is a path as calls have it.
func (c *calls) name(path string) string {
	if rel, err := filepath.Rel(c.dir, path); err == nil && filepath.IsLocal(rel) {
		path = rel
	}
	return filepath.ToSlash(path)
}

// permission keeps a call from counting until it was allowed.
func (c *calls) permission(id string, params json.RawMessage) {
	p := parse[struct {
		ToolCall struct{ ToolCallID string }
		Options  []struct{ OptionID, Kind string }
	}](params)
	at := c.byID[p.ToolCall.ToolCallID]
	if at == nil {
		return
	}
	at.waits = true
	c.asked[id] = func(result json.RawMessage) {
		chosen := parse[struct{ Outcome struct{ OptionID string } }](result).Outcome.OptionID
		for _, o := range p.Options {
			if o.OptionID == chosen && strings.HasPrefix(o.Kind, "allow") {
				at.waits = false
			}
		}
	}
}
