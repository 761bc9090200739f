package land

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"ralph/dag"
	"ralph/internal/git"
	"ralph/internal/human"
	"ralph/internal/merge"
	"ralph/internal/slot"
	"ralph/loop/policy"
)

// enter has an attempt begin in the project's own folder. Work of another task that is not finished goes first: it is kept elsewhere.
// What people changed meanwhile is below the work, and nobody's.
func (l *Lander) enter(ctx context.Context, claim dag.Claim, finished, script bool) (*Workspace, error) {
	at := l.Slots.Here()
	open, err := at.Enter(ctx)
	if err != nil {
		return nil, err
	}
	mine := false
	if open.Task != "" {
		if mine, err = l.goesOn(ctx, at, open, claim, finished); err != nil {
			return nil, err
		}
	}
	tip, mixed, err := l.takeIn(ctx, at)
	if err != nil {
		return nil, err
	}
	if left := at.Left(); len(left) > 0 {
		l.WarnOnce("left", "not looked at, because it cannot be part of a commit: "+human.Few(left))
	}
	if len(mixed) > 0 && mine { // its next attempt may overwrite them
		kept, err := at.Kept(ctx, tip)
		ref := merge.StashRef(open.Task, open.Attempt)
		if err = cmp.Or(err, merge.SetRefs(ctx, l.Repo, merge.Ref{Name: ref, Commit: kept})); err != nil {
			return nil, err
		}
		l.warn(open.Task, "you changed files in which this task is at work; they count as its work: "+human.Few(mixed)+"; as they are now, they are kept at "+ref)
	}
	w := &Workspace{to: l.Options, claim: claim, slot: at, room: l.Slots.Room(claim.Slot)}
	work, _, err := l.earlier(ctx, claim)
	switch {
	case err != nil:
		return nil, err
	case finished && work != "":
		below, err := l.Repo.Commit(ctx, work+"^")
		if err == nil {
			err = at.Stand(ctx, below, work)
		}
		return w, err
	case finished: // by a ralph that kept no commit of it
		return w, l.older(ctx, at, claim, tip)
	case mine:
		work, err = at.Kept(ctx, tip)
		return w, cmp.Or(err, at.Begin(ctx, claim.Task.ID, claim.Attempt, tip, work))
	}
	start := tip
	if work != "" && !script {
		if start, err = l.onto(ctx, tip, work); err != nil {
			return nil, err
		}
	}
	return w, at.Begin(ctx, claim.Task.ID, claim.Attempt, tip, start)
}

// goesOn reports whether unfinished work in the folder is that of the task at hand. It takes out other work, unless a person has made it
// theirs.
func (l *Lander) goesOn(ctx context.Context, at *slot.Slot, open slot.Unfinished, claim dag.Claim, finished bool) (mine bool, err error) {
	var t dag.Task
	var a dag.Attempt
	err = l.Store.View(ctx, func(g *dag.Graph) (err error) {
		if t, err = g.Tasks.Get(open.Task); err == nil {
			a, err = g.History.Attempt(open.Attempt)
		}
		return err
	})
	switch known := err == nil; {
	case err != nil && !errors.Is(err, dag.ErrNotFound):
		return false, err
	case known && t.Status == dag.Done: // by a person's word: it is theirs
		return false, at.Forget()
	case known && t.ID == claim.Task.ID && !a.StartedAt.Before(t.StartedAt):
		return true, nil
	case finished: // which needs no folder before it lands
		return false, nil
	}
	return false, l.clear(ctx, at, open.Task)
}

// clear takes unfinished work out of the folder. The error is a policy.Halted if a person has to do that.
func (l *Lander) clear(ctx context.Context, at *slot.Slot, task string) error {
	err := at.Clear(ctx)
	if touched := new(slot.TouchedError); errors.As(err, &touched) {
		return policy.Halted{Reason: fmt.Sprintf("the work of %s is in this folder, was not accepted, and cannot be taken out: %s; it is kept, too: git for-each-ref refs/ralph/work/%[1]s. "+
			"Take it out yourself, commit what is yours, or, if it is good as it is: ralph task done %[1]s", task, touched)}
	}
	return halted(err)
}

// halted is an error that keeps any work from being done in the folder.
func halted(err error) error {
	if damaged := new(slot.DamagedError); errors.As(err, &damaged) {
		return policy.Halted{Reason: damaged.Error()}
	}
	return err
}

// takeIn makes what people have changed in the folder the tip of what has landed there.
func (l *Lander) takeIn(ctx context.Context, at *slot.Slot) (tip string, mixed []string, err error) {
	if tip, err = l.Tip(ctx); err != nil {
		return "", nil, err
	}
	tree, mixed, err := at.People(ctx, tip)
	if err != nil {
		return "", nil, err
	}
	was, err := l.Repo.Tree(ctx, tip)
	if err != nil || was == tree {
		return tip, mixed, err
	}
	now, err := l.Repo.CommitTree(ctx, tree, "Changes made in this folder\n", tip)
	if err != nil {
		return "", nil, err
	}
	if _, err = merge.Land(ctx, l.Repo, l.Target, tip, now, false); err != nil {
		return "", nil, err
	}
	l.moved(now, nil)
	return now, mixed, nil
}

// onto is earlier work on a tip, or the tip itself if the two conflict.
func (l *Lander) onto(ctx context.Context, tip, work string) (string, error) {
	below, err := l.Repo.Commit(ctx, work+"^")
	if err != nil {
		return "", err
	}
	said, err := l.Repo.Git(ctx, git.Call{}, "show", "-s", "--no-show-signature", "--format=%B", work)
	if err != nil {
		return "", err
	}
	built, err := merge.Build(ctx, l.Repo, tip, below, work, said) // and so what it resolves
	if err != nil || len(built.Files) > 0 {
		return tip, err
	}
	return built.Candidate, nil
}

// older has the folder judged as it is: the work of a task that an older ralph left there is all that is not committed, or was
// committed since the task began.
func (l *Lander) older(ctx context.Context, at *slot.Slot, claim dag.Claim, tip string) error {
	below := claim.Resumed.Base
	if below == "" {
		return at.Begin(ctx, claim.Task.ID, claim.Attempt, tip, tip)
	}
	base, err := l.Repo.Commit(ctx, below)
	if err != nil || base == "" {
		return cmp.Or(err, fmt.Errorf("the commit %.10s, with which the work of %s began, is gone", below, claim.Task.ID))
	}
	return at.Begin(ctx, claim.Task.ID, claim.Attempt, base, tip)
}

// landHere moves the target, and brings the folder's files to it.
func (l *Lane) landHere(ctx context.Context, move func() error) error {
	err := l.slot.Land(ctx, l.entry.Onto, l.entry.Work, l.entry.Candidate, move)
	if touched := new(slot.TouchedError); errors.As(err, &touched) {
		return policy.Refused{Reason: "it cannot land in this folder: " + strings.TrimSuffix(touched.Error(), ".")}
	}
	return err
}

// leave notes what the attempt leaves in the folder, and takes that out if nobody goes on with it.
func (l *Lane) leaveHere(ctx context.Context, status dag.Status, held bool) error {
	if err := l.slot.Leave(ctx); err != nil {
		return halted(err)
	}
	switch {
	case status == dag.Done:
		return l.slot.Done(l.claim.Task.ID)
	case status == dag.Pending && !held, status == dag.InProgress:
		return nil
	}
	open, err := l.slot.Enter(ctx)
	if err != nil || open.Task != l.claim.Task.ID {
		return err
	}
	return l.clear(ctx, l.slot, open.Task)
}
