package attempt

import (
	"cmp"
	"context"
	"slices"

	"ralph/internal/git"
	"ralph/verify"
)

// doubtGates notes gates that pass although their output speaks against it: they name tests as failed, or run fewer than without the
// work. What the work removed itself is looked at by name: as a deleted file, or because the old tests fail.
func (a *attempt) doubtGates(ctx context.Context, now string) error {
	w, removed := &a.work, 0
	if a.job.Accepted || w.Accepted {
		return nil
	}
	if a.evidence.base.Tree != "" {
		changes, err := a.evidence.changes(ctx, now, a.prevented())
		if err != nil {
			return err
		}
		removed = verify.RemovedTests(changes)
		if slices.ContainsFunc(changes, func(c git.Change) bool { return slices.ContainsFunc(c.Paths(), a.mayChange) }) {
			removed = verify.AnyNumber
		}
	}
	for _, c := range w.Gates {
		// What others landed since the task began is not its doing.
		before := cmp.Or(a.Baselines.known(a.evidence.landing.Onto, c.Command), c.Before)
		for _, text := range c.Contradicts(before, removed) {
			a.doubt(text)
		}
	}
	return nil
}
