package main

import (
	"slices"
	"strconv"
	"strings"

	"ralph/dag"
	"ralph/internal/human"
	"ralph/internal/report"
	"ralph/internal/seq"
	"ralph/internal/term"
)

var taskListCommand = command{
	name: "list", bare: true, short: "list tasks; without flags, everything neither done nor cancelled",
	flags: []flagSpec{
		boolFlag("ready", "only what a run would start now, in that order"),
		{name: "status", value: []string{}, usage: "only tasks with `STATUS`: " + strings.Join(statusWords(), ", ") + "; repeatable"},
		{name: "feature", usage: "only tasks of `FEATURE`"},
		{name: "tag", usage: "only tasks tagged `TAG`"},
		boolFlag("all", "also what is done or cancelled"),
		{name: "limit", shown: "all", value: 0, usage: "at most `N`"},
		jsonFlag,
	},
	example: "ralph task list --ready --limit 5\nralph task list --status failed --json", exits: "3 no such feature",
	run: onGraph(runTaskList),
}

type taskListOptions struct {
	dag.Filter // its feature as it was typed
	Status     []string
	All, JSON  bool
}

func (o *taskListOptions) parse(commandLine) error {
	if o.Ready && (len(o.Status) > 0 || o.All) {
		return usagef("--ready goes with neither --status nor --all: what is ready is pending")
	}
	for _, text := range o.Status {
		if text == statusReady {
			o.Ready = true
			continue
		}
		s, err := parseStatus(text)
		if err != nil {
			return err
		}
		o.Statuses = append(o.Statuses, s)
	}
	if len(o.Statuses) == 0 && !o.Ready && !o.All {
		o.Statuses = []dag.Status{dag.Pending, dag.InProgress, dag.Failed, dag.Blocked}
	}
	return checkLimit(o.Limit)
}

// statusReady is what the list calls a pending task that a run would start now.
const statusReady = "ready"

// statusWords are the values of --status.
func statusWords() []string {
	return append([]string{statusReady}, seq.Map(dag.Statuses(), func(s dag.Status) string { return string(s) })...)
}

func parseStatus(text string) (dag.Status, error) {
	names := statusWords()
	if slices.Contains(names, text) {
		return dag.Status(text), nil
	}
	err := usagef("no status %q: it is one of %s", text, strings.Join(names, ", "))
	usual := map[string]string{"open": "pending", "todo": "pending", "running": "in_progress", "closed": "done", "canceled": "cancelled"}
	return "", suggest(err, "did you mean: --status %s", text, names, usual)
}

func runTaskList(a *app, s *session, g *dag.Graph, o taskListOptions) (err error) {
	f := o.Filter
	if f.Feature, err = featureByName(g, f.Feature); err != nil {
		return err
	}
	tasks, err := g.Tasks.List(f)
	if err != nil {
		return err
	}
	return printTasks(a, s, g, f, o.JSON, tasks, func() error {
		p := a.palette()
		return printTable(a, []string{"ID", "STATUS", "PRI", "TITLE"}, tasks, func(t dag.Task) []term.Cell {
			return []term.Cell{{Text: t.ID, Paint: p.Cyan}, stateCell(a, p, t), {Text: strconv.FormatInt(t.Priority, 10)}, {Text: t.Title}}
		})
	})
}

// printTasks prints what was found by f: as JSON, as draw does it, or why there is nothing.
func printTasks(a *app, s *session, g *dag.Graph, f dag.Filter, asJSON bool, tasks []dag.Task, draw func() error) error {
	if asJSON {
		list, err := viewTasks(a, s, g, tasks...)
		if err != nil {
			return err
		}
		return a.printJSON(list)
	}
	if len(tasks) == 0 {
		return noTasks(a, s, g, f)
	}
	return draw()
}

// noTasks says what an empty list means, on stderr, so that scripts see nothing.
func noTasks(a *app, s *session, g *dag.Graph, f dag.Filter) error {
	tally, err := g.Tasks.Tally(dag.Scope{Feature: f.Feature})
	switch {
	case err != nil:
		return err
	case tally.Total() == 0:
		a.note("%s", noPlan(a, s))
	case tally.Total() == tally.ByStatus[dag.Done]+tally.ByStatus[dag.Cancelled] && len(f.Statuses) > 0 && !slices.Contains(f.Statuses, dag.Done):
		a.note("nothing is left to do; see the tasks with: ralph task list --all")
	case f.Ready:
		a.note("no task is ready; see what waits with: ralph status")
	default:
		a.note("no such task among %s; see all with: ralph task list --all", human.Count(tally.Total(), "task"))
	}
	return nil
}

// The shapes that several commands print are in package report.

func viewTasks(a *app, s *session, g *dag.Graph, tasks ...dag.Task) ([]report.TaskView, error) {
	return report.ViewTasks(g, s.config.Run.MaxRetries, a.now(), tasks...)
}

func viewFeature(s *session, f dag.Feature) report.FeatureView {
	return report.FeatureView{Feature: f, Folder: s.project.Feature(f.Name)}
}
