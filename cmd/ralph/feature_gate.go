package main

import (
	"fmt"

	"github.com/urfave/cli/v2"

	"ralph/dag"
	"ralph/internal/term"
)

func (a *app) featureGateCommand() command {
	return command{
		name: "gate", args: "NAME [CMD...]", short: "show or set the commands that judge every task of a feature",
		long: "They run after the project's gates and before a task's own. Without CMD they are shown.",
		flags: []cli.Flag{
			&cli.BoolFlag{DisableDefaultText: true, Name: "none", Usage: "take all of them away"},
			jsonFlag(),
		},
		example: "ralph feature gate login \"go test ./login\" \"npm run lint\"\nralph feature gate login --none",
		exits:   "1 refused, 3 not found", run: a.runFeatureGate,
	}
}

func (a *app) runFeatureGate(c *cli.Context) error {
	if c.NArg() == 0 {
		return usagef("NAME is missing")
	}
	commands := c.Args().Tail()
	if c.Bool("none") && len(commands) > 0 {
		return usagef("--none goes with no command")
	}
	var gates []string
	work := func(s *session, g *dag.Graph) error {
		name, err := featureByName(g, c.Args().First())
		if err != nil {
			return err
		}
		if len(commands) > 0 || c.Bool("none") {
			if err := g.SetFeatureGates(name, commands); err != nil {
				return err
			}
		}
		gates, err = g.FeatureGates(name)
		return err
	}
	if err := a.update(c.Context, work); err != nil {
		return err
	}
	if c.Bool("json") {
		return a.printJSON(orEmpty(gates))
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
