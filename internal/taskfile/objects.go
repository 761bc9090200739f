package taskfile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"ralph/dag"
)

// object is one JSON object of a file. What is taken from it is gone; what is
// left at the end had no place.
type object struct {
	line   int
	fields map[string]json.RawMessage
	draft  *draft
}

// objects adds what read makes of a list of objects, or of objects in a row.
func (d *draft) objects(data []byte, read func(object) (dag.Spec, bool)) ([]object, error) {
	var list []object
	err := values(data, 0, func(line int, raw json.RawMessage) error {
		if len(list) == maxTasks {
			return tooMany(line)
		}
		if o, ok := d.object(line, raw); ok {
			list = append(list, o)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	for _, o := range list {
		if s, ok := read(o); ok {
			d.specs = append(d.specs, s)
		}
	}
	return list, nil
}

func (d *draft) object(line int, raw json.RawMessage) (object, bool) {
	o := object{line: line, draft: d}
	if err := json.Unmarshal(raw, &o.fields); err != nil || o.fields == nil {
		d.fault(line, "this is %s, not an object", kindOf(raw))
		return o, false
	}
	return o, true
}

// values calls fn with each value of a list, or of several in a row.
func values(data []byte, lines int, fn func(line int, raw json.RawMessage) error) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	text := bytes.TrimLeft(data, " \t\r\n")
	list := len(text) > 0 && text[0] == '['
	if list {
		if err := json.Unmarshal(data, new(json.RawMessage)); err != nil {
			return notJSON(data, lines, err)
		}
		if _, err := dec.Token(); err != nil {
			return notJSON(data, lines, err)
		}
	}
	counted, at := 0, 1 // newlines are counted once, not from the start each time
	for !list || dec.More() {
		before := int(dec.InputOffset())
		var raw json.RawMessage
		if err := dec.Decode(&raw); err != nil {
			if !list && errors.Is(err, io.EOF) {
				return nil
			}
			begin := before + len(data[before:]) - len(bytes.TrimLeft(data[before:], " \t\r\n"))
			return dag.PlanError{{Line: lineAt(data, begin) + lines, Err: fmt.Errorf("not JSON: %s", wordJSON(err))}}
		}
		begin := int(dec.InputOffset()) - len(raw)
		at += bytes.Count(data[counted:begin], []byte("\n"))
		counted = begin
		if err := fn(at+lines, raw); err != nil {
			return err
		}
	}
	return nil
}

// valueAt returns where the value of a key begins in an object, counted in bytes.
func valueAt(data []byte, key string) int {
	dec := json.NewDecoder(bytes.NewReader(data))
	at := 0
	if _, err := dec.Token(); err != nil {
		return at
	}
	for dec.More() {
		name, err := dec.Token()
		var raw json.RawMessage
		if err != nil || dec.Decode(&raw) != nil {
			return at
		}
		if name == key {
			at = int(dec.InputOffset()) - len(raw)
		}
	}
	return at
}

func notJSON(data []byte, lines int, err error) error {
	line := 1
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		line = lineAt(data, int(syntax.Offset)-1)
	}
	return dag.PlanError{{Line: line + lines, Err: fmt.Errorf("not JSON: %s", wordJSON(err))}}
}

func wordJSON(err error) string {
	text := strings.TrimPrefix(err.Error(), "json: ")
	if errors.Is(err, io.ErrUnexpectedEOF) || text == "unexpected end of JSON input" {
		return "it does not end"
	}
	return text
}
