package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"ralph/dag"
	"ralph/internal/git"
	"ralph/internal/human"
	"ralph/internal/render"
	"ralph/merge"
)

var undoCommand = command{
	name: "undo", args: "TASK", short: "take back the work of a task that landed, and open the task again",
	long: `A commit that reverts the task's commit goes through the queue like other work: gates test it, and it lands on the same
branch. If it conflicts with what landed since, or a gate is red, nothing changes.`,
	flags:   append(undoFlags(), boolFlag("dependents", "take back what depends on it first, the newest first")),
	example: "ralph undo 1f0c\nralph undo 1f0c --dependents",
	exits:   "1 refused (it did not land, a conflict) or a gate is red, 3 not found, 6 what landed was not pushed,\n" + interrupted,
	run:     action(runUndo),
}

// undoFlags are those of a run that make sense for one commit.
func undoFlags() []flagSpec {
	return slices.DeleteFunc(mergeFlags(), func(f flagSpec) bool { return slices.Contains([]string{"feature", "task", "jobs", "target"}, f.name) })
}

type undoOptions struct {
	runOptions
	Dependents bool
}

// landedTask is a task whose work is on a branch.
type landedTask struct {
	dag.Task
	entry  dag.Merge
	commit string // that has it; the history may have been rewritten since it landed
}

func runUndo(ctx context.Context, a *app, o undoOptions) error {
	undo, err := planUndo(ctx, a, o.Args[0], o.Dependents)
	if err != nil {
		return err
	}
	for _, t := range undo {
		if err := undoOne(ctx, a, o.runOptions, t); err != nil {
			return err
		}
		a.note("%s undone, and open again: %s", t.ID, t.Title)
	}
	return nil
}

