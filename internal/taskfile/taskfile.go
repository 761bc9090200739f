// Package taskfile owns the plan as text: JSON lines, the same objects as a YAML
// list, and what other programs write. It never touches the graph; dag.Import does.
package taskfile

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
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

// line is one task in a file. Export writes the keys in this order.
type line struct {
	Ref         string             `json:"ref" yaml:"ref"`
	Title       string             `json:"title" yaml:"title"`
	Description string             `json:"description" yaml:"description"`
	Priority    int64              `json:"priority" yaml:"priority"`
	Parent      jsonval.NullString `json:"parent" yaml:"parent"`
	After       []string           `json:"after" yaml:"after"`
	Feature     jsonval.NullString `json:"feature" yaml:"feature"`
	Kind        string             `json:"kind" yaml:"kind"`
	Agent       jsonval.NullString `json:"agent" yaml:"agent"`
	Model       jsonval.NullString `json:"model" yaml:"model"`
	Gates       []string           `json:"gates" yaml:"gates"`
	MaxRetries  *int               `json:"max_retries" yaml:"max_retries"`

	Effort    string   `json:"effort,omitempty" yaml:"effort"`
	MayChange []string `json:"may_change,omitempty" yaml:"may_change"`
	ExpectRed string   `json:"expect_red,omitempty" yaml:"expect_red"`
	Locks     []string `json:"locks,omitempty" yaml:"locks"`
	Paths     []string `json:"paths,omitempty" yaml:"paths"`

	AllowTampering bool `json:"allow_tampering,omitempty" yaml:"allow_tampering"` // of older files, which is read and not written

	Tags           []string `json:"tags,omitempty" yaml:"tags"`
	Proves         []string `json:"proves,omitempty" yaml:"proves"`
	Related        []string `json:"related,omitempty" yaml:"related"`
	Context        []string `json:"context,omitempty" yaml:"context"`
	Output         string   `json:"output,omitempty" yaml:"output"`
	Timeout        string   `json:"timeout,omitempty" yaml:"timeout"`
	OnFail         string   `json:"on_fail,omitempty" yaml:"on_fail"`
	Group          bool     `json:"group,omitempty" yaml:"group"`
	Origin         string   `json:"origin,omitempty" yaml:"origin"`
	DiscoveredFrom string   `json:"discovered_from,omitempty" yaml:"discovered_from"`

	Status       string             `json:"status,omitempty" yaml:"status"`
	Satisfied    bool               `json:"satisfied,omitempty" yaml:"satisfied"`
	Retries      int                `json:"retries,omitempty" yaml:"retries"`
	Verification jsonval.NullString `json:"verification,omitempty" yaml:"verification"`

	// What only plan files say, of acceptances: which round it is, or 0 for what one missed, and what it failed for.
	Acceptance *int   `json:"acceptance,omitempty" yaml:"acceptance"`
	Missing    string `json:"missing,omitempty" yaml:"missing"`

	// What only the file of a plan knows: how often the task was changed, when it was changed last, from which feature's file it
	// came, when it was deleted.
	Rev       int64  `json:"rev,omitempty" yaml:"rev"`
	Updated   string `json:"updated_at,omitempty" yaml:"updated_at"`
	MovedFrom string `json:"moved_from,omitempty" yaml:"moved_from"`
	Deleted   string `json:"deleted_at,omitempty" yaml:"deleted_at"`
}

func (l line) spec(number int) dag.Spec {
	timeout, _ := l.timeout() // checked when it was read
	return dag.Spec{
		Line: number, Ref: l.Ref, Title: l.Title, Description: l.Description, Priority: l.Priority,
		Parent: string(l.Parent), After: l.After, Feature: string(l.Feature), Kind: dag.Kind(l.Kind),
		Agent: string(l.Agent), Model: string(l.Model), Effort: dag.Effort(l.Effort), Gates: l.Gates, MaxRetries: l.MaxRetries, MayChange: l.mayChange(), ExpectRed: l.ExpectRed, Locks: l.Locks, Paths: l.Paths,
		Tags: l.Tags, Proves: l.Proves, Related: l.Related, Context: l.Context, Output: l.Output, Timeout: timeout, OnFail: dag.OnFail(l.OnFail), Group: l.Group,
		Origin: l.Origin, DiscoveredFrom: l.DiscoveredFrom,
		Status: dag.Status(l.Status), Satisfied: l.Satisfied, Retries: l.Retries, Verification: string(l.Verification),
		Acceptance: l.Acceptance, Missing: l.Missing,
	}
}

