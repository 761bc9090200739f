package main

import (
	"fmt"
	"time"

	"github.com/urfave/cli/v2"

	"ralph/dag"
	"ralph/internal/term"
)

func (a *app) taskWhy() command {
	return command{
		name: "why", args: "ID", short: "say why a task is not running",
		flags:   []cli.Flag{jsonFlag()},
		example: "ralph task why 1f0c", exits: "3 not found",
		run: a.runTaskWhy,
	}
}

type whyJSON struct {
	ID         string       `json:"id"`
	Status     string       `json:"status"`
	Ready      bool         `json:"ready"`
	Unverified *string      `json:"unverified"` // the attempt whose finished work awaits its verdict
	Reasons    []reasonJSON `json:"reasons"`
}

type reasonJSON struct {
	Kind  string  `json:"kind"`
	Task  *string `json:"task"`
	Text  string  `json:"text"`
	Until *string `json:"until"`
}

func (a *app) runTaskWhy(c *cli.Context) error {
	return a.view(c.Context, func(_ *session, g *dag.Graph) error {
		t, err := resolveOne(c, g)
		if err != nil {
			return err
		}
		reasons, err := g.Why(t)
		if err != nil {
			return err
		}
		failed, err := g.AtFault(t)
		if err != nil {
			return err
		}
		reasons = append(reasons, failed...)
		stale, err := g.Stale(life)
		if err != nil {
			return err
		}
		for _, dead := range stale {
			if dead.ID == t.ID {
				reasons = []dag.Reason{{Kind: "claim", Text: diedText}}
			}
		}
		if c.Bool("json") {
			return a.printJSON(whyAsJSON(t, reasons, a.now()))
		}
		p := a.palette()
		word, paint := a.state(p, t)
		fmt.Fprintf(a.stdout, "%s  %s  %s\n", p.Cyan(t.ID), paint(word), term.Line(t.Title))
		if awaitsVerdict(t) {
			fmt.Fprintln(a.stdout, "  "+unverifiedText)
		}
		if len(reasons) == 0 {
			_, err = fmt.Fprintln(a.stdout, "  nothing holds it up: the next run takes it in its turn")
			return err
		}
		for _, r := range reasons {
			if _, err := fmt.Fprintln(a.stdout, "  "+term.Line(a.reasonText(r))); err != nil {
				return err
			}
		}
		return nil
	})
}

// awaitsVerdict says that a task is done but for its verdict.
func awaitsVerdict(t dag.Task) bool { return t.Status == dag.Pending && t.Unverified != "" }

const unverifiedText = "its work is finished and awaits its verdict: no agent works on it again before that"

func (a *app) reasonText(r dag.Reason) string {
	if r.Until.IsZero() {
		return r.Text
	}
	left := r.Until.Sub(a.now()).Round(time.Second)
	if left <= 0 {
		return fmt.Sprintf("%s (its lease ran out %s ago; see: ralph recover)", r.Text, -left)
	}
	return fmt.Sprintf("%s (until %s, %s from now)", r.Text, r.Until.Local().Format(time.DateTime), left)
}

func whyAsJSON(t dag.Task, reasons []dag.Reason, now time.Time) whyJSON {
	j := whyJSON{ID: t.ID, Status: string(t.Status), Ready: t.Ready(now), Unverified: orNil(t.Unverified), Reasons: []reasonJSON{}}
	for _, r := range reasons {
		j.Reasons = append(j.Reasons, reasonJSON{Kind: r.Kind, Task: orNil(r.Task), Text: r.Text, Until: timeOrNil(r.Until)})
	}
	return j
}
