package attempt

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

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
)

// oldTests has the gates that accepted the work check it with the files that did so before it, if it changed some of
// them. The work's Doubt says what that shows. Nothing is run for other work.
func (a *attempt) oldTests(ctx context.Context, now string) (ran bool, err error) {
	w := &a.work
	if a.evidence.base.Tree == "" || a.job.Task.AllowTampering || a.job.Accepted || w.Accepted {
		return false, nil
	}
	work := cmp.Or(a.evidence.candidate, now)
	plan, err := a.evidence.plan(ctx, now, work, a.prevented())
	d := w.Doubt
	if d.Unknown = a.evidence.baseless; err != nil || len(plan.Changed) == 0 {
		return false, err
	}
	d.Files = seq.Map(plan.Changed, func(c git.Change) string { return c.Path })
	if ran, err = a.compareOld(ctx, plan, work); err != nil {
		return ran, err
	}
	if d.Unknown != "" {
		a.warn(a.job.Task.ID, "the work changes what checks it, and whether it passes without these changes is not known: "+d.Unknown)
	}
	if len(d.Failed) > 0 && w.WantVerdict {
		d.Hunks, err = a.evidence.hunks(ctx, work, plan.Changed)
	}
	return ran, err
}

// compareOld runs gates in a copy of the work, and adds to the Doubt what they say there.
func (a *attempt) compareOld(ctx context.Context, plan suite.Plan, work string) (ran bool, err error) {
	d := a.work.Doubt
	var checks []verify.Check
	for _, g := range a.work.Gates {
		if plan.Tells(g.Command, g.Before != nil && g.Before.Passed) {
			checks = append(checks, g)
		} else if err := a.logLine("# " + withOldTests + " there is nothing to run: " + a.Redact.Text(g.Command) + "\n"); err != nil {
			return false, err
		}
	}
	if len(checks) == 0 {
		d.Unknown = "no gate can be run with the files from before it"
		return false, nil
	}
	edits := seq.Map(plan.Edits, func(e suite.Edit) git.Edit { return git.Edit(e) })
	bad, said, err := a.inCopy(ctx, work, edits, checks, withOldTests)
	if err == nil && said != nil {
		// The copy may be to blame.
		var control *verify.Result
		if _, control, err = a.inCopy(ctx, work, nil, []verify.Check{bad}, inACopy); err == nil && control == nil {
			d.Failed = append(d.Failed, *said)
		} else if err == nil {
			d.Unknown = fmt.Sprintf("in a copy, gate %q fails with the new tests, too: %s", bad.Command, control.Exit)
		}
	}
	var no noCopy
	if errors.As(err, &no) && ctx.Err() == nil {
		d.Unknown, err = no.Error(), no.ending
	}
	return true, err
}

// noCopy is a copy that cannot be made, or in which gates cannot be run.
type noCopy struct {
	error
	ending error // of the copy
}

// inCopy runs gates in a copy of the work until one does not accept it. That one is returned with what it said.
func (a *attempt) inCopy(ctx context.Context, work string, edits []git.Edit, checks []verify.Check, why string) (bad verify.Check, said *verify.Result, err error) {
	if a.ports.Copy == nil {
		return bad, nil, noCopy{error: errors.New("there is no place for a copy of the work")}
	}
	gates, end, err := a.ports.Copy(ctx, a.evidence.base.Tree, work, edits)
	for _, c := range checks {
		var res verify.Result
		if err == nil {
			res, err = a.again(ctx, gates, c, why)
		}
		if err == nil && refuses(c, res) {
			bad, said = c, &res
		}
		if err != nil || said != nil {
			break
		}
	}
	ending := end()
	if err != nil {
		return bad, nil, noCopy{err, ending}
	}
	return bad, said, ending
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

// logLine adds to what gates printed.
func (a *attempt) logLine(text string) error {
	f, err := os.OpenFile(a.verifyLog(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

// plan says what of the work checks it, and what to put back.
func (e *evidence) plan(ctx context.Context, now, work string, prevented bool) (suite.Plan, error) {
	changes, _, err := e.changes(ctx, now, prevented)
	if err != nil || len(changes) == 0 {
		return suite.Plan{}, err
	}
	before, after, end := git.Contents(ctx, e.job.Place.Project, e.Objects, e.base.Tree, work, maxTestFile)
	defer end()
	s, err := e.suite(ctx, changes, before)
	if err != nil {
		return suite.Plan{}, err
	}
	return s.Plan(changes, after)
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
		}
		f, err := root.Open(path)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		data, err := io.ReadAll(io.LimitReader(f, maxTestFile+1))
		if err == nil && len(data) > maxTestFile {
			err = git.ErrTooLarge
		}
		return data, err
	}
}

// maxShown is how many files are shown to a verifier as they were changed: their names have to fit into a command line.
const maxShown = 500

// hunks are the changes to what checks the work.
func (e *evidence) hunks(ctx context.Context, work string, changed []git.Change) ([]verify.Hunk, error) {
	var names []string
	for _, c := range changed[:min(len(changed), maxShown)] {
		if names = append(names, c.Path); c.Old != "" {
			names = append(names, c.Old)
		}
	}
	d, err := git.Compare(ctx, e.job.Place.Project, e.Objects, e.base.Tree, work, maxPatch, names...)
	return verify.Hunks(d.Patch), err
}
