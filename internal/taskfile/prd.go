package taskfile

import (
	"bytes"
	"encoding/json"

	"ralph/dag"
)

var storyKeys = []string{"userStories", "user_stories", "stories"}

// readPRD reads the stories of a prd.json: an object that has them under a key, or
// the bare list that the first loops of this family used.
func readPRD(data []byte) (Plan, error) {
	d := &draft{}
	text := bytes.TrimLeft(data, " \t\r\n")
	if len(text) > 0 && text[0] == '[' {
		err := values(data, 0, func(line int, raw json.RawMessage) error { return d.story(line, raw, true) })
		if err != nil {
			return Plan{}, err
		}
		return d.plan()
	}
	if len(text) == 0 {
		return Plan{}, nil
	}
	if err := json.Unmarshal(data, new(json.RawMessage)); err != nil {
		return Plan{}, notJSON(data, 0, err)
	}
	first := lineAt(data, len(data)-len(text))
	top, ok := d.object(first, data)
	if !ok {
		return d.plan()
	}
	key, found := storiesKey(top)
	if !found {
		d.fault(first, "no %s: this is not a prd.json", key)
		return d.plan()
	}
	list := top.fields[key]
	if kindOf(list) != "a list" {
		d.fault(first, "%s is %s, not a list", key, kindOf(list))
		return d.plan()
	}
	delete(top.fields, key)
	top.loseRest()
	above := lineAt(data, valueAt(data, key)) - 1
	err := values(list, above, func(line int, raw json.RawMessage) error { return d.story(line, raw, false) })
	if err != nil {
		return Plan{}, err
	}
	return d.plan()
}

func storiesKey(top object) (string, bool) {
	for _, key := range storyKeys {
		if _, ok := top.fields[key]; ok {
			return key, true
		}
	}
	return storyKeys[0], false
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
	s := dag.Spec{Line: line, Ref: o.text("id"), Title: o.text("title", "name"), Priority: o.priority()}
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
