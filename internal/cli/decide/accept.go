// Package decide is what a person decides about finished work, for all commands that ask for it.
package decide

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"ralph/dag"
	"ralph/internal/cli"
	"ralph/internal/cli/launch"
	"ralph/internal/cli/show"
	"ralph/internal/cli/wiring"
	"ralph/internal/human"
	"ralph/internal/merge"
	"ralph/internal/render"
	"ralph/internal/seq"
)

// AcceptTasks accepts the work of all tasks that were named, or of none, and has checked what is in this folder.
func AcceptTasks(ctx context.Context, a *cli.App, ids []string, why string) error {
	var here, elsewhere, landed []dag.Task
	busy, root := "", ""
	err := a.Update(ctx, func(s *cli.Session, g *dag.Graph) error {
		root = s.Project.Root
		tasks, err := cli.ResolveTasks(g, ids)
		for i := 0; i < len(tasks) && err == nil; i++ {
			var in bool
			switch in, err = accept(ctx, s, g, tasks[i], why); {
			case in:
				here = append(here, tasks[i])
			case tasks[i].Status == dag.Done:
				landed = append(landed, tasks[i])
			default:
				elsewhere = append(elsewhere, tasks[i])
			}
		}
		if err != nil {
			return fmt.Errorf("accept: %w", err)
		}
		busy, err = atWorkHere(g)
		return err
	})
	if err != nil {
		return err
	}
	for _, t := range slices.Concat(landed, elsewhere) {
		a.Note("%s accepted: %s", t.ID, t.Title)
	}
	if len(elsewhere) > 0 {
		a.Note(show.LandsText)
	}
	if len(landed)+len(elsewhere) > 0 {
		moveBranches(ctx, a, root)
	}
	if busy != "" && len(here) > 0 {
		a.Note("%s works in this folder: that run checks it, or the next one, or: ralph task accept %s", busy, here[0].ID)
		return nil
	}
	for _, t := range here {
		a.Note("%s: gates check its work, and no agent runs", t.ID)
	}
	return checkAccepted(ctx, a, seq.Map(here, func(t dag.Task) string { return t.ID }))
}

// moveBranches moves branches to what has landed beyond them, where nothing of a person's is in the way any more. What is in the way is
// for ralph status to report.
func moveBranches(ctx context.Context, a *cli.App, root string) {
	repo, err := wiring.OpenRepo(ctx, root)
	if err != nil {
		return
	}
	targets, _ := merge.Beyond(ctx, repo) // without them nothing moves
	for _, target := range targets {
		if was, waits, err := merge.Advance(ctx, repo, target); err == nil && waits == nil && was.Landed != "" {
			a.Note("%s has moved to %s, with what had landed", render.Branch(target), render.Commit(was.Landed))
		}
	}
}

// accept stores that a person accepts the work of a task, and says whether that is in this folder.
func accept(ctx context.Context, s *cli.Session, g *dag.Graph, t dag.Task, why string) (here bool, err error) {
	held, err := g.Queue.ToReview()
	if err != nil {
		return false, err
	}
	if err := g.Queue.Accept(t.ID, why); err != nil {
		return false, hintAccept(err, g, t)
	}
	if t, err = g.Tasks.Get(t.ID); err != nil || t.Status == dag.Done { // it has landed
		return false, err
	}
	work, err := g.History.Attempt(t.Unverified)
	if err != nil || work.Slot == 0 {
		return err == nil, err
	}
	repo, err := wiring.OpenRepo(ctx, s.Project.Root)
	if err != nil {
		return false, err
	}
	finished, err := g.Queue.Finished() // without what waits until that on which it stands has landed
	var entry dag.Merge
	for _, m := range slices.Concat(held, finished) {
		if m.Task == t.ID {
			entry = m
		}
	}
	ref, commit := merge.WorkRef(t.ID, work.ID), ""
	for _, name := range []string{ref, entry.Work} { // the ref may be gone; of tags alone there is none
		if commit == "" && err == nil && name != "" {
			commit, err = repo.Commit(ctx, name)
		}
	}
	if commit == "" && err == nil {
		err = WorkGone(t.ID, entry.Work)
	}
	return work.Slot == dag.Here || human.IsFolder(entry.Target), err
}

// hintAccept says what helps where there is nothing to accept.
func hintAccept(err error, g *dag.Graph, t dag.Task) error {
	attempts, _ := g.History.Attempts(t)
	switch r := show.Remedy(t, attempts); {
	case t.Status == dag.Blocked:
		return cli.Hint(err, "let it run again first: ralph task unblock %s", t.ID)
	case t.Status == dag.InProgress:
		return cli.Hint(err, "wait for its run; or, if that died: ralph recover")
	case r.Command != "":
		return cli.Hint(err, "%s: %s", r.Command, r.Why)
	case t.Status == dag.Pending && t.Unverified != "":
		return cli.Hint(err, "its work is finished: ralph run %s verifies it", t.ID)
	case t.Status == dag.Failed, t.Status == dag.Pending && t.Children == 0:
		return cli.Hint(err, "to mark it as done: ralph task done %s", t.ID)
	}
	return err
}

// atWorkHere is a run that has an attempt in this folder at the moment: it holds the folder.
func atWorkHere(g *dag.Graph) (string, error) {
	open, err := g.History.OpenAttempts()
	for _, at := range open {
		if run, rerr := g.History.RunOf(at.ID); at.Slot == dag.Here && run.EndedAt.IsZero() && cli.Life(run.Process) == dag.Alive {
			return run.ID, rerr
		}
	}
	return "", err
}

// checkAccepted has accepted work checked by its gates, in this folder. The error is about the first that did not pass.
func checkAccepted(ctx context.Context, a *cli.App, ids []string) (refused error) {
	for _, id := range ids {
		err := checkOne(ctx, a, id)
		if err != nil && !errors.Is(err, dag.ErrRefused) {
			return err
		}
		refused = cmp.Or(refused, err)
	}
	return refused
}

func checkOne(ctx context.Context, a *cli.App, id string) error {
	run := launch.Options{Start: launch.Start{Finished: true}, PlaceOptions: launch.PlaceOptions{InPlace: true, Review: new(bool)}}
	run.Task = &id
	if err := launch.Run(ctx, a, run); err != nil && !errors.As(err, new(cli.RunEnded)) {
		return err
	}
	if err := AwaitLanding(ctx, a, id); err != nil { // another run found it first
		return err
	}
	return a.View(ctx, func(_ *cli.Session, g *dag.Graph) error {
		t, err := g.Tasks.Get(id)
		if err != nil || t.Status == dag.Done {
			return err
		}
		if t.AwaitsVerdict() {
			return cli.Hint(fmt.Errorf("%w: %s is accepted, but was not checked", dag.ErrRefused, id), "see why: ralph task why %s; then type the same again", id)
		}
		stays := fmt.Errorf("%w: nothing has changed, and %s stays %s", dag.ErrRefused, id, t.Status)
		return cli.Hint(stays, "see why: ralph task show %s", id)
	})
}
