package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"ralph/dag"
	"ralph/internal/human"
	"ralph/internal/render"
	"ralph/internal/report"
	"ralph/internal/sandbox"
	"ralph/loop/recovery"
)

var (
	reasonFlag = flagSpec{name: "reason", short: "r", usage: "`TEXT` that says why"}
	treeFlag   = boolFlag("tree", "with all subtasks")
)

var taskStateCommands = []command{
	{
		name: "done", args: "ID...", short: "mark tasks as done, without verification",
		example: "ralph task done 1f0c", exits: "1 refused (a group), 3 not found",
		run: changes("done", "done", func(g *dag.Graph, t dag.Task, _ taskStateOptions) error { return g.Tasks.Finish(t.ID) }),
	},
	{
		name: "fail", args: "ID...", short: "mark tasks as failed; their subtasks will not run", flags: []flagSpec{reasonFlag},
		example: `ralph task fail 1f0c -r "the API is gone"`, exits: "1 refused (a task that is done), 3 not found",
		run: changes("fail", "failed", func(g *dag.Graph, t dag.Task, o taskStateOptions) error {
			return hintReset(g.Tasks.GiveUp(t.ID, o.Reason), t)
		}),
	},
	{
		name: "reset", args: "[ID...]", short: "make tasks pending as if they had never run; reopens what contains them",
		flags: []flagSpec{
			treeFlag,
			boolFlag("failed", "every failed task, or only those at or below ID"),
			boolFlag("stale", "every task whose run has died"),
		},
		example: "ralph task reset 1f0c\nralph task reset --failed", exits: "1 refused, 3 not found",
		run: action(runTaskReset),
	},
	{
		name: "block", args: "ID...", short: "keep tasks, and their subtasks, from running until unblock or reset",
		flags:   []flagSpec{reasonFlag, boolFlag("now", "end the agent that is at work on them")},
		example: `ralph task block 1f0c -r "waits for the vendor"`, exits: "1 refused (not pending), 3 not found",
		run: changes("block", "blocked", blockTask),
	},
	{
		name: "unblock", args: "ID...", short: "let blocked tasks run again",
		example: "ralph task unblock 1f0c", exits: "1 refused (not blocked), 3 not found",
		run: changes("unblock", "unblocked", unblockTask),
	},
	{
		name: "cancel", args: "ID...", short: "say that nobody will do tasks, nor what is left below them",
		long: `Tasks that wait for a cancelled one keep waiting, unless it is cancelled with --satisfied; cancelling it again
changes that. A run whose tasks are all done or cancelled is complete. ralph task reset takes it back.`,
		flags:   []flagSpec{reasonFlag, boolFlag("satisfied", "let tasks that wait for them go on, as if they were done")},
		example: `ralph task cancel 1f0c -r "the customer left"`, exits: "1 refused (a task that is done), 3 not found",
		run: action(runTaskCancel),
	},
	taskAcceptCommand,
	{
		name: "reject", args: "ID...", short: "send work that waits for review back to an agent",
		flags:   []flagSpec{{name: "message", short: "m", usage: "`TEXT` that tells the next attempt why"}},
		example: `ralph task reject 1f0c -m "keep the old format readable"`, exits: "1 refused (no work of it waits), 3 not found",
		run: changes("reject", "rejected", rejectTask),
	},
	{
		name: "delete", args: "ID...", short: "delete tasks; what waited for them no longer does", flags: []flagSpec{treeFlag},
		example: "ralph task delete 1f0c --tree", exits: "1 refused (it has subtasks), 3 not found",
		run: changes("delete", "deleted", deleteTask),
	},
}

type taskStateOptions struct {
	Args                     []string // IDs
	Reason, Message          string
	Now, Tree, Failed, Stale bool
	Satisfied                bool
}

// changes makes a command that does one thing to all tasks that were named, or to none.
func changes(name, word string, do func(*dag.Graph, dag.Task, taskStateOptions) error) runner {
	return action(func(ctx context.Context, a *app, o taskStateOptions) error {
		return changeTasks(ctx, a, a.update, o.Args, name, word, func(g *dag.Graph, t dag.Task) error { return do(g, t, o) })
	})
}

