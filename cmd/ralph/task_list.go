package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"ralph/dag"
	"ralph/internal/human"
	"ralph/internal/term"
)

func (a *app) taskList() command {
	return command{
		name: "list", bare: true, short: "list tasks; without flags, everything not done",
		flags: []cli.Flag{
			&cli.BoolFlag{DisableDefaultText: true, Name: "ready", Usage: "only what a run would take now, in that order"},
			&cli.StringSliceFlag{Name: "status", Usage: "only tasks with status `S`: " + strings.Join(statusWords(), ", ") + "; repeatable"},
			&cli.StringFlag{Name: "feature", Usage: "only tasks of feature `F`"},
			&cli.BoolFlag{DisableDefaultText: true, Name: "all", Usage: "also what is done"},
			&cli.IntFlag{Name: "limit", DefaultText: "all", Usage: "at most `N`"},
			jsonFlag(),
		},
		example: "ralph task list --ready --limit 5\nralph task list --status failed --json",
		exits:   "3 no such feature",
		run:     a.runTaskList,
	}
}

func (a *app) runTaskList(c *cli.Context) error {
	if err := noArgs(c); err != nil {
		return err
	}
	f := dag.Filter{Ready: c.Bool("ready"), Limit: c.Int("limit")}
	if f.Limit < 0 {
		return usagef("--limit cannot be negative")
	}
	if f.Ready && (c.IsSet("status") || c.Bool("all")) {
		return usagef("--ready goes with neither --status nor --all: what is ready is pending")
	}
	for _, text := range c.StringSlice("status") {
		if text == statusReady {
			f.Ready = true
			continue
		}
		s, err := parseStatus(text)
		if err != nil {
			return err
		}
		f.Statuses = append(f.Statuses, s)
	}
	if len(f.Statuses) == 0 && !f.Ready && !c.Bool("all") {
		f.Statuses = []dag.Status{dag.Pending, dag.InProgress, dag.Failed, dag.Blocked}
	}
	return a.view(c.Context, func(s *session, g *dag.Graph) (err error) {
		if f.Feature, err = featureByName(g, c.String("feature")); err != nil {
			return err
		}
		tasks, err := g.List(f)
		if err != nil {
			return err
		}
		if c.Bool("json") {
			list, err := allJSON(s, g, tasks, a.now())
			if err != nil {
				return err
			}
			return a.printJSON(list)
		}
		return a.printTasks(s, g, tasks, f)
	})
}

// statusReady is what the list calls a pending task that a run would take now.
const statusReady = "ready"

// statusWords are the values of --status.
func statusWords() []string {
	words := []string{statusReady}
	for _, s := range dag.Statuses() {
		words = append(words, string(s))
	}
	return words
}

func parseStatus(text string) (dag.Status, error) {
	names := statusWords()
	if slices.Contains(names, text) {
		return dag.Status(text), nil
	}
	err := usagef("no status %q: it is one of %s", text, strings.Join(names, ", "))
	near, usual := map[string]string{"open": "pending", "todo": "pending", "running": "in_progress", "closed": "done"}[text]
	if !usual {
		near = nearest(text, names)
	}
	if near != "" {
		return "", hint(err, "did you mean: --status %s", near)
	}
	return "", err
}

func (a *app) printTasks(s *session, g *dag.Graph, tasks []dag.Task, f dag.Filter) error {
	if len(tasks) == 0 {
		return a.noTasks(s, g, f)
	}
	p := a.palette()
	t := &term.Table{Width: a.width}
	t.Add(term.Cell{Text: "ID", Paint: p.Dim}, term.Cell{Text: "STATUS", Paint: p.Dim}, term.Cell{Text: "PRI", Paint: p.Dim}, term.Cell{Text: "TITLE", Paint: p.Dim})
	for _, task := range tasks {
		word, paint := a.state(p, task)
		t.Add(term.Cell{Text: task.ID, Paint: p.Cyan}, term.Cell{Text: word, Paint: paint},
			term.Cell{Text: strconv.FormatInt(task.Priority, 10)}, term.Cell{Text: task.Title})
	}
	_, err := t.WriteTo(a.stdout)
	return err
}

// noTasks says what an empty list means, on stderr, so that scripts see nothing.
func (a *app) noTasks(s *session, g *dag.Graph, f dag.Filter) error {
	tally, err := g.Tally(dag.Scope{Feature: f.Feature})
	if err != nil {
		return err
	}
	switch {
	case tally.Total() == 0:
		a.note("%s", a.noPlan(s))
	case f.Ready:
		a.note("no task is ready; see what waits with: ralph status")
	default:
		a.note("no such task among %s; see all with: ralph task list --all", human.Count(tally.Total(), "task"))
	}
	return nil
}

// state is the one word that tells a person where a task stands.
func (a *app) state(p term.Palette, t dag.Task) (string, func(string) string) {
	switch {
	case t.Status == dag.Done:
		return "done", p.Green
	case t.Status == dag.Failed:
		return "failed", p.Red
	case t.Status == dag.Blocked:
		return "blocked", p.Yellow
	case t.Status == dag.InProgress:
		return "running", p.Cyan
	case t.Ready(a.now()) && t.Unverified != "":
		return "unverified", p.Bold
	case t.Ready(a.now()):
		return "ready", p.Bold
	case t.Paused:
		return "paused", p.Yellow
	case t.Children > 0:
		return fmt.Sprintf("group of %d", t.Children), p.Dim
	default:
		return "waiting", p.Dim
	}
}
