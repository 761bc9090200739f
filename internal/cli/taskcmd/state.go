package taskcmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"ralph/dag"
	"ralph/internal/cli"
	"ralph/internal/cli/decide"
	"ralph/internal/human"
	"ralph/internal/report"
	"ralph/internal/sandbox"
	"ralph/loop/recovery"
)

var (
	reasonFlag = cli.Flag{Name: "reason", Short: "r", Usage: "`TEXT` that says why"}
	treeFlag   = cli.Bool("tree", "with all subtasks")
)

var taskStateCommands = []cli.Command{
	{
		Name: "done", Args: "ID...", Short: "mark tasks as done, without verification",
		Example: "ralph task done 1f0c", Exits: "1 refused (a group), 3 not found",
		Run: changes("done", "done", func(g *dag.Graph, t dag.Task, _ decide.TaskStateOptions) error { return g.Tasks.Finish(t.ID) }),
	},
	{
		Name: "fail", Args: "ID...", Short: "mark tasks as failed; their subtasks will not run", Flags: []cli.Flag{reasonFlag},
		Example: `ralph task fail 1f0c -r "the API is gone"`, Exits: "1 refused (a task that is done), 3 not found",
		Run: changes("fail", "failed", func(g *dag.Graph, t dag.Task, o decide.TaskStateOptions) error {
			return decide.HintReset(g.Tasks.GiveUp(t.ID, o.Reason), t)
		}),
	},
	{
		Name: "reset", Args: "[ID...]", Short: "make tasks pending as if they had never run; reopens what contains them",
		Flags: []cli.Flag{
			treeFlag,
			cli.Bool("failed", "every failed task, or only those at or below ID"),
			cli.Bool("stale", "every task whose run has died"),
		},
		Example: "ralph task reset 1f0c\nralph task reset --failed", Exits: "1 refused, 3 not found",
		Run: cli.Action(runTaskReset),
	},
	{
		Name: "block", Args: "ID...", Short: "keep tasks, and their subtasks, from running until unblock or reset",
		Flags:   []cli.Flag{reasonFlag, cli.Bool("now", "end the agent that is at work on them")},
		Example: `ralph task block 1f0c -r "waits for the vendor"`, Exits: "1 refused (not pending), 3 not found",
		Run: changes("block", "blocked", blockTask),
	},
	{
		Name: "unblock", Args: "ID...", Short: "let blocked tasks run again",
		Example: "ralph task unblock 1f0c", Exits: "1 refused (not blocked), 3 not found",
		Run: changes("unblock", "unblocked", unblockTask),
	},
	{
		Name: "cancel", Args: "ID...", Short: "say that nobody will do tasks, nor what is left below them",
		Long: `Tasks that wait for a cancelled one keep waiting, unless it is cancelled with --satisfied; cancelling it again
changes that. A run whose tasks are all done or cancelled is complete. ralph task reset takes it back.`,
		Flags:   []cli.Flag{reasonFlag, cli.Bool("satisfied", "let tasks that wait for them go on, as if they were done")},
		Example: `ralph task cancel 1f0c -r "the customer left"`, Exits: "1 refused (a task that is done), 3 not found",
		Run: cli.Action(runTaskCancel),
	},
	Accept,
	{
		Name: "reject", Args: "ID...", Short: "send work that waits for review back to an agent",
		Flags:   []cli.Flag{{Name: "message", Short: "m", Usage: "`TEXT` that tells the next attempt why"}},
		Example: `ralph task reject 1f0c -m "keep the old format readable"`, Exits: "1 refused (no work of it waits), 3 not found",
		Run: changes("reject", "rejected", decide.RejectTask),
	},
	{
		Name: "delete", Args: "ID...", Short: "delete tasks; what waited for them no longer does", Flags: []cli.Flag{treeFlag},
		Example: "ralph task delete 1f0c --tree", Exits: "1 refused (it has subtasks), 3 not found",
		Run: changes("delete", "deleted", deleteTask),
	},
}

// changes makes a command that does one thing to all tasks that were named, or to none.
func changes(name, word string, do func(*dag.Graph, dag.Task, decide.TaskStateOptions) error) cli.Runner {
	return cli.Action(func(ctx context.Context, a *cli.App, o decide.TaskStateOptions) error {
		return decide.ChangeTasks(ctx, a, a.Update, o.Args, name, word, func(g *dag.Graph, t dag.Task) error { return do(g, t, o) })
	})
}

func blockTask(g *dag.Graph, t dag.Task, o decide.TaskStateOptions) error {
	if t.Status == dag.InProgress && o.Now { // in one transaction: no run claims it in between
		if err := g.Tasks.Reset(t.ID); err != nil {
			return err
		}
	}
	err := g.Tasks.Block(t.ID, o.Reason)
	if t.Status == dag.InProgress && !o.Now {
		return cli.Hint(err, "to stop after the current attempt: ralph pause %s; to end that now: ralph task block --now %s", t.ID, t.ID)
	}
	return decide.HintReset(err, t)
}

