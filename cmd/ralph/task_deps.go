package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"ralph/dag"
	"ralph/report"
)

func taskDepsCommand(a *app) command {
	return command{
		name: "deps", short: "show and change what waits for what",
		example: "ralph task deps add 1f0c 77aa", exits: "1 refused (a cycle), 3 not found",
		sub: []command{
			{
				name: "add", args: "BLOCKER BLOCKED", short: "let BLOCKED wait for BLOCKER",
				example: "ralph task deps add 1f0c 77aa", exits: "1 refused (a cycle, also through parents), 3 not found",
				run: changeDeps(a, "add", "now waits for", (*dag.Graph).Link),
			},
			{
				name: "rm", args: "BLOCKER BLOCKED", short: "let BLOCKED no longer wait for BLOCKER",
				example: "ralph task deps rm 1f0c 77aa", exits: "3 not found",
				run: changeDeps(a, "rm", "no longer waits for", (*dag.Graph).Unlink),
			},
			{
				name: "list", args: "ID", short: "list what a task waits for and what waits for it",
				flags:   []cli.Flag{jsonFlag()},
				example: "ralph task deps list 1f0c", exits: "3 not found",
				run: action(a, parsePlain, runDepsList),
			},
		},
	}
}

func changeDeps(a *app, name, words string, change func(g *dag.Graph, blocker, blocked string) error) cli.ActionFunc {
	return action(a, parsePlain, func(ctx context.Context, a *app, o plainOptions) error {
		if len(o.args) != 2 {
			return usagef("two IDs are needed: BLOCKER BLOCKED")
		}
		var pair [2]dag.Task
		err := a.update(ctx, func(_ *session, g *dag.Graph) (err error) {
			for i, typed := range o.args {
				if pair[i], err = g.Resolve(typed); err != nil {
					return lookUpHint(err)
				}
			}
			if err := change(g, pair[0].ID, pair[1].ID); err != nil {
				return fmt.Errorf("deps %s: %w", name, err)
			}
			return nil
		})
		if err == nil {
			a.note("%s %s %s", pair[1].ID, words, pair[0].ID)
		}
		return err
	})
}

type depsJSON struct {
	ID         string   `json:"id"`
	Blockers   []string `json:"blockers"`
	Dependents []string `json:"dependents"`
}

func runDepsList(ctx context.Context, a *app, o plainOptions) error {
	return a.view(ctx, func(_ *session, g *dag.Graph) error {
		t, err := resolveTask(g, o.args[0])
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
		switch {
		case o.json:
			return a.printJSON(depsJSON{ID: t.ID, Blockers: report.IDs(blockers), Dependents: report.IDs(dependents)})
		case len(blockers)+len(dependents) == 0:
			a.note("%s waits for nothing, and nothing waits for it", t.ID)
			return nil
		}
		_, err = fmt.Fprint(a.stdout, strings.TrimPrefix(taskSection(a, "Waits for", blockers)+taskSection(a, "Holds up", dependents), "\n"))
		return err
	})
}
