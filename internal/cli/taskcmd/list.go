package taskcmd

import (
	"strconv"
	"strings"

	"ralph/dag"
	"ralph/internal/cli"
	"ralph/internal/cli/show"
	"ralph/internal/term"
)

var taskListCommand = cli.Command{
	Name: "list", Bare: true, Short: "list tasks; without flags, everything neither done nor cancelled",
	Flags: []cli.Flag{
		cli.Bool("ready", "only what a run would start now, in that order"),
		{Name: "status", Value: []string{}, Usage: "only tasks with `STATUS`: " + strings.Join(cli.StatusWords(), ", ") + "; repeatable"},
		{Name: "feature", Usage: "only tasks of `FEATURE`"},
		{Name: "tag", Usage: "only tasks tagged `TAG`"},
		cli.Bool("all", "also what is done or cancelled"),
		{Name: "limit", Shown: "all", Value: 0, Usage: "at most `N`"},
		cli.JSONFlag,
	},
	Example: "ralph task list --ready --limit 5\nralph task list --status failed --json", Exits: "3 no such feature",
	Run: cli.OnGraph(runTaskList),
}

type taskListOptions struct {
	dag.Filter // its feature as it was typed
	Status     []string
	All, JSON  bool
}

func (o *taskListOptions) Parse(cli.CommandLine) error {
	if o.Ready && (len(o.Status) > 0 || o.All) {
		return cli.Usagef("--ready goes with neither --status nor --all: what is ready is pending")
	}
	for _, text := range o.Status {
		if text == cli.StatusReady {
			o.Ready = true
			continue
		}
		s, err := cli.ParseStatus(text)
		if err != nil {
			return err
		}
		o.Statuses = append(o.Statuses, s)
	}
	if len(o.Statuses) == 0 && !o.Ready && !o.All {
		o.Statuses = []dag.Status{dag.Pending, dag.InProgress, dag.Failed, dag.Blocked}
	}
	return cli.CheckLimit(o.Limit)
}

func runTaskList(a *cli.App, s *cli.Session, g *dag.Graph, o taskListOptions) (err error) {
	f := o.Filter
	if f.Feature, err = cli.FeatureByName(g, f.Feature); err != nil {
		return err
	}
	tasks, err := g.Tasks.List(f)
	if err != nil {
		return err
	}
	return show.PrintTasks(a, s, g, f, o.JSON, tasks, func() error {
		p := a.Palette()
		return cli.PrintTable(a, []string{"ID", "STATUS", "PRI", "TITLE"}, tasks, func(t dag.Task) []term.Cell {
			return []term.Cell{{Text: t.ID, Paint: p.Cyan}, show.StateCell(a, p, t), {Text: strconv.FormatInt(t.Priority, 10)}, {Text: t.Title}}
		})
	})
}

// The shapes that several commands print are in package report.
