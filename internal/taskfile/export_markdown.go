package taskfile

import (
	"fmt"
	"io"
	"strings"

	"ralph/dag"
	"ralph/internal/plain"
)

// WriteMarkdown writes a plan as a checklist for people: subtasks are nested, descriptions and blockers stand below. Items must
// come with their parents before them. Read takes it back, but for blockers, which become text.
func WriteMarkdown(w io.Writer, items []Item) error {
	children, titles := map[string][]Item{}, map[string]string{}
	for _, item := range items {
		titles[item.ID] = plain.OneLine(item.Title)
	}
	for _, item := range items {
		parent := item.Parent
		if _, listed := titles[parent]; !listed {
			parent = ""
		}
		children[parent] = append(children[parent], item)
	}
	var write func(parent, indent string) error
	write = func(parent, indent string) error {
		for _, item := range children[parent] {
			mark := map[dag.Status]string{dag.Done: "x", dag.Blocked: "-", dag.Cancelled: "~"}[item.Status]
			if mark == "" {
				mark = " "
			}
			text := fmt.Sprintf("%s- [%s] %s\n", indent, mark, titles[item.ID])
			below := indent + "  "
			for line := range strings.Lines(strings.TrimSpace(item.Description)) {
				text += strings.TrimRight(below+line, " \n") + "\n"
			}
			var after []string
			for _, id := range item.After {
				if title, listed := titles[id]; listed {
					id = title
				}
				after = append(after, id)
			}
			if len(after) > 0 {
				text += below + "After: " + strings.Join(after, "; ") + "\n"
			}
			if _, err := io.WriteString(w, text); err != nil {
				return err
			}
			if err := write(item.ID, below); err != nil {
				return err
			}
		}
		return nil
	}
	return write("", "")
}