func changeTasks(ctx context.Context, a *app, store func(context.Context, func(*session, *dag.Graph) error) error, ids []string, name, word string, do func(*dag.Graph, dag.Task) error) error {
	var tasks []dag.Task
	var in *session
	var emptied, fallen []string
	err := store(ctx, func(s *session, g *dag.Graph) (err error) {
		if tasks, err = resolveTasks(g, ids); err != nil {
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
		return noteLanding(a, g)
	})
	if err != nil {
		return err
	}
	for _, t := range tasks {
		a.note("%s %s: %s", t.ID, word, t.Title)
	}
	if len(fallen) > 0 {
		a.note("stood on that work, and will begin anew without it: %s", human.List(fallen, 5))
	}
	for _, id := range emptied {
		a.note("%s has no subtask left and stays a group; make it a task with: ralph task update %s --kind work", id, id)
	}
	observeCommand(ctx, a, in, name, tasks...)
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

// noteLanding says what becomes of work that was landing when its task was taken away.
func noteLanding(a *app, g *dag.Graph) error {
	landing, err := g.Queue.MergesIn(dag.MergeLanding)
	for _, m := range landing {
		if at, err := g.History.Attempt(m.Attempt); err != nil || !at.EndedAt.IsZero() {
			a.note("%s was landing, and its work may be %s: the next run finds out, or: ralph recover", m.Task, render.On(m.Target))
		}
	}
	return err
}

func hintReset(err error, t dag.Task) error {
	if err != nil && (t.Status == dag.Done || t.Status == dag.Failed || t.Status == dag.Cancelled) {
		return hint(err, "reopen it first with: ralph task reset %s", t.ID)
	}
	return err
}

func blockTask(g *dag.Graph, t dag.Task, o taskStateOptions) error {
	if t.Status == dag.InProgress && o.Now { // in one transaction: no run claims it in between
		if err := g.Tasks.Reset(t.ID); err != nil {
			return err
		}
	}
	err := g.Tasks.Block(t.ID, o.Reason)
	if t.Status == dag.InProgress && !o.Now {
		return hint(err, "to stop after the current attempt: ralph pause %s; to end that now: ralph task block --now %s", t.ID, t.ID)
	}
	return hintReset(err, t)
}

func rejectTask(g *dag.Graph, t dag.Task, o taskStateOptions) error {
	err := g.Queue.Reject(t.ID, o.Message)
	if t.AwaitsVerdict() {
		return hint(err, "if you have accepted it, take that back with: ralph task reset %s", t.ID)
	}
	if landed, _ := g.Queue.LandedWork(t); landed.N > 0 {
		return hint(err, "its work has landed; take that back, and tell the next attempt why: ralph undo %s -m WHY", t.ID)
	}
	return err
}

func runTaskCancel(ctx context.Context, a *app, o taskStateOptions) error {
	kept := map[string][]string{}
	err := changeTasks(ctx, a, a.update, o.Args, "cancel", "cancelled", func(g *dag.Graph, t dag.Task) error {
		if err := g.Tasks.Cancel(t.ID, o.Satisfied, o.Reason); err != nil {
			return hintReset(err, t)
		}
		return keptWaiting(g, t.ID, kept)
	})
	if err != nil {
		return err
	}
	for _, id := range slices.Sorted(maps.Keys(kept)) {
		a.note("%s keeps waiting for %s; let it go on with: ralph task cancel %s --satisfied", human.List(kept[id], 5), id, id)
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

func unblockTask(g *dag.Graph, t dag.Task, _ taskStateOptions) error {
	err := g.Tasks.Unblock(t.ID)
	switch {
	case t.Paused:
		return hint(err, "it is paused; resume it with: ralph resume %s", t.ID)
	case t.Status == dag.Pending:
		return hint(err, "see what it waits for with: ralph task why %s", t.ID)
	}
	return err
}

func deleteTask(g *dag.Graph, t dag.Task, o taskStateOptions) error {
	if !o.Tree {
		err := g.Plan.Delete(t.ID)
		if t.Children > 0 {
			return hint(err, "delete them too with: ralph task delete --tree %s", t.ID)
		}
		return err
	}
	err := g.Plan.DeleteTree(t.ID)
	if errors.Is(err, dag.ErrNotFound) {
		return nil // it went with an ancestor that was named too
	}
	return err
}

func resetTask(g *dag.Graph, t dag.Task, o taskStateOptions) error {
	if o.Tree {
		_, err := g.Tasks.ResetTree(t.ID)
		return err
	}
	err := g.Tasks.Reset(t.ID)
	if t.Children > 0 {
		return hint(err, "ralph task reset --tree %s", t.ID)
	}
	return err
}

func runTaskReset(ctx context.Context, a *app, o taskStateOptions) (err error) {
	what, count := "failed task", 0
	switch {
	case o.Failed && o.Stale, o.Failed && o.Tree, o.Stale && o.Tree:
		return usagef("--failed, --stale and --tree exclude each other")
	case o.Stale && len(o.Args) > 0:
		return usagef("--stale takes no ID")
	case o.Failed:
		err = a.update(ctx, func(_ *session, g *dag.Graph) (err error) { count, err = resetFailed(g, o.Args); return err })
	case o.Stale:
		what = "stale task"
		err = a.update(ctx, func(s *session, g *dag.Graph) (err error) {
			if count, err = recovery.ResetStale(g, life, sandbox.Sweep(s.project.Root), a.now()); err != nil {
				return err
			}
			return noteLanding(a, g)
		})
	case len(o.Args) == 0:
		return hint(usagef("ID is missing"), "to reset everything that failed: ralph task reset --failed")
	default:
		return changeTasks(ctx, a, a.update, o.Args, "reset", "reset", func(g *dag.Graph, t dag.Task) error { return resetTask(g, t, o) })
	}
	if err == nil {
		a.note("%s reset", human.Count(count, what))
	}
	return err
}

// resetFailed resets failed tasks at or below those that were named, or all of them.
func resetFailed(g *dag.Graph, typed []string) (count int, err error) {
	roots := []string{""}
	if len(typed) > 0 {
		tasks, err := resolveTasks(g, typed)
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