// planUndo finds what is to be reverted, in that order, and tries it without changing anything.
func planUndo(ctx context.Context, a *app, typed string, dependents bool) (undo []landedTask, err error) {
	s, err := a.open(ctx)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	repo, err := git.OpenRepo(ctx, s.project.Root)
	if err != nil {
		return nil, usagef("only work that landed in a git repository can be undone: %v", err)
	}
	var later []string
	err = s.store.View(ctx, func(g *dag.Graph) error {
		t, err := resolveTask(g, typed)
		if err != nil {
			return err
		}
		first, err := findLanded(g, t)
		if err != nil {
			return err
		}
		others, err := landedAfter(g, t)
		if undo = []landedTask{first}; dependents {
			undo = append(undo, others...)
		} else {
			for _, t := range others {
				later = append(later, t.ID)
			}
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(undo, func(x, y landedTask) int { return cmp.Compare(y.entry.N, x.entry.N) })
	for i := range undo {
		if undo[i].commit, err = findCommit(ctx, repo, undo[i]); err != nil {
			return nil, err
		}
	}
	if len(later) > 0 {
		a.note("stays, although it depends on it: %s; to undo it too: --dependents", human.List(later, 5))
	}
	return undo, tryUndo(ctx, repo, undo)
}

// findLanded finds where the work of a task is. Only what is done has work that counts.
func findLanded(g *dag.Graph, t dag.Task) (landedTask, error) {
	merges, err := g.MergesOf(t)
	found := landedTask{Task: t}
	for _, m := range merges {
		if m.State == dag.MergeLanded {
			found.entry = m
		}
	}
	switch {
	case err != nil:
		return found, err
	case t.Status != dag.Done:
		return found, fmt.Errorf("%w: %s is not done, so there is nothing to undo", dag.ErrRefused, t.ID)
	case found.entry.N == 0:
		return found, hint(fmt.Errorf("%w: no work of %s landed through the queue", dag.ErrRefused, t.ID), "to open it again: ralph task reset %s", t.ID)
	case found.entry.Candidate == found.entry.Onto:
		return found, hint(fmt.Errorf("%w: the work of %s changed nothing", dag.ErrRefused, t.ID), "to open it again: ralph task reset %s", t.ID)
	}
	return found, nil
}

// landedAfter finds the landed work of all tasks that depend on one, or on a group that it is in.
func landedAfter(g *dag.Graph, t dag.Task) (found []landedTask, err error) {
	seen := map[string]bool{t.ID: true}
	for queue := []dag.Task{t}; len(queue) > 0; queue = queue[1:] {
		at := queue[0]
		next, err := g.Dependents(at)
		if err != nil {
			return nil, err
		}
		if at.Parent != "" && !seen[at.Parent] {
			group, err := g.Task(at.Parent)
			if err != nil {
				return nil, err
			}
			seen[group.ID] = true
			queue = append(queue, group)
		}
		for _, d := range next {
			if seen[d.ID] {
				continue
			}
			seen[d.ID] = true
			queue = append(queue, d)
			if l, err := findLanded(g, d); err == nil {
				found = append(found, l)
			} else if !errors.Is(err, dag.ErrRefused) {
				return nil, err
			}
		}
	}
	return found, nil
}

// findCommit is the commit of a task in the target's history.
func findCommit(ctx context.Context, repo *git.Repo, t landedTask) (string, error) {
	e := t.entry
	if _, err := repo.Line(ctx, "merge-base", "--is-ancestor", e.Candidate, e.Target); err == nil {
		return e.Candidate, nil
	}
	commit, err := repo.Line(ctx, "log", "-1", "--no-show-signature", "--format=%H", "--grep=^Ralph-Attempt: "+e.Attempt+"$", e.Target)
	if err != nil || commit == "" {
		return "", fmt.Errorf("%w: the work of %s is not on %s any more", dag.ErrRefused, t.ID, render.Branch(e.Target))
	}
	return commit, nil
}

// tryUndo reverts all of them on the tip, and keeps nothing of it.
func tryUndo(ctx context.Context, repo *git.Repo, undo []landedTask) error {
	tips := map[string]string{}
	for _, t := range undo {
		target := t.entry.Target
		if tips[target] == "" {
			tip, err := repo.Commit(ctx, target)
			if err != nil {
				return err
			}
			tips[target] = tip
		}
		before, err := repo.Line(ctx, "rev-parse", t.commit+"^^{tree}")
		if err != nil {
			return err
		}
		revert, err := repo.CommitTree(ctx, before, "Revert", t.commit)
		if err != nil {
			return err
		}
		built, err := merge.Build(ctx, repo, tips[target], t.commit, revert, "Revert")
		switch {
		case err != nil:
			return err
		case len(built.Files) > 0:
			return hint(fmt.Errorf("%w: what landed on %s since conflicts with undoing %s: %s", dag.ErrRefused, render.Branch(target), t.ID, human.List(built.Files, 5)),
				"undo what was built on it too, with --dependents, or by hand: git revert %s", render.Commit(t.commit))
		}
		tips[target] = built.Candidate
	}
	return nil
}

// undoOne lands the revert of one task. The task that does so is only kept if it did.
func undoOne(ctx context.Context, a *app, o runOptions, t landedTask) error {
	id, err := addUndo(ctx, a, t)
	if err != nil {
		return err
	}
	o.Args, o.Task, o.Target, o.Agent, o.undo = nil, &id, &t.entry.Target, "shell", true
	err = runRun(ctx, a, o)
	if err == nil || errors.As(err, new(unpushed)) {
		return err
	}
	ctx = context.WithoutCancel(ctx)
	derr := a.update(ctx, func(_ *session, g *dag.Graph) error {
		task, err := g.Task(id)
		if err != nil || task.Status == dag.Done {
			return err
		}
		return g.Delete(id)
	})
	if derr != nil {
		a.note("warning: %s is left over: %v", id, derr)
	}
	return err
}

func addUndo(ctx context.Context, a *app, t landedTask) (id string, err error) {
	never := 0
	description := strings.Join([]string{"Takes back " + t.ID + ", which landed as " + t.commit + ".", "", "```sh", "git revert --no-commit " + t.commit, "```"}, "\n")
	err = a.update(ctx, func(_ *session, g *dag.Graph) error {
		id, err = g.AddUndo(dag.NewTask{
			Title: fmt.Sprintf("Revert %q", t.Title), Description: description, Feature: t.Feature, Agent: "shell",
			MaxRetries: &never, AllowTampering: true,
		}, t.ID)
		return err
	})
	return id, err
}
