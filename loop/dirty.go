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
	files, err := r.left(ctx, last)
	if err != nil || len(files) == 0 {
		return err
	}
	if r.Rules.OnDirty == Spoil {
		took.Action, taken.Fail, taken.Counted = TakenFailed, true, true
		taken.Reason = fmt.Sprintf("its run died %s and left uncommitted work, which recovery.on_dirty does not allow: %s", during(last.Phase), some(files))
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
	} else {
		message := fmt.Sprintf("ralph: what attempt %s at %s left when its run died", last.ID, last.Task)
		if err := git.Stash(ctx, r.Dir, message, files); err != nil {
			return fmt.Errorf("stash what %s left: %w", last.ID, err)
		}
		taken.Reason += "; its uncommitted work is in git's stash: " + some(files)
	}
	took.Reason = taken.Reason
	return nil
}

// left lists the uncommitted files that a dead attempt changed. What was uncommitted
// before and is as it was is somebody else's.
func (r Recoverer) left(ctx context.Context, last dag.Attempt) ([]string, error) {
	if last.Tree == "" {
		return nil, nil // nobody knows how it began
	}
	now, err := git.Tree(ctx, r.Dir, r.Objects, ".ralph")
	if err != nil {
		return nil, err
	}
	changes, err := git.Compare(ctx, r.Dir, r.Objects, last.Tree, now)
	if err != nil {
		return nil, err
	}
	uncommitted := git.Look(ctx, r.Dir).Uncommitted
	var files []string
	for _, c := range changes {
		if slices.Contains(uncommitted, c.Path) {
			files = append(files, c.Path)
		}
	}
	return files, nil
}

// some names a few files.
func some(files []string) string {
	const few = 5
	if len(files) <= few {
		return strings.Join(files, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(files[:few], ", "), len(files)-few)
}
