package hooks

import (
	"cmp"
	"strings"
	"time"

	"ralph/internal/event"
	"ralph/internal/toolcall"
)

// Version is the version of payloads. Fields may be added to a version; what exists keeps its
// meaning.
const Version = 1

// Payload is what a hook reads on its stdin. Fields that do not belong to its point are absent.
type Payload struct {
	V       int       `json:"v"`
	Point   Point     `json:"point"`
	At      time.Time `json:"at"`
	Project string    `json:"project"` // the folder of the project, in which hooks run

	Run     string `json:"run,omitempty"`
	Task    string `json:"task,omitempty"`
	Title   string `json:"title,omitempty"`
	Attempt string `json:"attempt,omitempty"`
	Dir     string `json:"dir,omitempty"` // where the agent works
	Agent   string `json:"agent,omitempty"`
	Model   string `json:"model,omitempty"`

	Prompt    string   `json:"prompt,omitempty"`
	Tool      *Tool    `json:"tool,omitempty"`
	Turn      *Turn    `json:"turn,omitempty"`
	Work      *Work    `json:"work,omitempty"`
	Merge     *Merge   `json:"merge,omitempty"`
	Knowledge []Known  `json:"knowledge,omitempty"`
	Answer    *Answers `json:"answer,omitempty"`

	Event *event.Event `json:"event,omitempty"` // as in docs/events.md
}

// Tool is a call of an agent, as rules match it.
type Tool struct {
	toolcall.Call
	Result *string `json:"result,omitempty"` // after it, if it has an input
}

// Turn is what an agent did with a prompt.
type Turn struct {
	Stop string `json:"stop"`           // why it ended
	Text string `json:"text,omitempty"` // the end of what it said
}

// Work is what is verified.
type Work struct {
	Gates    []string `json:"gates,omitempty"`    // the commands that check it
	Accepted *bool    `json:"accepted,omitempty"` // after verification
	Reason   string   `json:"reason,omitempty"`   // why it was not
}

// Merge is work that is about to land.
type Merge struct {
	Target string `json:"target"` // the branch, a full ref name
	Onto   string `json:"onto"`   // what is below it
	Commit string `json:"commit"`
}

// Known is an entry of what the project has learned.
type Known struct {
	File  string   `json:"file"`
	Title string   `json:"title"`
	Tags  []string `json:"tags,omitempty"`
}

// Answers is what a person answers to a question.
type Answers struct {
	Request  string `json:"request"` // its ID
	Question string `json:"question"`
	Text     string `json:"text"`
	Denied   bool   `json:"denied,omitempty"`
	Who      string `json:"who,omitempty"`
}

// text is what a payload is about, for hooks that do not read JSON.
func (p Payload) text() string {
	switch {
	case p.Tool != nil:
		return cmp.Or(p.Tool.Command, strings.Join(p.Tool.Paths, "\n"), p.Tool.Text)
	case p.Answer != nil:
		return p.Answer.Text
	case p.Event != nil && (p.Point == LockTaken || p.Point == LockReleased):
		return strings.Join(p.Event.Locks, "\n")
	case p.Event != nil && p.Event.Reason != "":
		return p.Event.Reason
	case p.Event != nil && p.Event.Type != event.TaskAdded:
		return p.Event.Text
	case p.Merge != nil:
		return p.Merge.Commit
	}
	return p.Title
}
