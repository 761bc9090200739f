package main

import (
	"fmt"
	"strings"

	"ralph/internal/term"
)

// printList prints a list as JSON or as a table. What it means that it is empty goes to stderr.
func printList[T, J any](a *app, list []T, json bool, asJSON func(T) J, none string, row func(T) []term.Cell) error {
	if json {
		out := make([]J, len(list))
		for i, e := range list {
			out[i] = asJSON(e)
		}
		return a.printJSON(out)
	}
	if len(list) == 0 {
		a.note("%s", none)
		return nil
	}
	t := &term.Table{Width: a.width}
	for _, e := range list {
		t.Add(row(e)...)
	}
	_, err := t.WriteTo(a.stdout)
	return err
}

// fieldLines are aligned lines of names and values; those without a value are left out.
func fieldLines(fields ...[2]string) string {
	var b strings.Builder
	for _, f := range fields {
		if f[1] != "" {
			fmt.Fprintf(&b, "  %-10s %s\n", f[0], term.Line(f[1]))
		}
	}
	return b.String()
}
