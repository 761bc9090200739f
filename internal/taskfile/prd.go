package taskfile

import (
	"bytes"
	"encoding/json"
	"slices"

	"ralph/dag"
)

var storyKeys = []string{"userStories", "user_stories", "stories"}

// readPRD reads the stories of a prd.json: an object that has them under a key, or
// the bare list that the first loops of this family used.
func (d *draft) readPRD(data []byte) error {
	text := bytes.TrimLeft(data, " \t\r\n")
	if len(text) == 0 {
		return nil
	}
	if text[0] == '[' {
		return values(data, 0, func(line int, raw json.RawMessage) error { return d.story(line, raw, true) })
	}
	if err := json.Unmarshal(data, new(json.RawMessage)); err != nil {
		return notJSON(data, 0, err)
	}
	first := lineAt(data, len(data)-len(text))
	top, ok := d.object(first, data)
	if !ok {
		return nil
	}
	at := slices.IndexFunc(storyKeys, func(key string) bool { return top.fields[key] != nil })
	if at < 0 {
		d.fault(first, "no %s: this is not a prd.json", storyKeys[0])
		return nil
	}
	key := storyKeys[at]
	list := top.fields[key]
	if kindOf(list) != "a list" {
		d.fault(first, "%s is %s, not a list", key, kindOf(list))
		return nil
	}
	delete(top.fields, key)
	top.loseRest()
	above := lineAt(data, valueAt(data, key)) - 1
	return values(list, above, func(line int, raw json.RawMessage) error { return d.story(line, raw, false) })
}

func (d *draft) story(line int, raw json.RawMessage, bare bool) error {
	o, ok := d.object(line, raw)
	if !ok {
		return nil
	}
	if _, story := o.fields["passes"]; bare && !story {
		d.fault(line, "no passes: this is not a story of a prd.json")
		return nil
	}
	s := dag.Spec{Line: line, Ref: o.text("id"), Detail: dag.Detail{Title: o.text("title", "name"), Priority: o.priority()}}
	text := o.text("description")
	if s.Title == "" {
		s.Title, text = text, "" // the bare list has a description only
	}
	s.Description = paragraphs(
		text, section("Acceptance criteria", bullets(o.texts("acceptanceCriteria", "acceptance_criteria"))),
		section("Steps", bullets(o.texts("steps"))), section("Notes", o.text("notes")), origin(s.Ref, ""),
	)
	if o.yes("passes") {
		s.Status = dag.Done
	}
	s.After = o.texts("dependsOn", "dependencies", "depends_on")
	o.loseRest()
	return d.add(s)
}

// origin keeps the name that a task has elsewhere, because other texts use it.
func origin(name, url string) string {
	switch {
	case name == "":
		return url
	case url == "":
		return "Imported from " + name + "."
	default:
		return "Imported from " + name + ": " + url
	}
}
