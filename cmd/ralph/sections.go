package main

import (
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"ralph/dag"
)

// section is a heading with tasks below it.
type section struct {
	title string
	tasks []dag.Task
}

// printSections prints those that are not empty, a blank line apart.
func (a *app) printSections(c *cli.Context, sections []section) error {
	var b strings.Builder
	p := a.palette(c)
	for _, s := range sections {
		a.section(&b, p, s.title, s.tasks)
	}
	_, err := fmt.Fprint(a.stdout, strings.TrimPrefix(b.String(), "\n"))
	return err
}
