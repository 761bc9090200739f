package main

import (
	"context"
	"fmt"

	"github.com/urfave/cli/v2"

	"ralph/dag"
	"ralph/internal/jsonval"
	"ralph/internal/term"
)

func featureGateCommand(a *app) command {
	return command{
		name: "gate", args: "NAME [CMD...]", short: "show or set the commands that check every task of a feature",
		long: "They run after the project's gates and before a task's own. Without CMD they are shown.",
		flags: []cli.Flag{
			&cli.BoolFlag{DisableDefaultText: true, Name: "none", Usage: "remove all of them"},
			jsonFlag(),
		},
		example: "ralph feature gate login \"go test ./login\" \"npm run lint\"\nralph feature gate login --none",
		exits:   "1 refused, 3 not found", run: action(a, parseFeatureGate, runFeatureGate),
	}
}

type featureGateOptions struct {
	name     string
	commands []string
	none     bool
	json     bool
}

func parseFeatureGate(c *cli.Context) (featureGateOptions, error) {
	o := featureGateOptions{c.Args().First(), c.Args().Tail(), c.Bool("none"), c.Bool("json")}
	switch {
	case c.NArg() == 0:
		return o, usagef("NAME is missing")
	case o.none && len(o.commands) > 0:
		return o, usagef("--none goes with no command")
	}
	return o, nil
}

func runFeatureGate(ctx context.Context, a *app, o featureGateOptions) error {
	var gates []string
	err := a.update(ctx, func(_ *session, g *dag.Graph) error {
		name, err := featureByName(g, o.name)
		if err != nil {
			return err
		}
		if len(o.commands) > 0 || o.none {
			if err := g.SetFeatureGates(name, o.commands); err != nil {
				return err
			}
		}
		gates, err = g.FeatureGates(name)
		return err
	})
	if err != nil {
		return err
	}
	if o.json {
		return a.printJSON(jsonval.List(gates))
	}
	for _, gate := range gates {
		if _, err := fmt.Fprintln(a.stdout, term.Line(gate)); err != nil {
			return err
		}
	}
	if len(gates) == 0 {
		a.note("no gates")
	}
	return nil
}