func runTaskCancel(ctx context.Context, a *cli.App, o decide.TaskStateOptions) error {
	kept := map[string][]string{}
	err := decide.ChangeTasks(ctx, a, a.Update, o.Args, "cancel", "cancelled", func(g *dag.Graph, t dag.Task) error {
		if err := g.Tasks.Cancel(t.ID, o.Satisfied, o.Reason); err != nil {
			return decide.HintReset(err, t)
		}
		return keptWaiting(g, t.ID, kept)
	})
	if err != nil {
		return err
	}
	for _, id := range slices.Sorted(maps.Keys(kept)) {
		a.Note("%s keeps waiting for %s; let it go on with: ralph task cancel %s --satisfied", human.List(kept[id], 5), id, id)
	}
	return nil
}

// keptWaiting finds what waits for a task that is cancelled, for one below it, or for a group that is cancelled with it.
func keptWaiting(g *dag.Graph, id string, kept map[string][]string) error {
	t, err := g.Tasks.Get(id)
	if err != nil {
		return err
	}
	cancelled, err := g.Tasks.Subtree(t)
	for up := t.Parent; up != "" && err == nil; {
		if t, err = g.Tasks.Get(up); err == nil {
			cancelled, up = append(cancelled, t), t.Parent
		}
	}
	for _, c := range cancelled {
		if c.Status != dag.Cancelled || c.Satisfies || kept[c.ID] != nil {
			continue
		}
		waiting, _ := g.Tasks.Dependents(c) // the first error of the database is that of the transaction
		for _, w := range waiting {
			if w.Status == dag.Pending || w.Status == dag.Blocked {
				kept[c.ID] = append(kept[c.ID], w.ID)
			}
		}
	}
	return cmp.Or(err, g.Tx().Err())
}

func unblockTask(g *dag.Graph, t dag.Task, _ decide.TaskStateOptions) error {
	err := g.Tasks.Unblock(t.ID)
	switch {
	case t.Paused:
		return cli.Hint(err, "it is paused; resume it with: ralph resume %s", t.ID)
	case t.Status == dag.Pending:
		return cli.Hint(err, "see what it waits for with: ralph task why %s", t.ID)
	}
	return err
}

func deleteTask(g *dag.Graph, t dag.Task, o decide.TaskStateOptions) error {
	if !o.Tree {
		err := g.Plan.Delete(t.ID)
		if t.Children > 0 {
			return cli.Hint(err, "delete them too with: ralph task delete --tree %s", t.ID)
		}
		return err
	}
	err := g.Plan.DeleteTree(t.ID)
	if errors.Is(err, dag.ErrNotFound) {
		return nil // it went with an ancestor that was named too
	}
	return err
}

func resetTask(g *dag.Graph, t dag.Task, o decide.TaskStateOptions) error {
	if o.Tree {
		_, err := g.Tasks.ResetTree(t.ID)
		return err
	}
	err := g.Tasks.Reset(t.ID)
	if t.Children > 0 {
		return cli.Hint(err, "ralph task reset --tree %s", t.ID)
	}
	return err
}

func runTaskReset(ctx context.Context, a *cli.App, o decide.TaskStateOptions) (err error) {
	what, count := "failed task", 0
	switch {
	case o.Failed && o.Stale, o.Failed && o.Tree, o.Stale && o.Tree:
		return cli.Usagef("--failed, --stale and --tree exclude each other")
	case o.Stale && len(o.Args) > 0:
		return cli.Usagef("--stale takes no ID")
	case o.Failed:
		err = a.Update(ctx, func(_ *cli.Session, g *dag.Graph) (err error) { count, err = resetFailed(g, o.Args); return err })
	case o.Stale:
		what = "stale task"
		err = a.Update(ctx, func(s *cli.Session, g *dag.Graph) (err error) {
			if count, err = recovery.ResetStale(g, cli.Life, sandbox.Sweep(s.Project.Root), a.Now()); err != nil {
				return err
			}
			return decide.NoteLanding(a, g)
		})
	case len(o.Args) == 0:
		return cli.Hint(cli.Usagef("ID is missing"), "to reset everything that failed: ralph task reset --failed")
	default:
		return decide.ChangeTasks(ctx, a, a.Update, o.Args, "reset", "reset", func(g *dag.Graph, t dag.Task) error { return resetTask(g, t, o) })
	}
	if err == nil {
		a.Note("%s reset", human.Count(count, what))
	}
	return err
}

// resetFailed resets failed tasks at or below those that were named, or all of them.
func resetFailed(g *dag.Graph, typed []string) (count int, err error) {
	roots := []string{""}
	if len(typed) > 0 {
		tasks, err := cli.ResolveTasks(g, typed)
		if err != nil {
			return 0, err
		}
		roots = report.IDs(tasks)
	}
	for _, root := range roots {
		reset, err := g.Tasks.ResetFailed(root)
		if err != nil {
			return count, fmt.Errorf("reset: %w", err)
		}
		count += len(reset)
	}
	return count, nil
}
