// Package agentcmd has the commands about agents, and those that are agents or tools of them.
package agentcmd

import (
	"cmp"
	"context"
	"errors"

	"ralph/acp"
	"ralph/internal/agents"
	"ralph/internal/cli"
	"ralph/internal/cli/wiring"
	"ralph/internal/jsonval"
	"ralph/internal/project"
	"ralph/internal/term"
)

// Agents is the command "ralph agents".
var Agents = cli.Command{
	Name: "agents", Short: "list the known agents; which are installed, and how each takes a model",
	Long: `npx fetches an agent that is not installed when a run uses it. anthropic, openai and local are ralph's own
agent (ralph agent): a key, or a model server on this machine, is all they need. The list includes your own agents,
from the configuration; * marks the one that a run would use.`,
	Flags:   []cli.Flag{cli.JSONFlag},
	Example: "ralph agents\nralph agents test claude", Run: cli.Action(runAgents),
	Sub: []cli.Command{agentsTestCommand},
}

func runAgents(_ context.Context, a *cli.App, o cli.PlainOptions) error {
	config, err := cli.ConfigHere(a)
	if err != nil {
		return err
	}
	list := a.Finder(config).List()
	if o.JSON {
		return a.PrintJSON(list)
	}
	p, found := a.Palette(), false
	err = cli.PrintTable(a, []string{"AGENT", "HERE", "MODEL BY", "REPORTS", "CREDENTIAL"}, list, func(d agents.Description) []term.Cell {
		name, paint := d.Name, p.Dim
		if d.Chosen {
			name += " *"
		}
		if d.Installed {
			paint = p.Green
		}
		found = found || d.Installed && d.Source != "built in"
		return []term.Cell{{Text: name, Paint: p.Cyan}, {Text: d.Source, Paint: paint}, {Text: d.ModelBy}, {Text: d.Reports}, {Text: d.Credential()}}
	})
	if err != nil {
		return err
	}
	if !found {
		a.Note("no agent found: %s", agents.Remedy)
	}
	a.Note("try one with: ralph agents test NAME")
	return nil
}

var agentsTestCommand = cli.Command{
	Name: "test", Args: "AGENT", Short: "start an agent, open a session, send one sentence, and report",
	Long: `AGENT is a known agent, one of your own, or the command that starts one. It works in an
empty folder and costs one short answer of the model.`,
	Flags: []cli.Flag{
		{Name: "model", Usage: "use `MODEL`: a name, or a tier: opus, sonnet, haiku", Shown: "the one that is configured for the agent, else its own"},
		{Name: "timeout", Usage: "wait at most `DURATION` for the answer", Value: "2m"},
		cli.JSONFlag,
	},
	Example: "ralph agents test claude\nralph agents test 'my-agent --acp' --json", Exits: "5 the agent cannot be used: the report says how far it came",
	Run: cli.Action(runAgentsTest),
}

type agentsTestOptions struct {
	Args    []string
	Model   string
	Timeout project.Duration
	JSON    bool
}

func runAgentsTest(ctx context.Context, a *cli.App, o agentsTestOptions) error {
	config, err := cli.ConfigHere(a)
	if err != nil {
		return err
	}
	report := agents.NewReport(o.Args[0])
	ag, err := a.Finder(config).Find(o.Args[0])
	if err != nil && !errors.Is(err, agents.ErrUnavailable) {
		return err
	}
	if err == nil {
		report.Agent = ag.Name
		var t *agents.Trial
		if t, err = wiring.NewTrial(a, &cli.Session{Config: config}, ag, o.Timeout.Std()); err == nil {
			defer t.Close()
			report, err = t.Run(ctx, cmp.Or(o.Model, ag.Configured()))
		}
		var e *acp.Error
		if errors.As(err, &e) {
			err = cli.Hint(err, "%s", agents.Advice(e, ag.Preset))
		}
	}
	if errors.Is(err, project.ErrConfig) || ctx.Err() != nil {
		return err
	}
	report.OK = err == nil
	if err != nil {
		report.Error = jsonval.Text(term.Line(err.Error()))
	}
	if o.JSON {
		return errors.Join(err, a.PrintJSON(report))
	}
	if perr := wiring.PrintTrial(a, report); err == nil {
		err = perr
	}
	return err
}
