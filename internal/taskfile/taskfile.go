// Package taskfile owns the plan as text: JSON lines, the same objects as a YAML
// list, and what other programs write. It never touches the graph; dag.Import does.
package taskfile

import (
	"bytes"
	"fmt"

	"ralph/dag"
)

// Format is how a plan is written down.
type Format string

// The formats. The first two are ralph's own; Auto looks at the text.
const (
	Auto     Format = ""
	JSONL    Format = "jsonl"
	YAML     Format = "yaml"
	Markdown Format = "markdown"
	PRD      Format = "prd"
	Beads    Format = "beads"
	GitHub   Format = "github"
)

// Formats lists the formats that Read knows.
func Formats() []Format { return []Format{JSONL, YAML, Markdown, PRD, Beads, GitHub} }

// line is one task in a file. Export writes the keys in this order.
type line struct {
	Ref         string   `json:"ref" yaml:"ref"`
	Title       string   `json:"title" yaml:"title"`
	Description string   `json:"description" yaml:"description"`
	Priority    int64    `json:"priority" yaml:"priority"`
	Parent      *string  `json:"parent" yaml:"parent"`
	After       []string `json:"after" yaml:"after"`
	Feature     *string  `json:"feature" yaml:"feature"`
	Kind        string   `json:"kind" yaml:"kind"`
	Agent       *string  `json:"agent" yaml:"agent"`
	Model       *string  `json:"model" yaml:"model"`
	Gates       []string `json:"gates" yaml:"gates"`
	MaxRetries  *int     `json:"max_retries" yaml:"max_retries"`

	AllowTampering bool `json:"allow_tampering,omitempty" yaml:"allow_tampering"`

	Status       string  `json:"status,omitempty" yaml:"status"`
	Retries      int     `json:"retries,omitempty" yaml:"retries"`
	Verification *string `json:"verification,omitempty" yaml:"verification"`
}

func (l line) spec(number int) dag.Spec {
	return dag.Spec{
		Line: number, Ref: l.Ref, Title: l.Title, Description: l.Description, Priority: l.Priority,
		Parent: deref(l.Parent), After: l.After, Feature: deref(l.Feature), Kind: dag.Kind(l.Kind),
		Agent: deref(l.Agent), Model: deref(l.Model), Gates: l.Gates, MaxRetries: l.MaxRetries, AllowTampering: l.AllowTampering,
		Status: dag.Status(l.Status), Retries: l.Retries, Verification: deref(l.Verification),
	}
}

// Parse reads a plan in ralph's own format, which Auto tells apart by the first
// character. What is wrong with its lines is a dag.PlanError that names them.
func Parse(data []byte, format Format) ([]dag.Spec, error) {
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	switch format {
	case JSONL:
		return parseJSONL(data)
	case YAML:
		return parseYAML(data)
	case Auto:
		if first := bytes.TrimLeft(data, " \t\r\n"); len(first) > 0 && first[0] == '{' {
			return parseJSONL(data)
		}
		return parseYAML(data)
	default:
		return nil, fmt.Errorf("%w: a plan is jsonl or yaml, not %q", dag.ErrRefused, format)
	}
}

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
