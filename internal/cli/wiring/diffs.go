package wiring

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"sync"
	"time"

	"ralph/dag"
	"ralph/internal/cli"
	"ralph/internal/git"
	"ralph/internal/slot"
)

// Diffs shows what attempts change: on record when they have ended, and before that in their slots. However many people look,
// a slot is read once a second at most, and never more than a tenth of the time.
type Diffs struct {
	a    *cli.App
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

// NewDiffs has looked at no slot yet.
func NewDiffs(a *cli.App) *Diffs { return &Diffs{a: a, last: map[string]glance{}} }

// Of reads what attempts of a project changed.
func (d *Diffs) Of(s *cli.Session) func(context.Context, dag.Attempt) (git.Difference, error) {
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
		diff, err := git.Trees{Dir: s.Project.Root}.Compare(ctx, at.Tree, at.TreeAfter, MaxDiff)
		if err != nil {
			err = fmt.Errorf("what it changed is not on record any more: %w", err)
		}
		return diff, err
	}
}

// live looks into the slot of an attempt, unless it did just now.
func (d *Diffs) live(ctx context.Context, s *cli.Session, at dag.Attempt) (git.Difference, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := d.a.Now()
	seen, is := d.last[at.ID]
	if is && now.Before(seen.until) {
		return seen.d, seen.err
	}
	ctx, cancel := context.WithTimeout(ctx, diffTimeout)
	defer cancel()
	seen.d, seen.err = d.look(ctx, s, at)
	if ctx.Err() == nil {
		took := d.a.Now().Sub(now)
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

func (d *Diffs) look(ctx context.Context, s *cli.Session, at dag.Attempt) (git.Difference, error) {
	repo, err := git.OpenRepo(ctx, s.Project.Root)
	if err != nil {
		return git.Difference{}, err
	}
	o, err := SlotOptions(d.a, s, repo)
	if err != nil {
		return git.Difference{}, err
	}
	diff, err := slot.Open(o).Diff(ctx, at.Slot, at.ID, MaxDiff)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, slot.ErrTorn) || errors.Is(err, slot.ErrOther) {
		err = fmt.Errorf("slot %d does not have its files: they are being set, or the attempt is on another machine", at.Slot)
	}
	return diff, err
}
