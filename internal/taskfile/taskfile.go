// Package taskfile owns the plan as text: JSON lines, the same objects as a YAML
// list, and what other programs write. It never touches the graph; dag.Import does.
package taskfile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"ralph/dag"
	"ralph/internal/jsonval"
	"ralph/internal/yamlfile"
)

// Format is how a plan is written down.
type Format string

// The formats. The first two are ralph's own; Auto looks at the text.
const (
	Auto       Format = ""
	JSONL      Format = "jsonl"
	YAML       Format = "yaml"
	Markdown   Format = "markdown"
	SpecKit    Format = "speckit"
	PRD        Format = "prd"
	TaskMaster Format = "taskmaster"
	Beads      Format = "beads"
	GitHub     Format = "github"
)

// Formats lists the formats that Read knows.
func Formats() []Format {
	return []Format{JSONL, YAML, Markdown, SpecKit, PRD, TaskMaster, Beads, GitHub}
}

// isTask says that the line is a task, and not what else the file of a feature has. Acceptances are added by runs.
func (l line) isTask() bool {
	return l.Deleted == "" && (l.Ref != FeatureRef || l.Title != "") && (l.Acceptance == nil || *l.Acceptance == 0)
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

func parseJSONL(data []byte) ([]dag.Spec, error) {
	specs := make([]dag.Spec, 0, min(bytes.Count(data, []byte("\n"))+1, len(data)/len(`{"title":"a"}`)+1))
	var faults dag.PlanError
	for number := 1; len(data) > 0; number++ {
		text, rest, _ := bytes.Cut(data, []byte("\n"))
		data = rest
		if len(bytes.TrimSpace(text)) == 0 {
			continue
		}
		if len(specs) == maxTasks {
			return nil, tooMany(number)
		}
		l, err := parseLine(text)
		if err != nil {
			faults = append(faults, dag.SpecError{Line: number, Err: err})
			continue
		}
		if l.isTask() {
			specs = append(specs, l.spec(number))
		}
	}
	if len(faults) > 0 {
		return nil, faults
	}
	return specs, nil
}

func parseLine(text []byte) (line, error) {
	var l line
	dec := json.NewDecoder(bytes.NewReader(text))
	if err := dec.Decode(&l); err != nil {
		return l, explain(err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return l, errors.New("one object a line, and nothing after it")
	}
	if l.unknown != "" {
		return l, fmt.Errorf("unknown key %q", l.unknown)
	}
	return l, nil
}

// explain says in our words what the decoder found.
func explain(err error) error {
	var kind *json.UnmarshalTypeError
	var value valueError
	switch {
	case errors.As(err, &value):
		return value
	case errors.As(err, &kind) && kind.Field == "":
		return fmt.Errorf("a task is an object, not %s", valueWords(kind.Value))
	case errors.As(err, &kind):
		return fmt.Errorf("%s cannot be %s", kind.Field, valueWords(kind.Value))
	case errors.Is(err, io.ErrUnexpectedEOF):
		return errors.New("not JSON: the object does not end on this line")
	default:
		return fmt.Errorf("not JSON: %s", strings.TrimPrefix(err.Error(), "json: "))
	}
}

// valueWords says in our words what the decoder calls a value: "array", "number 1.5".
func valueWords(v string) string {
	name, number, _ := strings.Cut(v, " ")
	switch name {
	case "array":
		return "a list"
	case "string":
		return "a text"
	case "bool":
		return "true or false"
	case "object":
		return "an object"
	}
	if number != "" {
		return "the number " + number
	}
	return "a " + name
}

// Item is a task to be written down, with the IDs of what it waits for; or the gates of the feature, as FeatureRef.
type Item struct {
	dag.Task
	After   []string
	Related []string // those with greater IDs: a pair is written down once

	Acceptance *dag.Acceptance // nil if it has to do with none
}

// Write writes a plan as JSON lines, as Encoder does.
func Write(w io.Writer, items []Item, statuses bool) error {
	encode := Encoder(w, statuses)
	for _, t := range items {
		if err := encode(t); err != nil {
			return err
		}
	}
	return nil
}

// Encoder writes one task after the other as a line of JSON. The same tasks always give the
// same bytes. With statuses, a task that is running counts as pending, because a claim does
// not travel.
func Encoder(w io.Writer, statuses bool) func(Item) error {
	enc := jsonval.Encoder(w)
	return func(t Item) error { return enc.Encode(lineOf(t, statuses)) }
}

func lineOf(t Item, statuses bool) line {
	s := t.Spec()
	s.Parent, s.Feature, s.After, s.Related = t.Parent, t.Feature, t.After, t.Related
	if statuses {
		s.Status, s.Satisfied, s.Retries, s.Verification = t.Status, t.Satisfied, t.Retries, t.Verification
	}
	if t.Acceptance != nil {
		s.Acceptance, s.Missing = &t.Acceptance.Round, t.Acceptance.Missing
	}
	return written(s)
}

func parseYAML(data []byte) ([]dag.Spec, error) {
	docs, err := yamlfile.Parse(data)
	if err != nil {
		return nil, dag.PlanError{yamlFault(err)}
	}
	var specs []dag.Spec
	var faults dag.PlanError
	for _, doc := range docs {
		list, ok := doc.(*ast.SequenceNode)
		if !ok {
			return nil, dag.PlanError{{Line: yamlfile.Line(doc), Err: errors.New("a plan is a list of tasks, one object each")}}
		}
		for _, node := range list.Values {
			number := yamlfile.Line(node)
			var l line
			err := yamlfile.Decode(node, &l)
			if err == nil && l.unknown != "" {
				err = &yamlfile.Error{Line: keyLine(node, l.unknown), Text: fmt.Sprintf("unknown field %q", l.unknown)}
			}
			switch {
			case l.wrong != nil:
				faults = append(faults, dag.SpecError{Line: number, Err: l.wrong})
			case err != nil:
				faults = append(faults, yamlFault(err))
			case l.isTask():
				specs = append(specs, l.spec(number))
			}
		}
	}
	if len(faults) > 0 {
		return nil, faults
	}
	return specs, nil
}

// keyLine is where a key stands.
func keyLine(node ast.Node, key string) int {
	if m, ok := node.(*ast.MappingNode); ok {
		for _, pair := range m.Values {
			if pair.Key.GetToken().Value == key {
				return yamlfile.Line(pair.Key)
			}
		}
	}
	return yamlfile.Line(node)
}

func yamlFault(err error) dag.SpecError {
	number := 1
	var located *yamlfile.Error
	if errors.As(err, &located) {
		number = located.Line
	}
	return dag.SpecError{Line: number, Err: fmt.Errorf("not a task: %w", err)}
}
