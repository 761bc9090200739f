package taskfile

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

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
