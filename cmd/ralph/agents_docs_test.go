package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"ralph/internal/agents"
	"ralph/internal/testing/check"
	"ralph/internal/testing/golden"
)

// TestAgentsAreDocumented holds docs/agents.md to the presets: how to start each
// in three lines, and how they differ.
func TestAgentsAreDocumented(t *testing.T) {
	t.Parallel()
	const path, begin, end = "../../docs/agents.md", "<!-- agents -->\n", "<!-- /agents -->\n"
	page, err := os.ReadFile(path)
	check.OK(t, err)
	before, rest, ok := strings.Cut(string(page), begin)
	_, after, closed := strings.Cut(rest, end)
	if !ok || !closed {
		t.Fatal("docs/agents.md has no place for the agents")
	}
	golden.Check(t, path, before+begin+agentsPage()+end+after)

	var order []string
	for _, p := range agents.Installed(func(string) (string, error) { return "", nil }) {
		order = append(order, p.Name)
	}
	if text := strings.Join(order, ", "); !strings.Contains(strings.ReplaceAll(string(page), "\n", " "), "on PATH: "+text+".") {
		t.Errorf("docs/agents.md does not say that the order is %s", text)
	}
}

// agentsPage is the part of the page that is made of presets.
func agentsPage() string {
	var b strings.Builder
	var table strings.Builder
	table.WriteString("| name | npm package | takes its model by | reports about its usage | credentials, the first that is set | keeps its state in |\n|---|---|---|---|---|---|\n")
	for _, p := range agents.All() {
		if len(p.Self) > 0 {
			continue
		}
		fmt.Fprintf(&b, "**%s**\n\n```sh\nnpm install -g %s\n# %s\nralph run --agent %s\n```\n\n", p.Title, p.Package, p.Login, p.Name)
		credentials := strings.Join(p.Credentials, ", ")
		if p.ByModel {
			credentials = "that of the model's provider: " + strings.Join(p.Credentials[:3], ", ") + ", ..."
		}
		var state []string
		for _, f := range p.State {
			folder := f.Default
			if f.Sub != "" {
				folder += "/" + f.Sub
			}
			state = append(state, folder)
		}
		slices.Sort(state)
		fmt.Fprintf(&table, "| `%s` | %s | %s | %s | %s | %s |\n", p.Name, p.Package, p.ModelBy(), p.Reports, credentials, strings.Join(state, ", "))
	}
	return "\n" + b.String() + "## How they differ\n\n" + table.String() + "\n"
}
