package main

import (
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"ralph/dag"
	"ralph/event"
	"ralph/internal/human"
	"ralph/internal/term"
	"ralph/report"
)

func (a *app) statsCommand() command {
	return command{
		name: "stats", short: "say how long attempts take, which models and agents succeed, and which gates refuse",
		long: `Half of the attempts took no longer than p50, 95 of 100 no longer than p95. Interrupted and
rate-limited attempts say nothing about a model and are left out of both.`,
		flags:   []cli.Flag{&cli.StringFlag{Name: "run", Usage: "only run `ID`", DefaultText: "all runs"}, jsonFlag()},
		example: "ralph stats\nralph stats --json | jq '.models[] | {key, success}'", exits: "3 no such run",
		run: a.runStats,
	}
}

type statsJSON struct {
	Attempts paceJSON                     `json:"attempts"`
	Models   []paceJSON                   `json:"models"`
	Agents   []paceJSON                   `json:"agents"`
	Gates    []gateStatJSON               `json:"gates"`
	Outcomes map[event.AttemptOutcome]int `json:"outcomes"`
}

type paceJSON struct {
	Key      string   `json:"key"`
	Attempts int      `json:"attempts"`
	Done     int      `json:"done"`
	Success  *float64 `json:"success"`
	P50MS    *int64   `json:"p50_ms"`
	P95MS    *int64   `json:"p95_ms"`
}

type gateStatJSON struct {
	Command string `json:"command"`
	Runs    int    `json:"runs"`
	Failed  int    `json:"failed"`
	Flaky   int    `json:"flaky"`
}

func (a *app) runStats(c *cli.Context) error {
	if err := noArgs(c); err != nil {
		return err
	}
	return a.view(c.Context, func(_ *session, g *dag.Graph) error {
		receipts, err := a.receipts(c, g)
		if err != nil {
			return err
		}
		s := report.StatsOf(receipts)
		if c.Bool("json") {
			return a.printJSON(statsAsJSON(s))
		}
		if len(s.Outcomes) == 0 {
			a.note("no attempt has ended yet; start with: ralph run")
			return nil
		}
		return a.printStats(s)
	})
}

func statsAsJSON(s report.Stats) statsJSON {
	j := statsJSON{Attempts: paceAsJSON(s.All), Models: []paceJSON{}, Agents: []paceJSON{}, Gates: []gateStatJSON{}, Outcomes: s.Outcomes}
	for _, p := range s.Models {
		j.Models = append(j.Models, paceAsJSON(p))
	}
	for _, p := range s.Agents {
		j.Agents = append(j.Agents, paceAsJSON(p))
	}
	for _, g := range s.Gates {
		j.Gates = append(j.Gates, gateStatJSON(g))
	}
	return j
}

// paceAsJSON leaves out what no attempt can tell.
func paceAsJSON(p report.Pace) paceJSON {
	j := paceJSON{Key: p.Key, Attempts: p.Attempts, Done: p.Done}
	if p.Attempts > 0 {
		share, p50, p95 := p.Share(), p.P50.Milliseconds(), p.P95.Milliseconds()
		j.Success, j.P50MS, j.P95MS = &share, &p50, &p95
	}
	return j
}

func (a *app) printStats(s report.Stats) error {
	p := a.palette()
	var b strings.Builder
	var outcomes []string
	for _, o := range event.AttemptOutcomes() {
		if n := s.Outcomes[o]; n > 0 {
			outcomes = append(outcomes, fmt.Sprintf("%d %s", n, o))
		}
	}
	fmt.Fprintf(&b, "%s\n", strings.Join(outcomes, ", "))
	pace := func(title string, list []report.Pace) {
		if len(list) == 0 {
			return
		}
		fmt.Fprintf(&b, "\n%s\n", p.Bold(title))
		t := &term.Table{Width: a.width}
		t.Add(cells(p.Dim, "", "ATTEMPTS", "DONE", "SUCCESS", "P50", "P95")...)
		for _, l := range list {
			t.Add(term.Cell{Text: l.Key}, term.Cell{Text: fmt.Sprint(l.Attempts)}, term.Cell{Text: fmt.Sprint(l.Done)},
				term.Cell{Text: fmt.Sprintf("%.0f %%", 100*l.Share())}, term.Cell{Text: human.Span(l.P50)}, term.Cell{Text: human.Span(l.P95)})
		}
		_, _ = t.WriteTo(&b) // a builder takes everything
	}
	if s.All.Attempts > 0 {
		pace("Attempts", []report.Pace{s.All})
	}
	pace("By model", s.Models)
	pace("By agent", s.Agents)
	if len(s.Gates) > 0 {
		fmt.Fprintf(&b, "\n%s\n", p.Bold("Gates"))
		t := &term.Table{Width: a.width}
		t.Add(cells(p.Dim, "FAILED", "FLAKY", "OF", "GATE")...)
		for _, g := range s.Gates {
			t.Add(term.Cell{Text: fmt.Sprint(g.Failed)}, term.Cell{Text: fmt.Sprint(g.Flaky)}, term.Cell{Text: fmt.Sprint(g.Runs)}, term.Cell{Text: g.Command})
		}
		_, _ = t.WriteTo(&b)
	}
	_, err := fmt.Fprint(a.stdout, b.String())
	return err
}
