package taskfile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"ralph/dag"
	"ralph/internal/plain"
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

// take returns the first of these fields that holds something.
func (o object) take(names ...string) json.RawMessage {
	for _, name := range names {
		raw, ok := o.fields[name]
		if !ok {
			continue
		}
		delete(o.fields, name)
		if !nothing(raw) {
			return raw
		}
	}
	return nil
}

// text takes a field that is text, or a number that stands for one.
func (o object) text(names ...string) string {
	raw := o.take(names...)
	if raw == nil {
		return ""
	}
	text, ok := scalar(raw)
	if !ok {
		o.draft.fault(o.line, "%s is %s, not text", names[0], kindOf(raw))
	}
	return strings.TrimSpace(lineEnds(text))
}

// texts takes a field that is a list of texts, or one text.
func (o object) texts(names ...string) []string {
	raw := o.take(names...)
	if raw == nil {
		return nil
	}
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) != nil {
		list = []json.RawMessage{raw}
	}
	var texts []string
	for _, item := range list {
		text, ok := scalar(item)
		if !ok {
			text = compact(item) // better odd than lost
		}
		if text = strings.TrimSpace(lineEnds(text)); text != "" {
			texts = append(texts, text)
		}
	}
	return texts
}

func (o object) yes(name string) bool { return string(o.take(name)) == "true" }

// forget drops fields that say nothing about the work.
func (o object) forget(names ...string) {
	for _, name := range names {
		delete(o.fields, name)
	}
}

// loseRest notes every field that is left and holds something.
func (o object) loseRest() {
	for _, name := range slices.Sorted(maps.Keys(o.fields)) {
		if !nothing(o.fields[name]) {
			o.draft.lose(o.line, "%s", name)
		}
	}
}

// nothing says that leaving the value out loses nothing.
func nothing(raw json.RawMessage) bool {
	switch string(bytes.Join(bytes.Fields(raw[:min(len(raw), 64)]), nil)) {
	case "", "null", "false", "0", `""`, "[]", "{}":
		return len(raw) <= 64
	}
	return false
}

func scalar(raw json.RawMessage) (string, bool) {
	var s string
	if json.Unmarshal(raw, &s) == nil && kindOf(raw) == "text" {
		return s, true
	}
	return string(raw), kindOf(raw) == "a number"
}

func compact(raw json.RawMessage) string {
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return string(raw)
	}
	return b.String()
}

func kindOf(raw json.RawMessage) string {
	switch first := bytes.TrimLeft(raw, " \t\r\n"); {
	case len(first) == 0 || first[0] == 'n':
		return "null"
	case first[0] == '"':
		return "text"
	case first[0] == '[':
		return "a list"
	case first[0] == '{':
		return "an object"
	case first[0] == 't' || first[0] == 'f':
		return "a boolean"
	default:
		return "a number"
	}
}

func lineEnds(s string) string { return strings.ReplaceAll(s, "\r\n", "\n") }

// paragraphs puts what there is of a description together.
func paragraphs(parts ...string) string {
	var kept []string
	for _, p := range parts {
		if p = strings.Trim(p, "\n"); strings.TrimSpace(p) != "" {
			kept = append(kept, p)
		}
	}
	return strings.Join(kept, "\n\n")
}

func section(title, text string) string {
	if text == "" {
		return ""
	}
	return title + ":\n" + text
}

func bullets(list []string) string {
	if len(list) == 0 {
		return ""
	}
	return "- " + strings.Join(list, "\n- ")
}

// priority takes a number, or one of the words that people use for one.
func (o object) priority() int64 {
	raw := o.take("priority")
	if raw == nil {
		return 0
	}
	text, _ := scalar(raw)
	if n, ok := rank(text); ok {
		return n
	}
	o.draft.lose(o.line, "priority %s", plain.Cut(compact(raw), 40))
	return 0
}

func rank(text string) (int64, bool) {
	text = strings.ToLower(strings.TrimSpace(text))
	if n, ok := map[string]int64{"critical": 0, "urgent": 0, "high": 1, "medium": 2, "normal": 2, "low": 3, "lowest": 4}[text]; ok {
		return n, true
	}
	if number, ok := strings.CutPrefix(text, "p"); ok && len(number) == 1 {
		text = number
	}
	n, err := strconv.ParseInt(text, 10, 64)
	return n, err == nil
}
