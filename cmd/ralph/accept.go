package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"ralph/dag"
	"ralph/internal/human"
	"ralph/internal/merge"
	"ralph/internal/render"
	"ralph/internal/seq"
)

var taskAcceptCommand = command{
	name: "accept", args: "ID...", short: "accept work that was rejected, that waits for review, or that landed; no agent works on it",
	long: `Gates check the work once more; what else was found in it is excused. Work of a slot lands with ralph merge, or
with a run on its branch: at once, if one is active and has a slot free. Work in this folder is checked at once and
done; if a gate fails, the task stays what it was. Of work that has landed, it is noted who looked at it, and
ralph review --morning does not list it any more.`,
	flags: []flagSpec{
		{name: "message", short: "m", usage: "`TEXT`, @FILE, or - for stdin, that says why"},
	},
	example: "ralph task accept 1f0c -m \"the task asks for that\"\nralph merge",
	exits:   "1 refused (there is no such work) or a gate failed, 3 not found, " + interrupted,
	run:     action(runTaskAccept),
}

func runTaskAccept(ctx context.Context, a *app, o taskStateOptions) error {
	why, err := readText(a, o.Message)
	if err != nil {
		return err
	}
	return acceptTasks(ctx, a, o.Args, why)
}

// acceptTasks accepts the work of all tasks that were named, or of none, and has checked what is in this folder.
func acceptTasks(ctx context.Context, a *app, ids []string, why string) error {
	var here, elsewhere, landed []dag.Task
	busy, root := "", ""
	err := a.update(ctx, func(s *session, g *dag.Graph) error {
		root = s.project.Root
		tasks, err := resolveTasks(g, ids)
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
		a.note("%s accepted: %s", t.ID, t.Title)
	}
	if len(elsewhere) > 0 {
		a.note(landsText)
	}
	if len(landed)+len(elsewhere) > 0 {
		moveBranches(ctx, a, root)
	}
	if busy != "" && len(here) > 0 {
		a.note("%s works in this folder: that run checks it, or the next one, or: ralph task accept %s", busy, here[0].ID)
		return nil
	}
	for _, t := range here {
		a.note("%s: gates check its work, and no agent runs", t.ID)
	}
	return checkAccepted(ctx, a, seq.Map(here, func(t dag.Task) string { return t.ID }))
}

// moveBranches moves branches to what has landed beyond them, where nothing of a person's is in the way any more. What is in the way is
// for ralph status to report.
func moveBranches(ctx context.Context, a *app, root string) {
	repo, err := openRepo(ctx, root)
	if err != nil {
		return
	}
	targets, _ := merge.Beyond(ctx, repo) // without them nothing moves
	for _, target := range targets {
		if was, waits, err := merge.Advance(ctx, repo, target); err == nil && waits == nil && was.Landed != "" {
			a.note("%s has moved to %s, with what had landed", render.Branch(target), render.Commit(was.Landed))
		}
	}
}

// accept stores that a person accepts the work of a task, and says whether that is in this folder.
func accept(ctx context.Context, s *session, g *dag.Graph, t dag.Task, why string) (here bool, err error) {
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
	repo, err := openRepo(ctx, s.project.Root)
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
		err = workGone(t.ID, entry.Work)
	}
	return work.Slot == dag.Here || human.IsFolder(entry.Target), err
}

// hintAccept says what helps where there is nothing to accept.
func hintAccept(err error, g *dag.Graph, t dag.Task) error {
	attempts, _ := g.History.Attempts(t)
	switch r := remedy(t, attempts); {
	case t.Status == dag.Blocked:
		return hint(err, "let it run again first: ralph task unblock %s", t.ID)
	case t.Status == dag.InProgress:
		return hint(err, "wait for its run; or, if that died: ralph recover")
	case r.Command != "":
		return hint(err, "%s: %s", r.Command, r.Why)
	case t.Status == dag.Pending && t.Unverified != "":
		return hint(err, "its work is finished: ralph run %s verifies it", t.ID)
	case t.Status == dag.Failed, t.Status == dag.Pending && t.Children == 0:
		return hint(err, "to mark it as done: ralph task done %s", t.ID)
	}
	return err
}

// atWorkHere is a run that has an attempt in this folder at the moment: it holds the folder.
func atWorkHere(g *dag.Graph) (string, error) {
	open, err := g.History.OpenAttempts()
	for _, at := range open {
		if run, rerr := g.History.RunOf(at.ID); at.Slot == dag.Here && run.EndedAt.IsZero() && life(run.Process) == dag.Alive {
			return run.ID, rerr
		}
	}
	return "", err
}

// checkAccepted has accepted work checked by its gates, in this folder. The error is about the first that did not pass.
func checkAccepted(ctx context.Context, a *app, ids []string) (refused error) {
	for _, id := range ids {
		err := checkOne(ctx, a, id)
		if err != nil && !errors.Is(err, dag.ErrRefused) {
			return err
		}
		refused = cmp.Or(refused, err)
	}
	return refused
}

func checkOne(ctx context.Context, a *app, id string) error {
	run := runOptions{finished: true, placeOptions: placeOptions{InPlace: true, Review: new(bool)}}
	run.Task = &id
	if err := runRun(ctx, a, run); err != nil && !errors.As(err, new(runEnded)) {
		return err
	}
	if err := awaitLanding(ctx, a, id); err != nil { // another run found it first
		return err
	}
	return a.view(ctx, func(_ *session, g *dag.Graph) error {
		t, err := g.Tasks.Get(id)
		if err != nil || t.Status == dag.Done {
			return err
		}
		if t.AwaitsVerdict() {
			return hint(fmt.Errorf("%w: %s is accepted, but was not checked", dag.ErrRefused, id), "see why: ralph task why %s; then type the same again", id)
		}
		stays := fmt.Errorf("%w: nothing has changed, and %s stays %s", dag.ErrRefused, id, t.Status)
		return hint(stays, "see why: ralph task show %s", id)
	})
}
