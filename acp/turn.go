package acp

import (
	"maps"
	"slices"
	"strings"
	"time"
)

const (
	maxText  = 64 << 20 // of one turn
	maxTools = 1 << 14  // calls told apart in one turn
	maxFiles = 1 << 12
)

// StopReason is why an agent ended its turn.
type StopReason string

// The reasons there are.
const (
	StopEnd             StopReason = "end_turn"
	StopMaxTokens       StopReason = "max_tokens"
	StopMaxTurnRequests StopReason = "max_turn_requests"
	StopRefusal         StopReason = "refusal"
	StopCancelled       StopReason = "cancelled"
)

// Turn is what came of one prompt. With an error it holds what was received
// until then, and Stop is empty unless the agent still answered.
type Turn struct {
	Stop     StopReason
	Segments []string // the agent's message text, cut wherever it called a tool

	ToolCalls    int
	ToolFailures int
	Files        []string // touched, relative to Config.Dir, sorted
	Usage        Usage
	Duration     time.Duration
}

// Empty reports a turn without a word and without a tool call. Agents end a
// turn that way when they are rate limited or not logged in.
func (t Turn) Empty() bool {
	return t.ToolCalls == 0 && !slices.ContainsFunc(t.Segments, func(s string) bool { return strings.TrimSpace(s) != "" })
}

// Text is the whole message with a line break where a tool was called.
func (t Turn) Text() string { return strings.Join(t.Segments, "\n") }

// turn is a Turn being received.
type turn struct {
	began     time.Time
	maxText   int
	over      bool // it was answered
	segments  []string
	text      strings.Builder
	size      int
	messageID string

	calls    int
	failures int
	tools    map[string]ToolCall
	failed   map[string]bool
	files    map[string]struct{}
}

func newTurn(began time.Time, maxText int) *turn {
	return &turn{began: began, maxText: maxText, tools: make(map[string]ToolCall), failed: make(map[string]bool), files: make(map[string]struct{})}
}

// say appends message text; false means that there is too much of it.
func (t *turn) say(text, messageID string) bool {
	if messageID != "" && t.messageID != "" && messageID != t.messageID {
		t.cut()
	}
	if messageID != "" {
		t.messageID = messageID
	}
	t.size += len(text)
	if t.size > t.maxText {
		return false
	}
	t.text.WriteString(text)
	return true
}

// cut ends a segment.
func (t *turn) cut() {
	if t.text.Len() > 0 {
		t.segments = append(t.segments, t.text.String())
		t.text.Reset()
	}
}

// inSigil says that the line being said may hold an unfinished sigil: what a model
// says while a call of it goes on must not be cut there. A notice that an agent
// adds itself during a call has none, and what follows the call is not part of it.
func (t *turn) inSigil() bool {
	text := t.text.String()
	return strings.Contains(text[strings.LastIndexByte(text, '\n')+1:], "<")
}

// tool notes a call and returns it with what earlier updates said. Agents
// announce a call twice, or never, so every new ID counts once.
func (t *turn) tool(call ToolCall, announced bool, diffs []string) ToolCall {
	old, known := t.tools[call.ID]
	if announced || !known || call.Status != old.Status && ended(call.Status) && !t.inSigil() {
		t.cut()
	}
	full := len(t.tools) >= maxTools
	switch {
	case known:
		call = merge(old, call)
	case announced || !full:
		t.calls++
		call.New = true
	}
	if call.Status == "failed" && !t.failed[call.ID] {
		t.failures++
		if len(t.failed) < maxTools {
			t.failed[call.ID] = true
		}
	}
	if known || !full {
		kept := call
		kept.New = false
		t.tools[call.ID] = kept
	}
	for _, path := range diffs {
		t.touch(path)
	}
	if writes(call.Kind) {
		for _, path := range call.Paths {
			t.touch(path)
		}
	}
	return call
}

func ended(status string) bool { return status == "completed" || status == "failed" }

func merge(old, call ToolCall) ToolCall {
	if call.Title == "" {
		call.Title = old.Title
	}
	if call.Kind == "" {
		call.Kind = old.Kind
	}
	if call.Status == "" {
		call.Status = old.Status
	}
	if call.Paths == nil {
		call.Paths = old.Paths
	}
	if call.Input == "" {
		call.Input = old.Input
	}
	if call.Result == "" {
		call.Result = old.Result
	}
	return call
}

// writes says whether a tool of this kind changes the files it names.
func writes(kind string) bool {
	return kind == "edit" || kind == "delete" || kind == "move"
}

func (t *turn) touch(path string) {
	if len(t.files) < maxFiles {
		t.files[path] = struct{}{}
	}
}

func (t *turn) result(now time.Time) Turn {
	t.cut()
	out := Turn{
		Segments:     t.segments,
		ToolCalls:    t.calls,
		ToolFailures: t.failures,
		Duration:     now.Sub(t.began),
	}
	if len(t.files) > 0 {
		out.Files = slices.Sorted(maps.Keys(t.files))
	}
	return out
}
