package loop

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"ralph/dag"
	"ralph/internal/git"
)

// clean does with uncommitted work of a dead attempt what the rules say. Finished
// work is never touched: it is about to be verified.
func (r Recoverer) clean(ctx context.Context, g *dag.Graph, last dag.Attempt, took *Reclaimed, taken *dag.Taken) error {
	if r.Rules.OnDirty == "" || r.Rules.OnDirty == Keep || taken.Unverified != "" || taken.Fail {
		return nil
	}
	files, inside, err := r.left(ctx, last)
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil: // and would be so at every start
		taken.Reason += fmt.Sprintf("; whether it left uncommitted work could not be seen (%s), so nothing was done about it", err)
		took.Reason = taken.Reason
		return nil
	case len(files)+len(inside) == 0:
		return nil
	}
	if r.Rules.OnDirty == Spoil {
		took.Action, taken.Fail, taken.Counted = TakenFailed, true, true
		taken.Reason = fmt.Sprintf("its run died %s and left uncommitted work, which recovery.on_dirty does not allow: %s",
			during(last.Phase), some(slices.Concat(files, inside)))
		took.Reason = taken.Reason
		return nil
	}
	running, err := g.Tally(dag.Scope{})
	if err != nil {
		return err
	}
	stale, err := g.Stale(r.Life)
	if err != nil {
		return err
	}
	if running.ByStatus[dag.InProgress] > len(stale) {
		taken.Reason += "; its uncommitted work stays, because another run is at work in this folder"
		took.Reason = taken.Reason
		return nil
	}
	if len(files) > 0 {
		message := fmt.Sprintf("ralph: what attempt %s at %s left when its run died", last.ID, last.Task)
		switch err := git.Stash(ctx, r.Dir, message, files); {
		case err == nil:
			taken.Reason += "; its uncommitted work is in git's stash: " + some(files)
		case ctx.Err() != nil:
			return err
		default: // git refuses without a commit or amid a merge, and would refuse at every start
			taken.Reason += fmt.Sprintf("; its uncommitted work stays, because git could not stash it (%s): %s", err, some(files))
		}
	}
	if len(inside) > 0 {
		// An agent may have made that repository: it could say that its files, or its
		// stash, are a person's, and ralph itself is not confined.
		taken.Reason += "; its uncommitted work in repositories inside the project stays, and is not stashed: " + some(inside)
	}
	took.Reason = taken.Reason
	return nil
}

// left lists the uncommitted files that a dead attempt changed, and those in
// repositories inside. What was uncommitted before and is as it was is somebody else's.
func (r Recoverer) left(ctx context.Context, last dag.Attempt) (files, inside []string, err error) {
	if last.Tree == "" {
		return nil, nil, nil // its agent was not started, or git cannot tell
	}
	now, err := git.Tree(ctx, r.Dir, r.Objects, r.own...)
	if err != nil {
		return nil, nil, err
	}
	changes, err := git.Compare(ctx, r.Dir, r.Objects, last.Tree, now)
	if err != nil {
		return nil, nil, err
	}
	state := git.Look(ctx, r.Dir)
	theirs := git.UncommittedInside(ctx, r.Dir, state)
	for _, c := range changes {
		switch {
		case slices.Contains(state.Uncommitted, c.Path):
			files = append(files, c.Path)
		case slices.Contains(theirs, c.Path):
			inside = append(inside, c.Path)
		}
	}
	return files, inside, nil
}

// some names a few files.
func some(files []string) string {
	const few = 5
	if len(files) <= few {
		return strings.Join(files, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(files[:few], ", "), len(files)-few)
}
