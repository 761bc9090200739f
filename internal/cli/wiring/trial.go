package wiring

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"ralph/internal/agents"
	"ralph/internal/cli"
	"ralph/internal/project"
	"ralph/internal/sandbox"
	"ralph/internal/term"
)

// maxAnswer is how much of an answer is shown; the agent was asked for one word.
const maxAnswer = 200

// NewTrial tries an agent in a project, or in an empty folder without one.
func NewTrial(a *cli.App, s *cli.Session, ag agents.Agent, timeout time.Duration) (*agents.Trial, error) {
	o, err := openerOf(a, s)
	if err != nil {
		return nil, err
	}
	o.Chosen, o.IdleTimeout, o.TurnTimeout = ag, timeout, timeout
	return agents.NewTrial(o, func(root string) (*sandbox.Confiner, error) {
		return ConfinerOf(a, sandbox.Options{Mode: s.Config.Sandbox.Mode, Project: project.Project{Root: root}}, s.Config.Sandbox)
	})
}

// PrintTrial prints how an agent did.
func PrintTrial(a *cli.App, r agents.Report) error {
	p := a.Palette()
	rows := [][2]string{{"agent", r.Agent}, {"started as", strings.Join(r.Start, " ")}, {"says it is", cli.Or(r.Says, "")}, {"credential", cli.Or(r.Credential, "")}}
	for _, s := range r.Steps {
		rows = append(rows, [2]string{s.Step, fmt.Sprintf("%.2f s", s.Seconds)})
	}
	rows = append(rows, [][2]string{
		{"can", strings.Join(r.Capabilities, ", ")},
		{"modes", inUse(cli.Or(r.Mode, ""), r.Modes)},
		{"models", inUse(cli.Or(r.Model, ""), r.Models)},
		{"logins", strings.Join(r.Logins, ", ")},
		{"answer", term.Cut(term.Line(cli.Or(r.Answer, "")), maxAnswer)},
	}...)
	t := &term.Table{Width: a.Width}
	for _, row := range rows {
		if row[1] != "" {
			t.Add(term.Cell{Text: row[0], Paint: p.Dim}, term.Cell{Text: row[1]})
		}
	}
	result := p.Green("usable")
	if !r.OK {
		result = p.Red("not usable")
	}
	return cli.Written(fmt.Fprintf(a.Stdout, "%s%s\n", t, result))
}

// inUse lists what there is, with what is in use first and marked.
func inUse(current string, all []string) string {
	if current != "" {
		all = slices.DeleteFunc(slices.Clone(all), func(s string) bool { return s == current })
		all = slices.Insert(all, 0, current+" (in use)")
	}
	return strings.Join(all, ", ")
}
