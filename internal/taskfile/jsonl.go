package taskfile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"ralph/dag"
	"ralph/internal/jsonval"
)

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
		specs = append(specs, l.spec(number))
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
	return l, nil
}

// explain says in our words what the decoder found.
func explain(err error) error {
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &kind) && kind.Field == "":
		return fmt.Errorf("a task is an object, not a %s", kind.Value)
	case errors.As(err, &kind):
		return fmt.Errorf("%s cannot be a %s", kind.Field, kind.Value)
	case strings.HasPrefix(err.Error(), "json: unknown field "):
		return fmt.Errorf("unknown key %s", strings.TrimPrefix(err.Error(), "json: unknown field "))
	case errors.Is(err, io.ErrUnexpectedEOF):
		return errors.New("not JSON: the object does not end on this line")
	default:
		return fmt.Errorf("not JSON: %s", strings.TrimPrefix(err.Error(), "json: "))
	}
}

// Item is a task to be written down, with the IDs of what it waits for.
type Item struct {
	dag.Task
	After []string
}

// Write writes a plan as JSON lines. The same tasks always give the same bytes.
// With statuses, a task that is running counts as pending, because a claim does
// not travel.
func Write(w io.Writer, items []Item, statuses bool) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	for _, t := range items {
		l := line{
			Ref: t.ID, Title: t.Title, Description: t.Description, Priority: t.Priority, Parent: jsonval.Text(t.Parent),
			After: jsonval.List(t.After), Feature: jsonval.Text(t.Feature), Kind: string(t.Kind), Agent: jsonval.Text(t.Agent),
			Model: jsonval.Text(t.Model), Gates: jsonval.List(t.Gates), MaxRetries: t.MaxRetries, AllowTampering: t.AllowTampering,
		}
		if statuses {
			l.Status, l.Retries, l.Verification = string(t.Status), t.Retries, jsonval.Text(t.Verification)
			if t.Status == dag.InProgress {
				l.Status = string(dag.Pending)
			}
		}
		if err := enc.Encode(l); err != nil {
			return err
		}
	}
	return nil
}
