package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"ralph/acp"
	"ralph/internal/agents"
	"ralph/internal/jsonval"
	"ralph/internal/project"
	"ralph/internal/sandbox"
	"ralph/internal/term"
)

var agentsCommand = command{
	name: "agents", short: "list the known agents; which are installed, and how each takes a model",
	long: `npx fetches an agent that is not installed when a run uses it. anthropic, openai and local are ralph's own
agent (ralph agent): a key, or a model server on this machine, is all they need. The list includes your own agents,
from the configuration; * marks the one that a run would use.`,
	flags:   []flagSpec{jsonFlag},
	example: "ralph agents\nralph agents test claude", run: action(runAgents),
	sub: []command{agentsTestCommand},
}

func runAgents(_ context.Context, a *app, o plainOptions) error {
	config, err := configHere(a)
	if err != nil {
		return err
	}
	list := a.finder(config).List()
	if o.JSON {
		return a.printJSON(list)
	}
	p, found := a.palette(), false
	err = printTable(a, []string{"AGENT", "HERE", "MODEL BY", "REPORTS", "CREDENTIAL"}, list, func(d agents.Description) []term.Cell {
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
		a.note("no agent found: %s", agents.Remedy)
	}
	a.note("try one with: ralph agents test NAME")
	return nil
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

// maxAnswer is how much of an answer is shown; the agent was asked for one word.
const maxAnswer = 200

var agentsTestCommand = command{
	name: "test", args: "AGENT", short: "start an agent, open a session, send one sentence, and report",
	long: `AGENT is a known agent, one of your own, or the command that starts one. It works in an
empty folder and costs one short answer of the model.`,
	flags: []flagSpec{
		{name: "model", usage: "use `MODEL`: a name, or a tier: opus, sonnet, haiku", shown: "the one that is configured for the agent, else its own"},
		{name: "timeout", usage: "wait at most `DURATION` for the answer", value: "2m"},
		jsonFlag,
	},
	example: "ralph agents test claude\nralph agents test 'my-agent --acp' --json", exits: "5 the agent cannot be used: the report says how far it came",
	run: action(runAgentsTest),
}

type agentsTestOptions struct {
	Args    []string
	Model   string
	Timeout project.Duration
	JSON    bool
}

func runAgentsTest(ctx context.Context, a *app, o agentsTestOptions) error {
	config, err := configHere(a)
	if err != nil {
		return err
	}
	report := agents.NewReport(o.Args[0])
	ag, err := a.finder(config).Find(o.Args[0])
	if err != nil && !errors.Is(err, agents.ErrUnavailable) {
		return err
	}
	if err == nil {
		report.Agent = ag.Name
		var t *agents.Trial
		if t, err = newTrial(a, &session{config: config}, ag, o.Timeout.Std()); err == nil {
			defer t.Close()
			report, err = t.Run(ctx, cmp.Or(o.Model, ag.Configured()))
		}
		var e *acp.Error
		if errors.As(err, &e) {
			err = hint(err, "%s", agents.Advice(e, ag.Preset))
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
		return errors.Join(err, a.printJSON(report))
	}
	if perr := printTrial(a, report); err == nil {
		err = perr
	}
	return err
}

// newTrial tries an agent in a project, or in an empty folder without one.
func newTrial(a *app, s *session, ag agents.Agent, timeout time.Duration) (*agents.Trial, error) {
	o, err := openerOf(a, s)
	if err != nil {
		return nil, err
	}
	o.Chosen, o.IdleTimeout, o.TurnTimeout = ag, timeout, timeout
	return agents.NewTrial(o, func(root string) (*sandbox.Confiner, error) {
		return confinerOf(a, sandbox.Options{Mode: s.config.Sandbox.Mode, Project: project.Project{Root: root}}, s.config.Sandbox)
	})
}

func printTrial(a *app, r agents.Report) error {
	p := a.palette()
	rows := [][2]string{{"agent", r.Agent}, {"started as", strings.Join(r.Start, " ")}, {"says it is", or(r.Says, "")}, {"credential", or(r.Credential, "")}}
	for _, s := range r.Steps {
		rows = append(rows, [2]string{s.Step, fmt.Sprintf("%.2f s", s.Seconds)})
	}
	rows = append(rows, [][2]string{
		{"can", strings.Join(r.Capabilities, ", ")},
		{"modes", inUse(or(r.Mode, ""), r.Modes)},
		{"models", inUse(or(r.Model, ""), r.Models)},
		{"logins", strings.Join(r.Logins, ", ")},
		{"answer", term.Cut(term.Line(or(r.Answer, "")), maxAnswer)},
	}...)
	t := &term.Table{Width: a.width}
	for _, row := range rows {
		if row[1] != "" {
			t.Add(term.Cell{Text: row[0], Paint: p.Dim}, term.Cell{Text: row[1]})
		}
	}
	result := p.Green("usable")
	if !r.OK {
		result = p.Red("not usable")
	}
	return written(fmt.Fprintf(a.stdout, "%s%s\n", t, result))
}

// inUse lists what there is, with what is in use first and marked.
func inUse(current string, all []string) string {
	if current != "" {
		all = slices.DeleteFunc(slices.Clone(all), func(s string) bool { return s == current })
		all = slices.Insert(all, 0, current+" (in use)")
	}
	return strings.Join(all, ", ")
}
