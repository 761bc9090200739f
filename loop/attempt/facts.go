package attempt

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"ralph/internal/event"
	"ralph/internal/git"
	"ralph/internal/risk"
	"ralph/internal/seq"
)

// What the checks from before the work said of it, as it is kept.
const (
	oldPassed  = "passed"
	oldFailed  = "failed"
	oldUnknown = "not run"
)

// spent is what the attempt took that did the work, as far as that is known.
func (a *attempt) spent() risk.Spent {
	used := a.meter.tell()
	_, steps := a.watch.steps()
	if old := a.job.History.Finished; a.evidence.verifiesOnly() {
		steps = max(steps, old.Steps)
		if used.Cost() < old.Cost() { // then what was used so far is a verifier's, at most
			used = old.Usage
		}
	}
	if used.CostUSD == nil || used.Unknown {
		return risk.Spent{}
	}
	return risk.Spent{CostUSD: *used.CostUSD, Steps: steps}
}

// facts are what checking a candidate showed that tells how risky it is. What cannot be seen of it adds nothing, unless that is all of
// it.
func (a *attempt) facts(ctx context.Context) (f risk.Facts) {
	changes, err := a.evidence.compare(ctx, a.evidence.base.Tree, a.evidence.candidate)
	if err != nil {
		f.Unseen = err.Error()
	}
	if len(changes) == 0 {
		return f
	}
	f.Files = seq.Map(changes, func(c git.Change) string { return c.Path })
	for _, c := range changes {
		f.Lines += c.Lines()
	}
	f.Content = a.evidence.content(ctx, changes)
	f.Spent = a.spent()
	if plan, err := a.evidence.plan(ctx, a.evidence.candidate, a.prevented()); err == nil && len(plan.Changed) > 0 {
		f.Checks, f.Old = seq.Map(plan.Changed, func(c git.Change) string { return c.Path }), cmp.Or(a.evidence.old, oldUnknown)
	}
	f.Unexecuted, f.Executable = a.work.Coverage.Missed, a.work.Coverage.Changed
	for _, d := range a.work.Doubts {
		if !slices.Contains(f.Doubts, d.Why) {
			f.Doubts = append(f.Doubts, d.Why)
		}
	}
	for _, g := range a.work.Gates {
		if verdict := g.Verdict(); verdict == event.GateFlaky {
			f.Doubts = append(f.Doubts, fmt.Sprintf("gate %q is flaky", g.Command))
		} else if verdict == event.GateExcused {
			f.Doubts = append(f.Doubts, fmt.Sprintf("gate %q is excused: it fails as it may", g.Command))
		}
	}
	return f
}
