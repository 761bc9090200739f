package main

import (
	"context"
	"fmt"

	"github.com/urfave/cli/v2"

	"ralph/dag"
	"ralph/internal/term"
	"ralph/report"
)

func taskWhyCommand(a *app) command {
	return command{
		name: "why", args: "ID", short: "say why a task is not running",
		flags:   []cli.Flag{jsonFlag()},
		example: "ralph task why 1f0c", exits: "3 not found",
		run: action(a, parsePlain, runTaskWhy),
	}
}

func runTaskWhy(ctx context.Context, a *app, o plainOptions) error {
	return a.view(ctx, func(_ *session, g *dag.Graph) error {
		t, err := resolveTask(g, o.args[0])
		if err != nil {
			return err
		}
		reasons, err := g.Explain(t, life)
		if err != nil {
			return err
		}
		why := report.ViewWhy(t, reasons, a.now())
		if o.json {
			return a.printJSON(why)
		}
		p := a.palette()
		state := stateCell(a, p, t)
		text := fmt.Sprintf("%s  %s  %s\n", p.Cyan(t.ID), state.Paint(state.Text), term.Line(t.Title))
		if t.AwaitsVerdict() {
			text += "  " + unverifiedText + "\n"
		}
		if len(reasons) == 0 {
			text += "  nothing holds it up: the next run starts it in its turn\n"
		}
		for _, r := range why.Reasons {
			text += "  " + term.Line(reasonText(r, a.now())) + "\n"
		}
		_, err = fmt.Fprint(a.stdout, text)
		return err
	})
}
