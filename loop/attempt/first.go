package attempt

import (
	"context"
	"fmt"
	"slices"

	"ralph/dag"
	"ralph/internal/bounded"
	"ralph/internal/event"
	"ralph/internal/git"
	"ralph/internal/glob"
	"ralph/verify"
)

const withFirstChecks = "with the checks that the feature began with"

// firstChecks runs the gates of a feature with the checks that it began with, once the work of its last task is accepted: a lie may be
// spread over two tasks, each of which passes the checks of the other. It rejects nothing; what it finds is on record with the attempt's gates.
func (a *attempt) firstChecks(ctx context.Context, now string) error {
	a.evidence.first = nil
	e := &a.evidence
	switch {
	case a.ports.FeatureEnd == nil, a.job.Task.Feature == "", e.base.Tree == "", a.job.Verify.Skip:
		return nil
	}
	end, err := a.ports.FeatureEnd(ctx)
	if err != nil || end == nil {
		return err
	}
	if end.Tree == "" || end.Tree == e.base.Tree { // with one task, its old tests have run
		return nil
	}
	checks := slices.DeleteFunc(slices.Clone(a.work.Gates[:min(len(a.work.Gates), a.job.Verify.Own)]), func(c verify.Check) bool { return !c.Passed || c.ExpectRed })
	if len(checks) == 0 {
		return nil
	}
	edits, unknown := e.firstEdits(ctx, *end, now) // what cannot be compared is shown, and rejects nothing either
	if unknown == nil && len(edits) == 0 {
		return nil
	}
	var said *verify.Result
	if unknown == nil {
		said, unknown, err = a.refusing(ctx, checks, edits, nil, withFirstChecks)
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	switch {
	case unknown != nil:
		a.differs(checks[0].Command, "not known: "+unknown.Error(), "could not be run")
	case said != nil:
		a.differs(said.Command, said.Exit, "fails")
	}
	return err
}

// differs records the result of a gate with the checks that the feature began with.
func (a *attempt) differs(gate, exit, what string) {
	a.evidence.first = []dag.GateRecord{{Command: gate, Exit: exit, Verdict: event.GateFirstChecks}}
	a.warn(a.job.Task.ID, fmt.Sprintf("%s is at its end, and %s gate %q %s: %s", a.job.Task.Feature, withFirstChecks, gate, what, exit))
}

// firstEdits make the checks of a tree what they were when the feature began, but for those that its tasks may change and those that only other
// features changed.
func (e *evidence) firstEdits(ctx context.Context, end dag.FeatureEnd, now string) ([]git.Edit, error) {
	changes, err := e.compare(ctx, end.Tree, now)
	if err != nil {
		return nil, err
	}
	changes = slices.DeleteFunc(changes, func(c git.Change) bool {
		if c.Path == configuration || slices.Contains(end.Others, c.Path) {
			return true
		}
		return !slices.ContainsFunc(c.Paths(), func(path string) bool { return !glob.Match(end.MayChange, path) })
	})
	if len(changes) == 0 {
		return nil, nil
	}
	plan, err := e.planOf(ctx, end.Tree, now, changes)
	if err != nil || len(plan.Changed) == 0 {
		return nil, err
	}
	modes, err := e.trees.Modes(ctx, end.Tree)
	if err != nil {
		return nil, err
	}
	was, _, done := e.trees.Contents(ctx, end.Tree, now, bounded.Text)
	defer done()
	return carried(plan.Edits, was, modes), nil
}
