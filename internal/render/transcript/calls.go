package transcript

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
)

// Call is a tool call of an agent.
type Call struct {
	Kind, Title string
	Command     string   // of an execute
	Paths       []string // with slashes; below the session's folder if they lie in it
	Over        bool     // it ended, or its turn did
}

// Subject is the call in a line, for people.
func (c Call) Subject() string {
	if c.Command != "" {
		return c.Command
	}
	return strings.TrimSpace(c.Title + " " + strings.Join(c.Paths, ", "))
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
			SessionUpdate, ToolCallID, Title, Kind, Status string
			RawInput                                       json.RawMessage
			Locations                                      []struct{ Path string }
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
	for _, field := range []struct {
		to   *string
		said string
	}{{&at.Kind, u.Kind}, {&at.Title, u.Title}, {&at.Command, command(u.RawInput)}} {
		if field.said != "" {
			*field.to = field.said
		}
	}
	if at.Kind == "execute" && at.Command == "" { // some agents have it nowhere else
		at.Command = strings.Trim(at.Title, "`")
	}
	for _, l := range u.Locations {
		path := l.Path
		if rel, err := filepath.Rel(c.dir, path); err == nil && filepath.IsLocal(rel) {
			path = rel
		}
		if path = filepath.ToSlash(path); path != "" && !slices.Contains(at.Paths, path) {
			at.Paths = append(at.Paths, path)
		}
	}
	at.Over = at.Over || u.Status == "completed" || u.Status == "failed"
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

// command is what a tool runs, as a shell reads it.
func command(raw json.RawMessage) string {
	in := parse[struct{ Command, Cmd json.RawMessage }](raw)
	for _, value := range []json.RawMessage{in.Command, in.Cmd} {
		if text := parse[string](value); text != "" {
			return text
		}
		if words := parse[[]string](value); len(words) > 0 {
			for i, w := range words {
				if strings.ContainsAny(w, " \t\n'\"\\$`;&|<>*?()#~") {
					words[i] = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
				}
			}
			return strings.Join(words, " ")
		}
	}
	return ""
}
