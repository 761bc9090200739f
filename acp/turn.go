package acp

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"ralph/internal/proc"
	"ralph/internal/toolcall"
	"ralph/sigils"
)

const (
	maxText  = 512 << 20 // of one turn, for the sake of the disk
	maxTools = 1 << 14   // calls distinguished in one turn
	maxFiles = 1 << 12

	maxNotice = 1 << 10 // more than that is no notice about an error
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
	Segments []string // the agent's message text, cut wherever something else came in between
	Long     *Speech  // instead of Segments: more than fits into memory, to be read until the session is prompted again or closed
	Unserved bool     // the provider refused: the text, if any, is the agent's notice about it

	ToolCalls int
	Files     []string // touched, relative to Config.Dir, sorted
	Ran       *Ran     // the last command in a terminal whose end the agent waited for; nil if there was none
	Usage     Usage
}

// Ran is a command that has ended.
type Ran struct {
	proc.Exit
	output *ring
}

// Output is the end of what it printed.
func (r Ran) Output() string { text, _ := r.output.text(); return text }

// Empty reports a turn in which no model answered: not a word, no tool call, and
// nothing was paid for. Agents end a turn that way when they are rate limited or
// not logged in. A model that refuses without a word has answered: its tokens or
// their cost say so.
func (t Turn) Empty() bool {
	if t.Unserved {
		return true
	}
	paid := t.Usage.Output > 0 || t.Usage.CostUSD != nil && *t.Usage.CostUSD > 0
	return !paid && t.ToolCalls == 0 && !t.spoken()
}

// spoken says that there is a word in the text.
func (t Turn) spoken() bool {
	return t.Long != nil || strings.TrimSpace(strings.Join(t.Segments, "")) != ""
}

type turn struct {
	maxText   int
	cancelled chan struct{} // closed when it is to end before its time
	over      bool          // it was answered
	said      *Speech
	scan      *sigils.Scanner // knows whether the text stands in the middle of something
	size      int
	messageID string
	trouble   *trouble // the last error that the agent reported beside its text

	calls  int
	tools  map[string]ToolCall
	failed map[string]bool
	ran    *terminal
	files  map[written]struct{}

	announced map[string]toolcall.Call // what calls are to do, whole, if somebody decides about them
}

// written is a file and the call that says it writes it; empty if we wrote it.
type written struct{ path, call string }

func newTurn(maxText int, said *Speech) *turn {
	return &turn{
		maxText: maxText, said: said, cancelled: make(chan struct{}), announced: make(map[string]toolcall.Call), scan: sigils.NewScanner(""),
		tools: make(map[string]ToolCall), failed: make(map[string]bool), files: make(map[written]struct{}),
	}
}

// say appends message text. The error is about text that cannot be kept.
func (t *turn) say(text, messageID string) *Error {
	if messageID != "" && t.messageID != "" && messageID != t.messageID {
		t.cut()
	}
	if messageID != "" {
		t.messageID = messageID
	}
	t.size += len(text)
	if t.size > t.maxText {
		return &Error{Kind: Protocol, Op: opPrompt, Text: fmt.Sprintf("more than %d MiB of text in one turn", t.maxText>>20)}
	}
	if err := t.said.write(text); err != nil {
		return unkept(err)
	}
	t.scan.Write(text)
	if t.trouble != nil {
		t.trouble.after = cut(t.trouble.after+text, maxNotice)
	}
	return nil
}

func (t *turn) cut() {
	t.said.cut()
	t.scan.Break()
}

// interject notes that something other than text came. What was said before is a
// line of its own then, unless it stands in the middle of a sigil, or of code,
// which go on afterwards.
func (t *turn) interject() {
	if !t.scan.Open() {
		t.cut()
	}
}

// tool notes a call and returns it with what earlier updates said. Agents
// announce a call twice, or never, so every new ID counts once.
func (t *turn) tool(call ToolCall, announced bool, diffs []string) ToolCall {
	old, known := t.tools[call.ID]
	if (announced || !known) && !t.scan.InTag() {
		t.cut() // a model has finished what it says when it calls a tool
	}
	t.trouble = nil // it has recovered
	full := len(t.tools) >= maxTools
	switch {
	case known:
		call = merge(old, call)
	case announced || !full:
		t.calls++
		call.New = true
	}
	if call.Status == toolcall.Failed && len(t.failed) < maxTools {
		t.failed[call.ID] = true
	}
	if known || !full {
		kept := call
		kept.New = false
		t.tools[call.ID] = kept
	}
	if toolcall.Changes(call.Kind) {
		diffs = append(diffs, call.Paths...)
	}
	for _, path := range diffs {
		if filepath.IsLocal(path) && path != "." {
			t.touch(written{path, call.ID})
		}
	}
	call.Call = call.Complete()
	return call
}

func merge(old, call ToolCall) ToolCall {
	call.Call = call.Or(old.Call)
	call.Title = cmp.Or(call.Title, old.Title)
	call.InputSum, call.ResultSum = cmp.Or(call.InputSum, old.InputSum), cmp.Or(call.ResultSum, old.ResultSum)
	return call
}

func (t *turn) touch(w written) {
	if len(t.files) < maxFiles {
		t.files[w] = struct{}{}
	}
}

func (t *turn) result() Turn {
	out := Turn{ToolCalls: t.calls}
	out.Segments, out.Long = t.said.segments()
	if t.ran != nil {
		out.Ran = &Ran{t.ran.proc.Exit(), t.ran.output}
	}
	for w := range t.files {
		if w.call == "" || !t.failed[w.call] {
			out.Files = append(out.Files, w.path)
		}
	}
	slices.Sort(out.Files)
	out.Files = slices.Compact(out.Files)
	return out
}
