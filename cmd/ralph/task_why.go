package main

import (
	"context"
	"fmt"
	"time"

	"github.com/urfave/cli/v2"

	"ralph/dag"
	"ralph/internal/term"
)

func taskWhyCommand(a *app) command {
	return command{
		name: "why", args: "ID", short: "say why a task is not running",
		flags:   []cli.Flag{jsonFlag()},
		example: "ralph task why 1f0c", exits: "3 not found",
		run: action(a, parsePlain, runTaskWhy),
	}
}

type whyJSON struct {
	ID         string       `json:"id"`
	Status     string       `json:"status"`
	Ready      bool         `json:"ready"`
	Unverified *string      `json:"unverified"` // the attempt whose finished work waits for verification
	Reasons    []reasonJSON `json:"reasons"`
}

type reasonJSON struct {
	Kind  string  `json:"kind"`
	Task  *string `json:"task"`
	Text  string  `json:"text"`
	Until *string `json:"until"`
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
		if o.json {
			return a.printJSON(whyAsJSON(t, reasons, a.now()))
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
		for _, r := range reasons {
			text += "  " + term.Line(reasonText(r, a.now())) + "\n"
		}
		_, err = fmt.Fprint(a.stdout, text)
		return err
	})
}

func whyAsJSON(t dag.Task, reasons []dag.Reason, now time.Time) whyJSON {
	j := whyJSON{ID: t.ID, Status: string(t.Status), Ready: t.Ready(now), Unverified: orNil(t.Unverified), Reasons: []reasonJSON{}}
	for _, r := range reasons {
		j.Reasons = append(j.Reasons, reasonJSON{Kind: r.Kind, Task: orNil(r.Task), Text: r.Text, Until: timeOrNil(r.Until)})
	}
	return j
}
