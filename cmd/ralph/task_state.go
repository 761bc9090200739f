package main

import (
	"errors"
	"fmt"

	"github.com/urfave/cli/v2"

	"ralph/dag"
	"ralph/internal/human"
	"ralph/internal/proc"
	"ralph/internal/sandbox"
	"ralph/loop/recovery"
)

func (a *app) taskDone() command {
	return command{
		name: "done", args: "ID...", short: "mark tasks as done, by your word",
		example: "ralph task done 1f0c", exits: "1 refused (a group, a failed task), 3 not found",
		run: func(c *cli.Context) error {
			return a.each(c, "done", func(g *dag.Graph, t dag.Task) error {
				return hintReset(g.Finish(t.ID), t)
			})
		},
	}
}

func (a *app) taskFail() command {
	return command{
		name: "fail", args: "ID...", short: "mark tasks as failed; what lies below them will not run",
		flags:   []cli.Flag{&cli.StringFlag{Name: "reason", Aliases: []string{"r"}, Usage: "`TEXT` that says why"}},
		example: `ralph task fail 1f0c -r "the API is gone"`, exits: "1 refused (a task that is done), 3 not found",
		run: func(c *cli.Context) error {
			return a.each(c, "failed", func(g *dag.Graph, t dag.Task) error {
				return hintReset(g.GiveUp(t.ID, c.String("reason")), t)
			})
		},
	}
}

func hintReset(err error, t dag.Task) error {
	if err != nil && (t.Status == dag.Done || t.Status == dag.Failed) {
		return hint(err, "reopen it first with: ralph task reset %s", t.ID)
	}
	return err
}

func (a *app) taskBlock() command {
	return command{
		name: "block", args: "ID...", short: "keep tasks, and all below them, from running until unblock or reset",
		flags:   []cli.Flag{&cli.StringFlag{Name: "reason", Aliases: []string{"r"}, Usage: "`TEXT` that says why"}},
		example: `ralph task block 1f0c -r "waits for the vendor"`, exits: "1 refused (not pending), 3 not found",
		run: func(c *cli.Context) error {
			return a.each(c, "blocked", func(g *dag.Graph, t dag.Task) error {
				err := g.Block(t.ID, c.String("reason"))
				if err != nil && t.Status == dag.InProgress {
					return hint(err, "hold it back when its agent is done with: ralph pause %s; or end that first with: ralph task reset %s", t.ID, t.ID)
				}
				return hintReset(err, t)
			})
		},
	}
}

func (a *app) taskUnblock() command {
	return command{
		name: "unblock", args: "ID...", short: "let blocked tasks run again",
		example: "ralph task unblock 1f0c", exits: "1 refused (not blocked), 3 not found",
		run: func(c *cli.Context) error {
			return a.each(c, "unblocked", func(g *dag.Graph, t dag.Task) error {
				err := g.Unblock(t.ID)
				if err != nil && t.Paused {
					return hint(err, "it is paused; go on with: ralph resume %s", t.ID)
				}
				if err != nil && t.Status == dag.Pending {
					return hint(err, "see what it waits for with: ralph task why %s", t.ID)
				}
				return err
			})
		},
	}
}

func (a *app) taskDelete() command {
	return command{
		name: "delete", args: "ID...", short: "delete tasks; what waited for them no longer does",
		flags:   []cli.Flag{&cli.BoolFlag{DisableDefaultText: true, Name: "tree", Usage: "with all subtasks"}},
		example: "ralph task delete 1f0c --tree", exits: "1 refused (it has subtasks), 3 not found",
		run: func(c *cli.Context) error {
			return a.each(c, "deleted", func(g *dag.Graph, t dag.Task) error {
				if !c.Bool("tree") {
					err := g.Delete(t.ID)
					if err != nil && t.Children > 0 {
						return hint(err, "delete them too with: ralph task delete --tree %s", t.ID)
					}
					return err
				}
				err := g.DeleteTree(t.ID)
				if errors.Is(err, dag.ErrNotFound) {
					err = nil // it went with an ancestor that was named too
				}
				return err
			})
		},
	}
}

