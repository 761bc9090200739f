package main

import (
	"context"
	"errors"

	"github.com/urfave/cli/v2"

	"ralph/internal/agents"
	"ralph/internal/project"
	"ralph/internal/term"
)

func agentsCommand(a *app) command {
	return command{
		name: "agents", short: "list the known agents, which are installed, and how each takes a model",
		long: `npx fetches an agent that is not installed when a run uses it. The list includes your own
agents, from the configuration; * marks the one that a run would use.`,
		flags:   []cli.Flag{jsonFlag()},
		example: "ralph agents\nralph agents test claude",
		run:     action(a, parseAgents, runAgents),
		sub:     []command{agentsTestCommand(a)},
	}
}

func parseAgents(c *cli.Context) (json bool, err error) { return c.Bool("json"), noArgs(c) }

func runAgents(_ context.Context, a *app, json bool) error {
	config, err := configHere(a)
	if err != nil {
		return err
	}
	list := a.finder(config).List()
	if json {
		return a.printJSON(list)
	}
	return printAgents(a, list)
}

// configHere is the project's configuration, or the user's where there is no project.
func configHere(a *app) (project.Loaded, error) {
	p, err := a.findProject()
	if errors.Is(err, project.ErrNone) && a.dir == "" {
		return a.loadConfig("")
	}
	if err != nil {
		return project.Loaded{}, err
	}
	return a.loadConfig(p.Config())
}

func printAgents(a *app, list []agents.Description) error {
	p := a.palette()
	t := &term.Table{Width: a.width}
	bold := func(s string) term.Cell { return term.Cell{Text: s, Paint: p.Bold} }
	t.Add(bold("AGENT"), bold("HERE"), bold("MODEL BY"), bold("REPORTS"), bold("CREDENTIAL"))
	found := false
	for _, d := range list {
		name, paint := d.Name, p.Dim
		if d.Chosen {
			name += " *"
		}
		if d.Installed {
			paint = p.Green
		}
		found = found || d.Installed && d.Source != "built in"
		t.Add(term.Cell{Text: name, Paint: p.Cyan}, term.Cell{Text: d.Source, Paint: paint},
			term.Cell{Text: d.ModelBy}, term.Cell{Text: d.Reports}, term.Cell{Text: d.Credential()})
	}
	if _, err := t.WriteTo(a.stdout); err != nil {
		return err
	}
	if !found {
		a.note("no agent is installed; for example: npm install -g opencode-ai")
	}
	a.note("try one with: ralph agents test NAME")
	return nil
}
