package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"sync"
	"time"

	"ralph/dag"
	"ralph/internal/git"
	"ralph/internal/slot"
)

// diffs shows what attempts change: on record when they have ended, and before that in their slots. However many people look,
// a slot is read once a second at most, and never more than a tenth of the time.
type diffs struct {
	a    *app
	mu   sync.Mutex
	last map[string]glance // of attempts that have not ended
}

// glance is what was seen in a slot.
type glance struct {
	d     git.Difference
	err   error
	until time.Time // it is shown again
}

// diffTimeout bounds one look at a slot; a file system may hang.
const diffTimeout = 20 * time.Second

func newDiffs(a *app) *diffs { return &diffs{a: a, last: map[string]glance{}} }

// of reads what attempts of a project changed.
func (d *diffs) of(s *session) func(context.Context, dag.Attempt) (git.Difference, error) {
	return func(ctx context.Context, at dag.Attempt) (git.Difference, error) {
		switch {
		case at.EndedAt.IsZero() && at.Slot > 0:
			return d.live(ctx, s, at)
		case at.EndedAt.IsZero():
			return git.Difference{}, errors.New("its agent works in the project's folder: git diff shows what it changes")
		case at.Tree == "" || at.TreeAfter == "":
			return git.Difference{}, errors.New("what it changed is not on record: its run died, or its folder has no git")
		case at.Tree == at.TreeAfter:
			return git.Difference{}, nil
		}
		diff, err := git.Trees{Dir: s.project.Root}.Compare(ctx, at.Tree, at.TreeAfter, maxDiff)
		if err != nil {
			err = fmt.Errorf("what it changed is not on record any more: %w", err)
		}
		return diff, err
	}
}

// live looks into the slot of an attempt, unless it did just now.
func (d *diffs) live(ctx context.Context, s *session, at dag.Attempt) (git.Difference, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := d.a.now()
	seen, is := d.last[at.ID]
	if is && now.Before(seen.until) {
		return seen.d, seen.err
	}
	ctx, cancel := context.WithTimeout(ctx, diffTimeout)
	defer cancel()
	seen.d, seen.err = d.look(ctx, s, at)
	if ctx.Err() == nil {
		took := d.a.now().Sub(now)
		seen.until = now.Add(max(time.Second, 10*took))
		for id, other := range d.last {
			if other.until.Before(now) { // it is made anew in any case
				delete(d.last, id)
			}
		}
		d.last[at.ID] = seen
	}
	return seen.d, seen.err
}

func (d *diffs) look(ctx context.Context, s *session, at dag.Attempt) (git.Difference, error) {
	repo, err := git.OpenRepo(ctx, s.project.Root)
	if err != nil {
		return git.Difference{}, err
	}
	o, err := slotOptions(d.a, s, repo)
	if err != nil {
		return git.Difference{}, err
	}
	diff, err := slot.Open(o).Diff(ctx, at.Slot, at.ID, maxDiff)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, slot.ErrTorn) || errors.Is(err, slot.ErrOther) {
		err = fmt.Errorf("slot %d does not have its files: they are being set, or the attempt is on another machine", at.Slot)
	}
	return diff, err
}
