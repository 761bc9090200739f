package acp

import (
	"encoding/json"
	"hash/fnv"
	"strconv"
	"strings"

	"ralph/internal/toolcall"
)

const (
	maxShown = 16 << 10 // of a command
	maxTitle = 300
)

// update is any session/update, read leniently: what is missing or of another
// type is zero, and kinds we do not know are left out.
type update struct {
	toolcall.Said // of a tool call; other updates have a content, too

	What       string          `json:"sessionUpdate"`
	MessageID  string          `json:"messageId"`
	ToolCallID string          `json:"toolCallId"`
	Status     string          `json:"status"`
	RawOutput  json.RawMessage `json:"rawOutput"`
	Entries    []PlanEntry     `json:"entries"`
	Used       int64           `json:"used"`
	Cost       *struct {
		Amount   float64 `json:"amount"`
		Currency string  `json:"currency"`
	} `json:"cost"`
	ConfigOptions []json.RawMessage `json:"configOptions"`
	Meta          json.RawMessage   `json:"_meta"`
}

type updateParams struct {
	SessionID string `json:"sessionId"`
	Update    update `json:"update"`
}

type block struct {
	Type    string `json:"type"`
	Text    string `json:"text"`
	Content *block `json:"content"`
}

// lenient reads what fits; a field that is missing or of another type is zero.
// Agents add to the protocol and bend it, and a session survives that.
func lenient(raw json.RawMessage, into any) { _ = json.Unmarshal(raw, into) }

// onUpdate takes one update in. It appends and returns: it runs in the reader.
func (s *Session) onUpdate(p updateParams) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.id == "" || p.SessionID != s.id {
		return // of another session, or history replayed before ours began
	}
	u := p.Update
	at := s.turn
	if at != nil && at.over {
		at = nil // after the end of a turn: it is in the transcript, it counts for nothing
	}
	if at != nil && u.What != "agent_message_chunk" && u.What != "tool_call" {
		at.interject()
	}
	switch u.What {
	case "usage_update":
		if u.Cost != nil && strings.EqualFold(u.Cost.Currency, "USD") {
			s.meter.sum(u.Cost.Amount)
		}
		if s.turn != nil {
			s.meter.took(u.Used)
		}
		if live := liveUsage(u.Meta); at != nil && live.counted() {
			s.meter.turn = live
		}
		s.observer.push(UsageSeen{ContextUsed: u.Used})
		return
	case "config_option_update":
		s.options = u.ConfigOptions
		if model := findOption(u.ConfigOptions, "model"); model != nil {
			s.model.Effective = model.current
		}
		return
	}
	if at == nil {
		return
	}
	switch u.What {
	case "session_info_update":
		at.report(u.Meta)
	case "agent_message_chunk":
		s.onText(u)
	case "agent_thought_chunk":
		if text := chunkText(u.Content); text != "" {
			s.observer.push(Thought{Text: text})
		}
	case "tool_call", "tool_call_update":
		s.onTool(u)
	case "plan":
		s.observer.push(Plan{Entries: u.Entries})
	}
}

// onAnswer ends the turn for what is still to come: an update after the answer
// is not part of it, whether we are quick or slow to return.
func (s *Session) onAnswer() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.turn != nil {
		s.turn.over = true
	}
}

func (s *Session) onText(u update) {
	text := chunkText(u.Content)
	if text == "" {
		return
	}
	if err := s.turn.say(text, u.MessageID); err != nil {
		select {
		case s.faults <- err:
		default:
		}
		return
	}
	s.observer.push(Text{Text: text})
}

func (s *Session) onTool(u update) {
	var blocks []block
	lenient(u.Content, &blocks)
	said := u.Said
	if s.cfg.Decide == nil && len(said.RawInput) >= maxShown {
		said.RawInput = nil // a file, most often
	}
	c := said.Call(s.name)
	if s.cfg.Decide != nil && len(s.turn.announced) < maxTools {
		s.turn.announced[u.ToolCallID] = c.Or(s.turn.announced[u.ToolCallID])
	}
	c.Status, c.Command, c.Text = u.Status, cut(s.hide.Text(c.Command), maxShown), cut(s.hide.Text(c.Text), maxShown)
	var diffs []string
	for _, path := range said.Diffs() {
		diffs = append(diffs, s.name(path))
	}
	call := ToolCall{ID: u.ToolCallID, Title: cut(s.hide.Text(u.Title), maxTitle), Call: c, InputSum: digest(u.RawInput)}
	if u.Status == toolcall.Failed {
		call.Error = cut(s.hide.Text(toolError(blocks, u.RawOutput)), 2000)
	}
	if toolcall.Over(u.Status) {
		call.ResultSum = digest(u.Content, u.RawOutput)
	}
	s.observer.push(s.turn.tool(call, u.What == "tool_call", diffs))
}

func chunkText(content json.RawMessage) string {
	var b block
	if json.Unmarshal(content, &b) != nil || b.Type != "text" {
		return ""
	}
	return b.Text
}

func toolError(blocks []block, rawOutput json.RawMessage) string {
	var b strings.Builder
	for _, item := range blocks {
		if item.Content != nil {
			b.WriteString(item.Content.Text)
		}
	}
	if b.Len() == 0 {
		b.Write(rawOutput)
	}
	return b.String()
}

// maxDigested is how much JSON is looked into; what is larger is taken as it is.
const maxDigested = 64 << 10

// volatile members differ each time the same thing is done: IDs and times.
var volatile = map[string]bool{
	"callid": true, "toolcallid": true, "processid": true, "pid": true, "turnid": true, "sessionid": true, "terminalid": true,
	"requestid": true, "messageid": true, "itemid": true, "timestamp": true, "duration": true, "durationms": true, "elapsed": true,
	"elapsedms": true, "startedat": true, "startedatms": true, "completedat": true, "completedatms": true, "endedat": true,
	"endedatms": true, "finishedat": true, "walltime": true, "walltimeseconds": true,
}

// digest is a checksum of JSON without volatile members, empty for nothing. It is for
// noticing repetition, not for proving anything.
func digest(parts ...json.RawMessage) string {
	h, size := fnv.New64a(), 0
	for _, p := range parts {
		size += len(p)
		var v any
		if len(p) <= maxDigested && json.Unmarshal(p, &v) == nil {
			if plain, err := json.Marshal(stable(v)); err == nil {
				p = plain // with its members in order
			}
		}
		_, _ = h.Write(p) // never fails
	}
	if size == 0 {
		return ""
	}
	return strconv.FormatUint(h.Sum64(), 36)
}

func stable(v any) any {
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = stable(v[i])
		}
	case map[string]any:
		for name, member := range v {
			if volatile[strings.ToLower(strings.ReplaceAll(name, "_", ""))] {
				delete(v, name)
				continue
			}
			v[name] = stable(member)
		}
	}
	return v
}
