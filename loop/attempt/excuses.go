package attempt

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"ralph/internal/event"
	"ralph/internal/human"
	"ralph/loop/policy"
	"ralph/verify"
)

// Excuses are the failures that a person allowed, because the project had them before the work.
type Excuses interface {
	// Allowed is what a gate may fail with by now; nil if it has to pass.
	Allowed(ctx context.Context, gate string) (*verify.Allowed, error)
	// Begin is given what gates say of what tasks begin with. Failures that nobody allowed end the run, unless a person allows
	// them now; what does not fail any more is not allowed any more.
	Begin(ctx context.Context, results []verify.Result) error
}

// begin compares what the gates of every task say without the work of this one with what they may.
func (a *attempt) begin(ctx context.Context, results []verify.Result) error {
	own := a.job.Verify.Gates[a.job.Verify.Own:]
	results = slices.DeleteFunc(slices.Clone(results), func(r verify.Result) bool { return slices.Contains(own, r.Command) })
	if len(results) == 0 {
		return nil
	}
	for _, res := range results {
		allowed, err := a.ports.Excuses.Allowed(ctx, res.Command)
		if err == nil && !res.Passed && !allowed.Covers(res) {
			err = a.ports.Lane.BaseFails(ctx, "gate "+strconv.Quote(res.Command)+" fails without any other work")
		}
		if err != nil {
			return err
		}
	}
	return a.ports.Excuses.Begin(ctx, results)
}

// accepted records what gates said of work that is done, if that changes what is allowed.
func (a *attempt) accepted(ctx context.Context) {
	changes := func(c verify.Check) bool { return c.Allowed != nil || c.Verdict() == event.GateExpected }
	if !slices.ContainsFunc(a.work.Gates, changes) {
		return
	}
	if err := a.ports.Record(context.WithoutCancel(ctx), Record{Accepted: a.work.Gates}); err != nil {
		a.warn(a.job.Task.ID, "what gates may fail with is not up to date: "+err.Error())
	}
}

// blameTarget looks at gates that fail with the work on the target: where they fail without it, too, no task can be blamed.
// Again means that a person allows that, and the work is to be tested once more.
func (a *attempt) blameTarget(ctx context.Context) (again bool, err error) {
	c := a.evidence.landing
	for _, g := range a.work.Gates {
		if mine := g.Own || g.ExpectRed; mine || g.Verdict() != event.GateFailed {
			continue
		}
		if a.Baselines.known(c.Onto, g.Command) != nil {
			continue
		}
		if err := a.ports.Lane.Show(ctx, c.Onto); err != nil {
			return false, err
		}
		_, err := a.Baselines.of(c.Onto, []string{g.Command}, func(command string) (verify.Result, error) {
			return a.before(ctx, command, "without the work")
		}, func(fresh []verify.Result) error { return a.begin(ctx, fresh) })
		if err != nil {
			return false, err
		}
		allowed, err := a.ports.Excuses.Allowed(ctx, g.Command)
		if again = allowed.Covers(g.Result); err != nil {
			return false, err
		}
	}
	return again, nil
}

// before runs a gate on what there is without the work of a task. A project gate that fails runs again: what fails by chance must
// not keep a run from beginning.
func (a *attempt) before(ctx context.Context, command, why string) (res verify.Result, err error) {
	own := slices.Contains(a.job.Verify.Gates[a.job.Verify.Own:], command)
	allowed, err := a.ports.Excuses.Allowed(ctx, command)
	blocks := func() bool { return !own && !res.Passed && !allowed.Covers(res) }
	if err == nil {
		err = a.rerun(func() (again bool, err error) {
			failed := verify.Allowed{Failures: res.Failures}
			if res, err = a.gate(ctx, command, why, a.baselineLog()); !res.Passed { // each may name others: all of them are there without any work
				res.Failures = failed.And(res).Failures
			}
			return blocks() && !res.Broken(), err
		})
	}
	if err != nil {
		return res, err
	}
	a.gateEnded(verify.Check{Result: res}, why)
	if blocks() {
		res.Lacks = a.lacks(ctx, command)
	}
	if res.Broken() && !own {
		if err := a.ports.Lane.BaseFails(ctx, res.Why()); err != nil {
			return res, err
		}
		return res, a.broken(res)
	}
	return res, nil
}

// lacks says what the room lacks in which a gate fails before any work, unless it fails in the person's folder, too. What cannot be
// looked at is not named.
func (a *attempt) lacks(ctx context.Context, command string) string {
	missing, gates, end, err := a.ports.Lane.Lacks(ctx)
	if err != nil || len(missing) == 0 {
		return ""
	}
	names := human.Few(missing)
	said := "if it needs what git ignores in your folder, rooms lack " + names
	if gates != nil {
		const why = "in your folder"
		res, err := a.gateIn(ctx, *gates, command, why, a.baselineLog())
		_ = end() // what is left goes with the sandbox
		if err != nil {
			return ""
		}
		if a.gateEnded(verify.Check{Result: res}, why); !res.Passed {
			return ""
		}
		said = "it passes in your folder, where git ignores " + names + ", which rooms lack"
	}
	return said + ": name what it needs in [parallel] copy or .worktreeinclude, or make it with [parallel] setup"
}

// broken ends the run for a gate that says nothing without the work of any task: no task can be blamed for it, or shown to be done.
// What a task's own gate runs may be what the task is about.
func (a *attempt) broken(res verify.Result) error {
	remedy := "raise [verify] timeout in .ralph.toml, or repair it"
	if res.Unstartable {
		remedy = "install what it runs, or have [parallel] setup in .ralph.toml install it in each slot; what a task is to create belongs into a gate of that task (--gate)"
	}
	return policy.Halted{Reason: strings.Join(human.Parts(res.Why(), res.Lacks, remedy), "; ")}
}
