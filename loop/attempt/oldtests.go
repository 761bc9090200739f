package attempt

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"ralph/internal/git"
	"ralph/internal/seq"
	"ralph/verify"
	"ralph/verify/suite"
)

// Copy makes a throwaway copy of a tree, the work, with edits that put back what base has, and says how gates run
// there. End throws it away, and is called also after an error.
type Copy func(ctx context.Context, base, work string, edits []git.Edit) (gates verify.Gates, end func() error, err error)

// Why gates run once more.
const (
	withOldTests = "with the old tests"
	inACopy      = "in a copy, with its own tests"
	asBefore     = "in a copy, as before the work"
)

// oldTests has the gates that accepted the work check it with the files that did so before it, if it changed some of
// them. The work's Doubt says what that shows. Nothing is run for other work.
func (a *attempt) oldTests(ctx context.Context, now string) (ran bool, err error) {
	w := &a.work
	if a.evidence.base.Tree == "" || a.job.Task.AllowTampering || a.job.Accepted || w.Accepted {
		return false, nil
	}
	work := cmp.Or(a.evidence.candidate, now)
	plan, changes, err := a.evidence.plan(ctx, now, work, a.prevented())
	if err != nil || len(plan.Changed) == 0 {
		return false, err
	}
	checks := slices.DeleteFunc(slices.Clone(w.Gates), func(g verify.Check) bool { return !plan.Tells(g.Command, g.Before != nil && g.Before.Passed) })
	unknown := errors.New("no gate can be run with the files from before it")
	if len(checks) > 0 {
		w.Doubt.Failed, unknown, err = a.compareOld(ctx, plan, changes, work, checks)
	}
	if unknown != nil && err == nil {
		a.warn(a.job.Task.ID, "the work changes what checks it, and whether it passes without these changes is not known: "+unknown.Error())
	}
	if len(w.Doubt.Failed) > 0 {
		w.Doubt.Files, w.Doubt.Hunks = seq.Map(plan.Changed, func(c git.Change) string { return c.Path }), verify.Hunks(plan.Changed)
	}
	return len(checks) > 0, err
}

// compareOld runs gates in a copy of the work. Unknown is why that says nothing.
func (a *attempt) compareOld(
	ctx context.Context, plan suite.Plan, changes []git.Change, work string, checks []verify.Check,
) (failed []verify.Result, unknown, err error) {
	edits := seq.Map(plan.Edits, func(e suite.Edit) git.Edit { return git.Edit(e) })
	said, unknown, err := a.inCopy(ctx, work, edits, checks, withOldTests)
	if said == nil || unknown != nil || err != nil {
		return nil, unknown, err
	}
	// The copy may be to blame. New tests that fail there do not show that alone: they may do so on purpose.
	checks = slices.DeleteFunc(checks, func(c verify.Check) bool { return c.Command != said.Command })
	control, unknown, err := a.inCopy(ctx, work, nil, checks, inACopy)
	if before := checks[0].Before; control != nil && err == nil && before != nil && before.Passed {
		control, unknown, err = a.inCopy(ctx, work, undone(changes), checks, asBefore)
	}
	if control != nil {
		unknown = fmt.Errorf("in a copy, gate %q fails without them, too: %s", control.Command, control.Exit)
	}
	if unknown != nil || err != nil {
		return nil, unknown, err
	}
	return []verify.Result{*said}, nil, nil
}

// undone makes the work what was there before it.
func undone(changes []git.Change) (edits []git.Edit) {
	for _, c := range changes {
		edits = append(edits, git.Edit{Path: c.Path, From: c.Path})
		if c.Old != "" {
			edits = append(edits, git.Edit{Path: c.Old, From: c.Old})
		}
	}
	return edits
}

// inCopy runs gates in a copy of the work until one does not accept it, and returns what that said. Unknown is why the copy
// cannot be made, or gates cannot be run there.
func (a *attempt) inCopy(ctx context.Context, work string, edits []git.Edit, checks []verify.Check, why string) (said *verify.Result, unknown, err error) {
	if a.ports.Copy == nil {
		return nil, errors.New("there is no place for a copy of the work"), nil
	}
	gates, end, unknown := a.ports.Copy(ctx, a.evidence.base.Tree, work, edits)
	for i := 0; i < len(checks) && unknown == nil && said == nil; i++ {
		var res verify.Result
		if res, unknown = a.again(ctx, gates, checks[i], why); unknown == nil && refuses(checks[i], res) {
			said = &res
		}
	}
	return said, unknown, cmp.Or(end(), context.Cause(ctx))
}

// again runs a gate in a copy, more than once if it fails: that may be by chance.
func (a *attempt) again(ctx context.Context, gates verify.Gates, c verify.Check, why string) (res verify.Result, err error) {
	for try := 0; err == nil && (try == 0 || try <= a.job.Verify.Reruns && refuses(c, res) && !res.Killed); try++ {
		res, err = a.gateIn(ctx, gates, c.Command, why, a.verifyLog())
	}
	if err == nil {
		a.gateEnded(verify.Check{Result: res}, why)
	}
	return res, err
}

// refuses says that a gate does not accept in a copy what it accepted before. Of one that was red before the work, new
// failures count: those that neither that run nor the one of the work had.
func refuses(c verify.Check, in verify.Result) bool {
	if in.Passed || c.Passed || c.Before == nil {
		return !in.Passed
	}
	return verify.Worse(verify.Result{Failures: c.Before.Failures + "\n" + c.Failures, Killed: c.Before.Killed || c.Killed}, in)
}

func (a *attempt) verifyLog() string { return filepath.Join(a.job.Place.Folder, "verify.log") }

// plan says what of the work checks it, and what to put back; and what the work changed.
func (e *evidence) plan(ctx context.Context, now, work string, prevented bool) (plan suite.Plan, changes []git.Change, err error) {
	changes, _, err = e.changes(ctx, now, prevented)
	if err != nil || len(changes) == 0 {
		return plan, changes, err
	}
	before, after, end := git.Contents(ctx, e.job.Place.Project, e.Objects, e.base.Tree, work, maxTestFile)
	defer end()
	s, err := e.suite(ctx, changes, before)
	if err == nil {
		plan, err = s.Plan(changes, after)
	}
	return plan, changes, err
}

// suite is what checked the work before it.
func (e *evidence) suite(ctx context.Context, changes []git.Change, before suite.Read) (*suite.Suite, error) {
	return suite.Of(suite.Base{
		Gates: e.job.Verify.Gates, Protect: e.job.Verify.Protect, Task: e.job.Task.Title + "\n" + e.job.Task.Description, Read: e.unchanged(changes, before),
		Files: func() ([]string, error) { return git.Files(ctx, e.job.Place.Project, e.Objects, e.base.Tree) },
	})
}

// unchanged reads what changes do not name in the folder itself, where it is as it was: no git has to run for that.
func (e *evidence) unchanged(changes []git.Change, before suite.Read) suite.Read {
	changed := map[string]bool{}
	for _, c := range changes {
		changed[c.Path], changed[c.Old] = true, true
	}
	return func(path string) ([]byte, error) {
		if changed[path] {
			return before(path)
		}
		root, err := os.OpenRoot(e.job.Place.Dir)
		if err != nil {
			return nil, err
		}
		defer root.Close()
		info, err := root.Stat(path)
		switch {
		case err != nil:
			return nil, fs.ErrNotExist
		case !info.Mode().IsRegular():
			return before(path) // a folder may be new
		case info.Size() > maxTestFile:
			return nil, git.ErrTooLarge
		}
		return root.ReadFile(path)
	}
}
