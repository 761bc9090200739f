package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"ralph/dag"
	"ralph/event"
	"ralph/internal/seq"
	"ralph/merge"
)

var taskAcceptCommand = command{
	name: "accept", args: "ID...", short: "accept work that was rejected, or that waits for review; no agent works on it",
	long: `Gates check the work once more; what else was found in it is excused. Work of a slot lands with ralph merge, or
with the next run on its branch. Work in this folder is checked at once and done; if a gate fails, or if somebody
changed its files since, the task stays what it was.`,
	flags:   []flagSpec{{name: "message", short: "m", usage: "`TEXT`, @FILE, or - for stdin, that says why"}},
	example: "ralph task accept 1f0c -m \"the task asks for that\"\nralph merge",
	exits:   "1 refused (there is no such work) or a gate failed, 3 not found, " + interrupted,
	run:     action(runTaskAccept),
}

// acceptance is what a person accepts: the work of an attempt, or what waits for review.
type acceptance struct {
	task    dag.Task
	held    bool
	stored  bool // by a run that died while it checked the work
	attempt dag.Attempt
	merge   dag.NewMerge // of work that is in no folder
}

// here says that the work is in this folder.
func (w acceptance) here() bool { return !w.held && w.attempt.Slot == 0 }

func runTaskAccept(ctx context.Context, a *app, o taskStateOptions) error {
	why, err := readText(a, o.Message)
	if err != nil {
		return err
	}
	return acceptTasks(ctx, a, o.Args, why)
}

// acceptTasks accepts the work of all tasks that were named, or of none, and has checked what is in this folder.
func acceptTasks(ctx context.Context, a *app, ids []string, why string) error {
	var list []acceptance
	root := ""
	err := a.view(ctx, func(s *session, g *dag.Graph) error {
		tasks, err := resolveTasks(g, ids)
		for _, t := range tasks {
			if err == nil {
				var w acceptance
				w, err = findAcceptable(g, t)
				list = append(list, w)
			}
		}
		root = s.project.Root
		return err
	})
	for i := range list {
		if w := &list[i]; err == nil && w.attempt.Slot > 0 {
			err = w.findWork(ctx, root)
		}
	}
	if err != nil {
		return fmt.Errorf("accept: %w", err)
	}
	busy := ""
	err = a.update(ctx, func(_ *session, g *dag.Graph) error {
		for _, w := range list {
			if err := w.store(g, why); err != nil {
				return fmt.Errorf("accept: %w", err)
			}
		}
		busy, err = atWorkHere(g)
		return err
	})
	if err != nil {
		return err
	}
	for _, w := range list {
		if w.here() && busy == "" {
			a.note("%s: gates check its work, and no agent runs", w.task.ID)
		} else {
			a.note("%s accepted: %s", w.task.ID, w.task.Title)
		}
	}
	if slices.ContainsFunc(list, func(w acceptance) bool { return !w.here() }) {
		a.note("it lands with: ralph merge, or with the next run on its branch")
	}
	list = slices.DeleteFunc(list, func(w acceptance) bool { return !w.here() })
	if busy != "" && len(list) > 0 {
		a.note("%s works in this folder: that run checks it, or the next one, or: ralph task accept %s", busy, list[0].task.ID)
		return nil
	}
	return checkAccepted(ctx, a, seq.Map(list, func(w acceptance) string { return w.task.ID }))
}

// findAcceptable finds the work of a task that a person may accept.
func findAcceptable(g *dag.Graph, t dag.Task) (w acceptance, err error) {
	w.task, w.held = t, t.ToReview
	if w.held {
		return w, nil
	}
	if t.Status == dag.InProgress && t.Unverified != "" {
		stale, err := g.Stale(life)
		died := slices.ContainsFunc(stale, func(s dag.Task) bool { return s.ID == t.ID })
		if w.attempt, _ = g.Attempt(t.Unverified); err != nil || died && w.attempt.Accepted != "" {
			w.stored = true
			return w, err
		}
	}
	if w.attempt, err = g.RejectedWork(t); err != nil {
		return w, hintAccept(err, g, t)
	}
	if w.attempt.Slot == 0 {
		return w, nil
	}
	last, err := g.LastEntry(t)
	w.merge.Target, w.merge.Work = last.Target, last.Work
	if err == nil && last.N == 0 {
		err = hint(fmt.Errorf("%w: work of %s never came as far as to land", dag.ErrRefused, t.ID), "do it again: ralph task reset %s", t.ID)
	}
	return w, err
}

// hintAccept says what helps where there is nothing to accept.
func hintAccept(err error, g *dag.Graph, t dag.Task) error {
	attempts, _ := g.Attempts(t)
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

// findWork finds the commit that is the work of a slot.
func (w *acceptance) findWork(ctx context.Context, root string) error {
	repo, err := openRepo(ctx, root)
	if err != nil {
		return err
	}
	m := &w.merge
	work, err := repo.Commit(ctx, merge.WorkRef(w.task.ID, w.attempt.ID))
	if work == "" && err == nil { // somebody removed the ref
		work, err = repo.Commit(ctx, m.Work)
	}
	if err == nil && work == "" {
		return hint(fmt.Errorf("%w: the work of %s is gone: git has neither %s nor commit %.10s", dag.ErrRefused, w.task.ID,
			merge.WorkRef(w.task.ID, w.attempt.ID), m.Work), "do it again: ralph task reset %s", w.task.ID)
	}
	if err == nil {
		m.Work = work
		m.Base, err = repo.Commit(ctx, work+"^")
	}
	if err == nil && m.Base == "" {
		err = fmt.Errorf("%w: commit %.10s, the work of %s, lies on nothing", dag.ErrRefused, work, w.task.ID)
	}
	if err == nil {
		m.Patch, err = merge.Patch(ctx, repo, m.Base, m.Work)
	}
	return err
}

func (w acceptance) store(g *dag.Graph, why string) error {
	switch {
	case w.held:
		return g.Accept(w.task.ID, why)
	case w.stored:
		return nil
	}
	return g.AcceptRejected(w.task.ID, w.attempt.ID, w.merge, why)
}

// atWorkHere is a run that has an attempt in this folder at the moment: its gates and ours would test a mixture.
func atWorkHere(g *dag.Graph) (string, error) {
	open, err := g.OpenAttempts()
	for _, at := range open {
		if run, rerr := g.RunOf(at.ID); at.Slot == 0 && run.EndedAt.IsZero() && life(run.Process) == dag.Alive {
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
		t, err := g.Task(id)
		if err != nil || t.Status == dag.Done {
			return err
		}
		if t.AwaitsVerdict() {
			return hint(fmt.Errorf("%w: %s is accepted, but was not checked", dag.ErrRefused, id), "see why: ralph task why %s; then type the same again", id)
		}
		stays := fmt.Errorf("%w: nothing has changed, and %s stays %s", dag.ErrRefused, id, t.Status)
		attempts, err := g.Attempts(t)
		if n := len(attempts); n > 0 && attempts[n-1].Rejected == event.RejectedConflict {
			return hint(stays, "if the work is good as it is now: ralph task done %s", id)
		}
		return cmp.Or(err, hint(stays, "see why: ralph task show %s", id))
	})
}
