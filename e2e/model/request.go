package model

import (
	"encoding/json"
	"regexp"
	"strings"
)

// message is what is common to the protocols.
type message struct {
	role  string // user, assistant, tool
	text  string
	calls int // tool calls in it
}

// tool is a tool that the agent offers.
type tool struct {
	name   string
	schema schema
}

type schema struct {
	Properties map[string]struct {
		Type  json.RawMessage `json:"type"`
		Items *schema         `json:"items"`
	} `json:"properties"`
	Required []string `json:"required"`
}

// request is a request in the terms of none of the protocols.
type request struct {
	model    string
	stream   bool
	messages []message
	tools    []tool
	form     schema // that the answer is to have, if it has properties
}

var taskID = regexp.MustCompile(`t-[0-9a-f]{8}`)

// isOurs says whether a text is ralph's, and not one of those that agents add.
func isOurs(text string) bool {
	return taskID.MatchString(text) || strings.Contains(text, "# Ralph: ")
}

// prompt finds what is asked: the last thing a user said that is ralph's, and
// failing that the last thing a user said.
func (r request) prompt() Prompt {
	at := -1
	for i, m := range r.messages {
		if m.role != "user" || strings.TrimSpace(m.text) == "" {
			continue
		}
		if at < 0 || isOurs(m.text) || !isOurs(r.messages[at].text) {
			at = i
		}
	}
	p := Prompt{Kind: Other, Model: r.model}
	if len(r.tools) == 0 {
		p.Kind = Side
	}
	if at < 0 {
		return p
	}
	p.Text = r.messages[at].text
	if _, after, ok := strings.Cut(p.Text, "Assigned Task"); ok {
		p.Task = taskID.FindString(after)
	}
	switch {
	case p.Kind == Side || p.Task == "":
	case strings.Contains(p.Text, "# Ralph: verification\n"):
		p.Kind = Verify
	case strings.Contains(p.Text, "# Ralph\n"):
		p.Kind = Work
	}
	for _, m := range r.messages[at+1:] {
		p.Turn += m.calls
		if m.role == "tool" {
			p.Tool = m.text
		}
	}
	return p
}

// text joins whatever text there is in a content, which may be a string, a block,
// or a list of blocks.
func text(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	var blocks []json.RawMessage
	if json.Unmarshal(raw, &blocks) == nil {
		var parts []string
		for _, b := range blocks {
			parts = append(parts, text(b))
		}
		return strings.Join(parts, "\n")
	}
	var block struct {
		Text string `json:"text"`
	}
	_ = json.Unmarshal(raw, &block) // another kind of block has no text
	return block.Text
}
