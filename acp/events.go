package acp

import "ralph/internal/toolcall"

// Event is something that happened in a session, for people to see. It is one
// of the types below.
type Event interface{ isEvent() }

// Text is a piece of what the agent says.
type Text struct{ Text string }

// Thought is a piece of what it thinks.
type Thought struct{ Text string }

// ToolCall is a call that was announced, or changed.
type ToolCall struct {
	ID    string
	Title string
	New   bool   // announced just now
	Error string // the beginning of what it said, when it failed

	toolcall.Call // as far as the agent has said

	InputSum  string // of what it was called with, empty if the agent does not say
	ResultSum string // of what came of it, once it has ended
}

// Plan is the agent's list of things to do.
type Plan struct{ Entries []PlanEntry }

// PlanEntry is one of them.
type PlanEntry struct {
	Content string `json:"content"`
	Status  string `json:"status"`
}

// UsageSeen says that the session has used something; Session.Usage says what.
type UsageSeen struct{ ContextUsed int64 }

// Permission is a call of the agent that was decided.
type Permission struct {
	Title  string
	Answer string // the kind of the option chosen, or cancelled; allowed or denied for what the agent wants from us
	Kind   string // of the call; this and what follows is empty if nobody decides
	Text   string // the command, the files, or the title
	Decision
}

// FileWritten is a file that was written for the agent.
type FileWritten struct{ Path string }

// TerminalOpened is a command that is run for the agent.
type TerminalOpened struct{ Command string }

// Resumed says that the session is an earlier one.
type Resumed struct{ Session string }

// Warned says what was configured and could not be had.
type Warned struct{ Text string }

// Dropped says that so many events were not shown because showing was slow.
type Dropped struct{ Events int }

func (Text) isEvent()           {}
func (Thought) isEvent()        {}
func (ToolCall) isEvent()       {}
func (Plan) isEvent()           {}
func (UsageSeen) isEvent()      {}
func (Permission) isEvent()     {}
func (FileWritten) isEvent()    {}
func (TerminalOpened) isEvent() {}
func (Resumed) isEvent()        {}
func (Warned) isEvent()         {}
func (Dropped) isEvent()        {}