func (a *app) taskReset() command {
	return command{
		name: "reset", args: "[ID...]", short: "make tasks pending as if they had never run; reopens what contains them",
		flags: []cli.Flag{
			&cli.BoolFlag{DisableDefaultText: true, Name: "tree", Usage: "with all subtasks"},
			&cli.BoolFlag{DisableDefaultText: true, Name: "failed", Usage: "every failed task, or only those at or below ID"},
			&cli.BoolFlag{DisableDefaultText: true, Name: "stale", Usage: "every task whose run has died"},
		},
		example: "ralph task reset 1f0c\nralph task reset --failed", exits: "1 refused, 3 not found",
		run: a.runTaskReset,
	}
}

func (a *app) runTaskReset(c *cli.Context) error {
	switch {
	case c.Bool("failed") && c.Bool("stale"), c.Bool("failed") && c.Bool("tree"), c.Bool("stale") && c.Bool("tree"):
		return usagef("--failed, --stale and --tree exclude each other")
	case c.Bool("stale"):
		return a.resetStale(c)
	case c.Bool("failed"):
		return a.resetFailed(c)
	case c.NArg() == 0:
		return hint(usagef("ID is missing"), "to reset everything that failed: ralph task reset --failed")
	}
	return a.each(c, "reset", func(g *dag.Graph, t dag.Task) error {
		if c.Bool("tree") {
			_, err := g.ResetTree(t.ID)
			return err
		}
		err := g.Reset(t.ID)
		if err != nil && t.Children > 0 {
			return hint(err, "ralph task reset --tree %s", t.ID)
		}
		return err
	})
}

func (a *app) resetFailed(c *cli.Context) error {
	count := 0
	err := a.update(c.Context, func(_ *session, g *dag.Graph) error {
		roots := []string{""}
		if c.NArg() > 0 {
			tasks, err := resolveAll(c, g)
			if err != nil {
				return err
			}
			roots = ids(tasks)
		}
		for _, root := range roots {
			reset, err := g.ResetFailed(root)
			if err != nil {
				return fmt.Errorf("reset: %w", err)
			}
			count += len(reset)
		}
		return nil
	})
	if err == nil {
		a.note("%s reset", human.Count(count, "failed task"))
	}
	return err
}

func (a *app) resetStale(c *cli.Context) error {
	if c.NArg() > 0 {
		return usagef("--stale takes no ID")
	}
	var stale []dag.Task
	err := a.update(c.Context, func(s *session, g *dag.Graph) (err error) {
		if stale, err = g.Stale(life); err != nil {
			return err
		}
		for _, t := range stale {
			// What is left of the dead run must not go on working on it.
			if _, err := sandbox.Sweep(s.project.Root)(t.Owner); err != nil {
				return fmt.Errorf("end what the run of %s left running: %w", t.ID, err)
			}
			if err := recovery.Reclaim(g, t, dag.ReclaimOptions{Reason: "its run died; reset by hand"}, a.now()); err != nil {
				return fmt.Errorf("reset %s: %w", t.ID, err)
			}
			if err := g.Reset(t.ID); err != nil {
				return fmt.Errorf("reset %s: %w", t.ID, err)
			}
		}
		return nil
	})
	if err == nil {
		a.note("%s reset", human.Count(len(stale), "stale task"))
	}
	return err
}

// life asks the operating system about a process that claimed a task.
func life(p dag.Process) dag.Life {
	switch proc.Liveness(proc.Identity{Pid: int(p.PID), Start: uint64(p.Start), BootID: p.BootID, PIDNS: p.Namespace}) {
	case proc.Alive:
		return dag.Alive
	case proc.Dead:
		return dag.Dead
	default:
		return dag.Unknown
	}
}

// each does one thing to all tasks that were named, or to none of them.
func (a *app) each(c *cli.Context, word string, do func(*dag.Graph, dag.Task) error) error {
	var tasks []dag.Task
	err := a.update(c.Context, func(_ *session, g *dag.Graph) (err error) {
		if tasks, err = resolveAll(c, g); err != nil {
			return err
		}
		for _, t := range tasks {
			if err := do(g, t); err != nil {
				return fmt.Errorf("%s: %w", c.Command.Name, err)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, t := range tasks {
		a.note("%s %s: %s", t.ID, word, t.Title)
	}
	return nil
}
