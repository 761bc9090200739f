// Package toolcall is what an agent wants to do with a tool, as far as it says. Rules, hooks, anomalies and what is
// recovered from a transcript all see the same call.
package toolcall

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Call is one of them.
type Call struct {
	Kind    string   `json:"kind"`              // of ACP, or Write or Terminal; one that is not known counts as Other
	Command string   `json:"command,omitempty"` // as a shell reads it; agents also say that a command reads or searches
	Paths   []string `json:"paths,omitempty"`   // with slashes; below the agent's folder if they lie in it, else absolute
	Text    string   `json:"text,omitempty"`    // an address, or the title that the agent gave it
	Status  string   `json:"status,omitempty"`  // once it was made: pending, in_progress, completed, failed

	Input map[string]any `json:"input,omitempty"` // of a file or terminal that the agent wants from ralph, as ACP has it

	// With is the call with some of its Input replaced; what is null is left out. It is nil where there is no Input.
	With func(input map[string]any) (Call, error) `json:"-"`
}

// Kinds that code asks for. Write and Terminal are what an agent wants from ralph, and no kinds of ACP.
const (
	Read     = "read"
	Edit     = "edit"
	Delete   = "delete"
	Move     = "move"
	Search   = "search"
	Execute  = "execute"
	Other    = "other"
	Write    = "write"    // whatever changes a file
	Terminal = "terminal" // a command that ralph runs for the agent
)

// Changes says that calls of a kind change the files that they name.
func Changes(kind string) bool {
	return slices.Contains([]string{Edit, Delete, Move, Write}, kind)
}

// OfPaths says that calls of a kind are about files.
func OfPaths(kind string) bool { return kind == Read || kind == Search || Changes(kind) }

// IsCommand says that calls of a kind run a command.
func IsCommand(kind string) bool { return kind == Execute || kind == Terminal }

// What ACP says of a call that is over.
const (
	Completed = "completed"
	Failed    = "failed"
)

// Over says that a call of this status has ended.
func Over(status string) bool { return status == Completed || status == Failed }

// Subject is the call in a line, for people: what rules compare.
func (c Call) Subject() string {
	return cmp.Or(c.Command, strings.Join(c.Paths, ", "), c.Text)
}

// Or fills in what another description of the same call says.
func (c Call) Or(other Call) Call {
	c.Kind, c.Command, c.Text = cmp.Or(c.Kind, other.Kind), cmp.Or(c.Command, other.Command), cmp.Or(c.Text, other.Text)
	c.Status = cmp.Or(c.Status, other.Status)
	if len(c.Paths) == 0 {
		c.Paths = other.Paths
	}
	return c
}

// Complete is a call of which the agent says no more: what it has not said follows from the rest.
func (c Call) Complete() Call {
	if c.Kind == "" && c.Command != "" {
		c.Kind = Execute
	}
	switch {
	case c.Kind == Execute && c.Command == "": // some agents have it nowhere else
		c.Command = strings.Trim(c.Text, "`")
	case OfPaths(c.Kind) && slices.Contains([]string{"view", "create", "insert", "str_replace", "undo_edit", "delete", "rename"}, c.Command):
		c.Command = "" // of a tool that edits files, and none that a shell runs
	}
	return c
}

// Said is what an ACP message says about a call. Agents say it in several messages, so each is only a part.
type Said struct {
	Title     string          `json:"title"`
	Kind      string          `json:"kind"`
	Content   json.RawMessage `json:"content"`
	RawInput  json.RawMessage `json:"rawInput"`
	Locations json.RawMessage `json:"locations"`
}

// maxPaths is how many files of one list are looked at.
const maxPaths = 64

// Call reads what the call is to do. Agents have different names for the same thing. name makes of a path what
// Call.Paths wants.
func (s Said) Call(name func(path string) string) Call {
	c := Call{Kind: s.Kind, Text: s.Title}
	input := lenient[map[string]json.RawMessage](s.RawInput)
	for _, key := range slices.Sorted(maps.Keys(input)) {
		value := input[key]
		text := lenient[string](value)
		switch strings.ToLower(strings.ReplaceAll(key, "_", "")) {
		case "command", "cmd":
			if words := lenient[[]string](value); len(words) > 0 {
				text = ShellLine(words)
			}
			c.Command = cmp.Or(text, c.Command)
		case "path", "filepath", "filename", "file", "absolutepath", "notebookpath":
			c.Paths = append(c.Paths, text)
		case "url", "uri":
			c.Text = cmp.Or(text, c.Text)
		}
	}
	locations := lenient[[]struct{ Path string }](s.Locations)
	for _, l := range locations[:min(len(locations), maxPaths)] {
		c.Paths = append(c.Paths, l.Path)
	}
	diffs := s.Diffs()
	c.Paths = append(c.Paths, diffs[:min(len(diffs), maxPaths)]...)
	c.Paths = slices.DeleteFunc(c.Paths, func(path string) bool { return path == "" })
	for i, path := range c.Paths {
		c.Paths[i] = name(path)
	}
	slices.Sort(c.Paths)
	c.Paths = slices.Compact(c.Paths)
	return c
}

// Diffs are the files that the call shows a change of, as the agent writes them.
func (s Said) Diffs() (paths []string) {
	for _, b := range lenient[[]struct{ Type, Path string }](s.Content) {
		if b.Type == "diff" {
			paths = append(paths, b.Path)
		}
	}
	return paths
}

// lenient reads what fits: agents bend the protocol.
func lenient[T any](raw json.RawMessage) (v T) {
	_ = json.Unmarshal(raw, &v) // what does not fit is zero
	return v
}

// ShellLine is a command with each word quoted where a shell would read it otherwise.
func ShellLine(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		var err error
		if quoted[i], err = syntax.Quote(w, syntax.LangBash); err != nil {
			quoted[i] = w // no shell can be given it
		}
	}
	return strings.Join(quoted, " ")
}
