package main

import (
	"fmt"

	"github.com/urfave/cli/v2"

	"ralph/dag"
)

func (a *app) taskDeps() command {
	return command{
		name: "deps", short: "say what waits for what",
		example: "ralph task deps add 1f0c 77aa", exits: "1 refused (a cycle), 3 not found",
		sub: []command{
			{
				name: "add", args: "BLOCKER BLOCKED", short: "let BLOCKED wait for BLOCKER",
				example: "ralph task deps add 1f0c 77aa", exits: "1 refused (a cycle, also through parents), 3 not found",
				run: func(c *cli.Context) error { return a.changeDeps(c, "now waits for", (*dag.Graph).Link) },
			},
			{
				name: "rm", args: "BLOCKER BLOCKED", short: "let BLOCKED no longer wait for BLOCKER",
				example: "ralph task deps rm 1f0c 77aa", exits: "3 not found",
				run: func(c *cli.Context) error { return a.changeDeps(c, "no longer waits for", (*dag.Graph).Unlink) },
			},
			{
				name: "list", args: "ID", short: "list what a task waits for and what waits for it",
				flags:   []cli.Flag{jsonFlag()},
				example: "ralph task deps list 1f0c", exits: "3 not found",
				run: a.runDepsList,
			},
		},
	}
}

func (a *app) changeDeps(c *cli.Context, words string, change func(*dag.Graph, string, string) error) error {
	if c.NArg() != 2 {
		return usagef("two IDs are needed: BLOCKER BLOCKED")
	}
	var blocker, blocked dag.Task
	err := a.update(c.Context, func(_ *session, g *dag.Graph) (err error) {
		if blocker, err = g.Resolve(c.Args().Get(0)); err != nil {
			return lookUpHint(err)
		}
		if blocked, err = g.Resolve(c.Args().Get(1)); err != nil {
			return lookUpHint(err)
		}
		if err := change(g, blocker.ID, blocked.ID); err != nil {
			return fmt.Errorf("deps %s: %w", c.Command.Name, err)
		}
		return nil
	})
	if err == nil {
		a.note("%s %s %s", blocked.ID, words, blocker.ID)
	}
	return err
}

type depsJSON struct {
	ID         string   `json:"id"`
	Blockers   []string `json:"blockers"`
	Dependents []string `json:"dependents"`
}

func (a *app) runDepsList(c *cli.Context) error {
	return a.view(c.Context, func(_ *session, g *dag.Graph) error {
		t, err := resolveOne(c, g)
		if err != nil {
			return err
		}
		blockers, err := g.Blockers(t)
		if err != nil {
			return err
		}
		dependents, err := g.Dependents(t)
		if err != nil {
			return err
		}
		if c.Bool("json") {
			return a.printJSON(depsJSON{ID: t.ID, Blockers: ids(blockers), Dependents: ids(dependents)})
		}
		if len(blockers)+len(dependents) == 0 {
			a.note("%s waits for nothing, and nothing waits for it", t.ID)
			return nil
		}
		return a.printSections([]section{{"Waits for", blockers}, {"Holds up", dependents}})
	})
}
