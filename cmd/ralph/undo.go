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
	"ralph/internal/seq"
	"ralph/merge"
)

var undoCommand = command{
	name: "undo", args: "TASK", short: "take back the work of a task that landed, and open the task again",
	long: `A commit that reverts the task's commit goes through the queue like other work: gates test it, and it lands on the same
branch. If it conflicts with what landed since, or a gate is red, nothing changes. With --dependents, one commit
reverts the work of all of them, so that all are undone or none is.`,
	flags:   append(undoFlags(), boolFlag("dependents", "take back what depends on it, too")),
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

func runUndo(ctx context.Context, a *app, o undoOptions) error {
	id, undo, err := addUndo(ctx, a, o)
	if err != nil {
		return err
	}
	o.Args, o.Task, o.Target, o.Agent, o.undo = nil, &id, &undo[0].Target, "shell", true
	if err = runRun(ctx, a, o.runOptions); err == nil || errors.As(err, new(unpushed)) {
		a.note("undone, and open again: %s", strings.Join(tasksOfMerges(undo), ", "))
		return err
	}
	derr := a.update(context.WithoutCancel(ctx), func(_ *session, g *dag.Graph) error { return dropUndo(g, tasksOfMerges(undo)) })
	if derr != nil {
		a.note("warning: %v", derr)
	}
	return err
}

// dropUndo deletes what was to take back the work of those tasks and did not. Who is in the middle of that may land it yet.
func dropUndo(g *dag.Graph, undone []string) error {
	undos, err := g.Undos()
	for _, u := range undos {
		t, terr := g.Task(u.Task)
		switch {
		case err != nil:
			return err
		case !slices.Contains(undone, u.Undone) || errors.Is(terr, dag.ErrNotFound): // or it was dropped for another of them
		case terr != nil:
			err = terr
		case t.Status == dag.InProgress:
			return fmt.Errorf("%w: %s takes back %s, and is in progress", dag.ErrRefused, u.Task, u.Undone)
		default:
			err = g.Delete(u.Task)
		}
	}
	return err
}

func tasksOfMerges(list []dag.Merge) []string {
	return seq.Map(list, func(m dag.Merge) string { return m.Task })
}

// addUndo adds a task that takes back what landed, newest first, after it has tried that. Of one whose run died it
// finds out first whether it landed.
func addUndo(ctx context.Context, a *app, o undoOptions) (id string, undo []dag.Merge, err error) {
	s, err := a.open(ctx)
	if err != nil {
		return "", nil, err
	}
	defer s.Close()
	if rec, err := recoverer(ctx, a, s).Recover(ctx); err != nil {
		return "", nil, fmt.Errorf("recover: %w", err)
	} else if len(rec.Tasks) > 0 {
		a.note("%s", rec.Summary())
	}
	var t dag.Task
	var after []dag.Merge
	err = s.store.View(ctx, func(g *dag.Graph) error {
		if t, err = resolveTask(g, o.Args[0]); err != nil {
			return err
		}
		own, err := g.LandedWork(t)
		if err != nil {
			return err
		}
		switch after, err = g.LandedAfter(t); {
		case t.Status != dag.Done:
			return fmt.Errorf("%w: %s is not done, so there is nothing to undo", dag.ErrRefused, t.ID)
		case own.N == 0:
			return hint(fmt.Errorf("%w: no work of %s landed through the queue", dag.ErrRefused, t.ID), "to open it again: ralph task reset %s", t.ID)
		}
		undo = []dag.Merge{own}
		return err
	})
	if err != nil {
		return "", nil, err
	}
	if o.Dependents {
		undo = append(undo, after...)
		slices.SortFunc(undo, func(x, y dag.Merge) int { return cmp.Compare(y.N, x.N) })
	} else if len(after) > 0 {
		a.note("what depends on it stays: %s; to undo that too: --dependents", human.List(tasksOfMerges(after), 5))
	}
	repo, err := git.OpenRepo(ctx, s.project.Root)
	if err != nil {
		return "", nil, err
	}
	commits, err := tryUndo(ctx, repo, undo)
	if err != nil {
		return "", nil, err
	}
	never, title, says := 0, fmt.Sprintf("Revert %q", t.Title), ""
	if n := len(undo) - 1; n > 0 {
		title += " and " + human.Count(n, "dependent")
	}
	for i, m := range undo {
		says += fmt.Sprintf("This reverts commit %s, the work of %s.\n", commits[i], m.Task)
	}
	script := "git revert --no-commit " + strings.Join(commits, " ") +
		"\ngit -c core.hooksPath=/dev/null -c user.name=ralph -c user.email=ralph@localhost commit -q --no-gpg-sign -F - <<'END'\n" + says + "END" // its message is that of what lands
	err = a.change(ctx, s, func(g *dag.Graph) error {
		if err := dropUndo(g, tasksOfMerges(undo)); err != nil {
			return err
		}
		id, err = g.Add(dag.NewTask{Title: title, Description: "```sh\n" + script + "\n```", Feature: t.Feature, Agent: "shell", MaxRetries: &never, AllowTampering: true, Undoes: tasksOfMerges(undo)})
		return err
	})
	return id, undo, err
}

// tryUndo finds the commits of landed work, and takes them back on the tip without keeping anything of that.
func tryUndo(ctx context.Context, repo *git.Repo, undo []dag.Merge) (commits []string, err error) {
	target := undo[0].Target
	tip, err := repo.Commit(ctx, target)
	if err != nil || tip == "" {
		return nil, cmp.Or(err, fmt.Errorf("%w: there is no branch %s any more", dag.ErrRefused, render.Branch(target)))
	}
	for _, m := range undo {
		if m.Target != target {
			return nil, hint(fmt.Errorf("%w: %s landed on %s, and %s on %s", dag.ErrRefused, undo[0].Task, render.Branch(target), m.Task, render.Branch(m.Target)),
				"undo them one after another: ralph undo %s", undo[0].Task)
		}
		commit, err := merge.CommitOf(ctx, repo, target, m.Attempt)
		var built merge.Built
		if err == nil && commit != "" {
			built, err = merge.Revert(ctx, repo, tip, commit)
		}
		switch {
		case err != nil:
			return nil, err
		case commit == "" || built.Candidate == tip:
			return nil, hint(fmt.Errorf("%w: no change of %s is on %s", dag.ErrRefused, m.Task, render.Branch(target)), "to open the task again: ralph task reset %s", m.Task)
		case len(built.Files) > 0:
			return nil, hint(fmt.Errorf("%w: what landed on %s since conflicts with undoing %s: %s", dag.ErrRefused, render.Branch(target), m.Task, human.List(built.Files, 5)),
				"undo what was built on it too, with --dependents, or by hand: git revert %s", render.Commit(commit))
		}
		commits, tip = append(commits, commit), built.Candidate
	}
	return commits, nil
}
