package main

import (
	"fmt"
	"strings"

	"ralph/dag"
)

// section is a heading with tasks below it.
type section struct {
	title string
	tasks []dag.Task
}

// printSections prints those that are not empty, a blank line apart.
func (a *app) printSections(sections []section) error {
	var b strings.Builder
	p := a.palette()
	for _, s := range sections {
		a.section(&b, p, s.title, s.tasks)
	}
	_, err := fmt.Fprint(a.stdout, strings.TrimPrefix(b.String(), "\n"))
	return err
}
