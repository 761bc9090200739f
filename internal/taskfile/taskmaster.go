package taskfile

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"ralph/dag"
)

// readTaskMaster reads a tasks.json of Task Master: {"tasks": [...]}, or such lists under the names of their tags. If there are
// several tags, each becomes a group, because their tasks have the same numbers.
func (d *draft) readTaskMaster(data []byte) error {
	if err := json.Unmarshal(data, new(json.RawMessage)); err != nil {
		return notJSON(data, 0, err)
	}
	first := lineAt(data, len(data)-len(bytes.TrimLeft(data, " \t\r\n")))
	top, ok := d.object(first, data)
	if !ok {
		return nil
	}
	if _, bare := top.fields["tasks"]; bare {
		return d.tagged(top, data, first-1, "", "")
	}
	tags := keysInOrder(data)
	for _, tag := range tags {
		at := valueAt(data, tag)
		above := lineAt(data, at) - 1
		list, ok := d.object(above+1, top.fields[tag])
		if !ok {
			continue
		}
		group, prefix := "", ""
		if len(tags) > 1 {
			group, prefix = tag, tag+"/"
			if err := d.add(dag.Spec{Line: above + 1, Ref: group, Detail: dag.Detail{Title: tag}}); err != nil {
				return err
			}
		}
		if err := d.tagged(list, top.fields[tag], above, group, prefix); err != nil {
			return err
		}
	}
	return nil
}

// tagged adds the tasks of one tag. Above is how many lines are before it in the file.
func (d *draft) tagged(o object, data []byte, above int, group, prefix string) error {
	list := o.take("tasks")
	if list != nil && kindOf(list) != "a list" {
		d.fault(o.line, "tasks is %s, not a list", kindOf(list))
		return nil
	}
	o.forget("metadata", "meta")
	o.loseRest()
	if list == nil {
		return nil
	}
	above += lineAt(data, valueAt(data, "tasks")) - 1
	return values(list, above, func(line int, raw json.RawMessage) error { return d.mastered(line, raw, group, prefix) })
}

// mastered adds a task and its subtasks. Prefix is what its number is known by: "master/", or "3." for a subtask.
func (d *draft) mastered(line int, raw json.RawMessage, parent, prefix string) error {
	o, ok := d.object(line, raw)
	if !ok {
		return nil
	}
	number := o.text("id")
	if number == "" {
		d.fault(line, "no id: this is not a task of Task Master")
		return nil
	}
	s := dag.Spec{Line: line, Ref: prefix + number, Parent: parent, Detail: dag.Detail{Title: o.text("title"), Priority: o.priority()}}
	text := o.text("description")
	if s.Title == "" {
		s.Title, text = text, ""
	}
	s.Description = paragraphs(text, section("Details", o.text("details")), section("Test strategy", o.text("testStrategy")), origin(s.Ref, ""))
	switch status := o.text("status"); status {
	case "", "pending":
	case "done", "completed":
		s.Status = dag.Done
	case "cancelled":
		s.Status = dag.Cancelled
	case "blocked", "deferred":
		s.Status = dag.Blocked
		if status != "blocked" {
			d.lose(line, "status %s: it is blocked until somebody unblocks it", status)
		}
	default:
		d.lose(line, "status %s: it is pending", status)
	}
	for _, name := range o.texts("dependencies") {
		// A subtask names its siblings by their own number, and others by all of it: 3.2.
		if tag, _, _ := strings.Cut(prefix, "/"); strings.Contains(name, ".") && strings.Contains(prefix, "/") {
			name = tag + "/" + name
		} else if !strings.Contains(name, ".") {
			name = prefix + name
		}
		if !slices.Contains(s.After, name) {
			s.After = append(s.After, name)
		}
	}
	subtasks := o.take("subtasks")
	o.forget("complexityScore", "expansionPrompt", "updatedAt", "createdAt", "parentId", "parentTaskId", "recommendedSubtasks")
	o.loseRest()
	if err := d.add(s); err != nil {
		return err
	}
	if subtasks == nil {
		return nil
	}
	if kindOf(subtasks) != "a list" {
		d.fault(line, "subtasks is %s, not a list", kindOf(subtasks))
		return nil
	}
	if strings.Count(s.Ref, ".") == maxNested {
		return dag.PlanError{{Line: line, Err: fmt.Errorf("nested more than %d deep", maxNested)}}
	}
	above := line - 1 + lineAt(raw, valueAt(raw, "subtasks")) - 1
	return values(subtasks, above, func(line int, raw json.RawMessage) error { return d.mastered(line, raw, s.Ref, s.Ref+".") })
}

// keysInOrder are the keys of an object as they stand in the file.
func keysInOrder(data []byte) []string {
	dec := json.NewDecoder(bytes.NewReader(data))
	_, err := dec.Token()
	var keys []string
	for err == nil && dec.More() {
		var name json.Token
		if name, err = dec.Token(); err == nil {
			keys = append(keys, name.(string))
			err = dec.Decode(new(json.RawMessage))
		}
	}
	return keys
}
