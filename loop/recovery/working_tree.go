package recovery

import (
	"context"
	"fmt"
	"slices"

	"ralph/dag"
	"ralph/internal/git"
	"ralph/internal/human"
	"ralph/loop/land"
)

// OnDirty is what happens to uncommitted work of a dead attempt.
type OnDirty string

// What may happen to it.
const (
	Keep  OnDirty = "keep"  // it stays, and the next agent learns of it
	Stash OnDirty = "stash" // it is put into git's stash, or under a ref if it was in a slot
	Fail  OnDirty = "fail"  // the task fails, so that a person looks
)

const maxNamed = 5 // files that a reason names

const leftText = "left uncommitted work, which recovery.on_dirty does not allow: %s"

// dirty does with the uncommitted work of a dead attempt what the rules say, and returns a
// note for the reason, or why the task has to fail. It runs inside the reclaiming
// transaction, so that nobody can claim the task and begin to work meanwhile.
func (r Recoverer) dirty(ctx context.Context, g *dag.Graph, last dag.Attempt, slot land.Kept) (note string, fail bool, err error) {
	switch {
	case last.Slot > 0 && slot.Ref == "":
		return "", false, nil
	case last.Slot > 0 && r.Rules.OnDirty == Fail:
		return fmt.Sprintf(leftText+"; it is kept at %s", human.List(slot.Files, maxNamed), slot.Ref), true, nil
	case last.Slot > 0:
		return fmt.Sprintf("; its work is kept at %s: %s", slot.Ref, human.List(slot.Files, maxNamed)), false, nil
	}
	if r.Rules.OnDirty == "" || r.Rules.OnDirty == Keep {
		return "", false, nil
	}
	files, inside, err := r.left(ctx, last)
	switch {
	case ctx.Err() != nil:
		return "", false, context.Cause(ctx)
	case err != nil: // and would be so at every start
		return fmt.Sprintf("; whether it left uncommitted work could not be seen (%s), so nothing was done about it", err), false, nil
	case len(files)+len(inside) == 0:
		return "", false, nil
	case r.Rules.OnDirty == Fail:
		return fmt.Sprintf(leftText, human.List(slices.Concat(files, inside), maxNamed)), true, nil
	}
	if alone, err := r.alone(g); err != nil {
		return "", false, err
	} else if !alone {
		return "; its uncommitted work stays, because another run is at work in this folder", false, nil
	}
	if len(files) > 0 {
		message := fmt.Sprintf("ralph: what attempt %s at %s left when its run died", last.ID, last.Task)
		switch err := git.Stash(ctx, r.Dir, message, files); {
		case err == nil:
			note = "; its uncommitted work is in git's stash: " + human.List(files, maxNamed)
		case ctx.Err() != nil:
			return "", false, err
		default: // git refuses without a commit or amid a merge, and would refuse at every start
			note = fmt.Sprintf("; its uncommitted work stays, because git could not stash it (%s): %s", err, human.List(files, maxNamed))
		}
	}
	if len(inside) > 0 {
		// An agent may have made that repository: it could say that its files, or its
		// stash, are a person's, and ralph itself is not confined.
		note += "; its uncommitted work in repositories inside the project stays, and is not stashed: " + human.List(inside, maxNamed)
	}
	return note, false, nil
}

// left lists the uncommitted files that a dead attempt changed, and those in
// repositories inside. What was uncommitted before and is as it was is somebody else's.
func (r Recoverer) left(ctx context.Context, last dag.Attempt) (files, inside []string, err error) {
	if last.Tree == "" {
		return nil, nil, nil // its agent was not started, or git cannot tell
	}
	now, err := git.Take(ctx, r.Dir, r.Objects, r.OwnFiles...)
	if err != nil {
		return nil, nil, err
	}
	difference, err := git.Compare(ctx, r.Dir, r.Objects, last.Tree, now.Tree, 0)
	if err != nil {
		return nil, nil, err
	}
	state := git.Look(ctx, r.Dir)
	state.Inside = git.Search(ctx, r.Dir, ".ralph") // a folder that became a repository stays a folder in the tree
	theirs := git.UncommittedInside(ctx, r.Dir, state)
	for _, c := range difference.Changes {
		switch {
		case slices.Contains(state.Uncommitted, c.Path):
			files = append(files, c.Path)
		case slices.Contains(theirs, c.Path):
			inside = append(inside, c.Path)
		}
	}
	return files, inside, nil
}
