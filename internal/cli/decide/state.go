package decide

import (
	"context"
	"fmt"
	"slices"

	"ralph/dag"
	"ralph/internal/cli"
	"ralph/internal/cli/wiring"
	"ralph/internal/human"
	"ralph/internal/render"
)

// TaskStateOptions are those of the commands that change the status of tasks.
type TaskStateOptions struct {
	Args                     []string // IDs
	Reason, Message          string
	Now, Tree, Failed, Stale bool
	Satisfied                bool
}

// ChangeTasks does one thing to all tasks that were named, or to none, and prints it.
func ChangeTasks(ctx context.Context, a *cli.App, store func(context.Context, func(*cli.Session, *dag.Graph) error) error, ids []string, name, word string, do func(*dag.Graph, dag.Task) error) error {
	var tasks []dag.Task
	var in *cli.Session
	var emptied, fallen []string
	err := store(ctx, func(s *cli.Session, g *dag.Graph) (err error) {
		if tasks, err = cli.ResolveTasks(g, ids); err != nil {
			return err
		}
		defer func() { emptied = emptiedGroups(g, tasks) }()
		for _, t := range tasks {
			if err := do(g, t); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
		if fallen, err = g.Queue.Fall(); err != nil {
			return err
		}
		in = s
		return NoteLanding(a, g)
	})
	if err != nil {
		return err
	}
	for _, t := range tasks {
		a.Note("%s %s: %s", t.ID, word, t.Title)
	}
	if len(fallen) > 0 {
		a.Note("stood on that work, and will begin anew without it: %s", human.List(fallen, 5))
	}
	for _, id := range emptied {
		a.Note("%s has no subtask left and stays a group; make it a task with: ralph task update %s --kind work", id, id)
	}
	wiring.ObserveCommand(ctx, a, in, name, tasks...)
	return nil
}

// emptiedGroups are the parents of tasks that lost their last subtask with them.
func emptiedGroups(g *dag.Graph, tasks []dag.Task) (groups []string) {
	for _, t := range tasks {
		if p, err := g.Tasks.Get(t.Parent); t.Parent != "" && err == nil && p.Emptied && !slices.Contains(groups, p.ID) {
			groups = append(groups, p.ID)
		}
	}
	return groups
}

// NoteLanding says what becomes of work that was landing when its task was taken away.
func NoteLanding(a *cli.App, g *dag.Graph) error {
	landing, err := g.Queue.MergesIn(dag.MergeLanding)
	for _, m := range landing {
		if at, err := g.History.Attempt(m.Attempt); err != nil || !at.EndedAt.IsZero() {
			a.Note("%s was landing, and its work may be %s: the next run finds out, or: ralph recover", m.Task, render.On(m.Target))
		}
	}
	return err
}

// HintReset adds how to reopen a task that is over to the error of changing it.
func HintReset(err error, t dag.Task) error {
	if err != nil && (t.Status == dag.Done || t.Status == dag.Failed || t.Status == dag.Cancelled) {
		return cli.Hint(err, "reopen it first with: ralph task reset %s", t.ID)
	}
	return err
}

// RejectTask rejects finished work.
func RejectTask(g *dag.Graph, t dag.Task, o TaskStateOptions) error {
	err := g.Queue.Reject(t.ID, o.Message)
	if t.AwaitsVerdict() {
		return cli.Hint(err, "if you have accepted it, take that back with: ralph task reset %s", t.ID)
	}
	if landed, _ := g.Queue.LandedWork(t); landed.N > 0 {
		return cli.Hint(err, "its work has landed; take that back, and tell the next attempt why: ralph undo %s -m WHY", t.ID)
	}
	return err
}