// mayChange are the globs of the line. Older files only know that a task may change all that checks it.
func (l line) mayChange() []string {
	if l.AllowTampering && len(l.MayChange) == 0 {
		return []string{dag.EveryCheck}
	}
	return l.MayChange
}

// isTask says that the line is a task, and not what else the file of a feature has. Acceptances are added by runs.
func (l line) isTask() bool {
	return l.Deleted == "" && (l.Ref != FeatureRef || l.Title != "") && (l.Acceptance == nil || *l.Acceptance == 0)
}

func (l line) timeout() (time.Duration, error) {
	if l.Timeout == "" {
		return 0, nil
	}
	d, err := time.ParseDuration(l.Timeout)
	if err != nil || d <= 0 {
		return 0, fmt.Errorf("timeout is %q; write it as 90s, 15m or 2h", l.Timeout)
	}
	return d, nil
}

// check refuses values that no task could have, whatever is around it.
func (l line) check() error {
	_, err := l.timeout()
	return err
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
	dec.DisallowUnknownFields()
	if err := dec.Decode(&l); err != nil {
		return l, explain(err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return l, errors.New("one object a line, and nothing after it")
	}
	return l, l.check()
}

// explain says in our words what the decoder found.
func explain(err error) error {
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &kind) && kind.Field == "":
		return fmt.Errorf("a task is an object, not %s", valueWords(kind.Value))
	case errors.As(err, &kind):
		return fmt.Errorf("%s cannot be %s", kind.Field, valueWords(kind.Value))
	case strings.HasPrefix(err.Error(), "json: unknown field "):
		return fmt.Errorf("unknown key %s", strings.TrimPrefix(err.Error(), "json: unknown field "))
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

// written is a task as a line says it. Without a status, the line has none.
func written(s dag.Spec) line {
	l := line{
		Ref: s.Ref, Title: s.Title, Description: s.Description, Priority: s.Priority, Parent: jsonval.NullString(s.Parent),
		After: jsonval.List(s.After), Feature: jsonval.NullString(s.Feature), Kind: string(cmp.Or(s.Kind, dag.Work)), Agent: jsonval.NullString(s.Agent),
		Model: jsonval.NullString(s.Model), Effort: string(s.Effort), Gates: jsonval.List(s.Gates), MaxRetries: s.MaxRetries, MayChange: s.MayChange, ExpectRed: s.ExpectRed, Locks: s.Locks, Paths: s.Paths,
		Tags: s.Tags, Proves: s.Proves, Related: s.Related, Context: s.Context, Output: s.Output, OnFail: string(s.OnFail), Group: s.Group, Origin: s.Origin, DiscoveredFrom: s.DiscoveredFrom,
		Status: string(s.Status), Satisfied: s.Satisfied, Retries: s.Retries, Verification: jsonval.NullString(s.Verification),
		Acceptance: s.Acceptance, Missing: s.Missing,
	}
	if s.Timeout > 0 {
		l.Timeout = s.Timeout.String()
	}
	if s.Status == dag.InProgress {
		l.Status = string(dag.Pending)
	}
	return l
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
			if err := yamlfile.Decode(node, &l, yaml.Strict()); err != nil {
				faults = append(faults, yamlFault(err))
				continue
			}
			if err := l.check(); err != nil {
				faults = append(faults, dag.SpecError{Line: number, Err: err})
			}
			if l.isTask() {
				specs = append(specs, l.spec(number))
			}
		}
	}
	if len(faults) > 0 {
		return nil, faults
	}
	return specs, nil
}

func yamlFault(err error) dag.SpecError {
	number := 1
	var located *yamlfile.Error
	if errors.As(err, &located) {
		number = located.Line
	}
	return dag.SpecError{Line: number, Err: fmt.Errorf("not a task: %w", err)}
}
