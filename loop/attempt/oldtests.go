package attempt

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"ralph/internal/bounded"
	"ralph/internal/git"
	"ralph/internal/human"
	"ralph/internal/seq"
	"ralph/verify"
	"ralph/verify/suite"
)

// Why gates run once more.
const (
	withOldTests = "with the old tests"
	inACopy      = "in a copy, with its own tests"
	asBefore     = "in a copy, as before the work"
)

// oldTests has the gates that accepted the work check it with the files that did so before it, if it changed some of them. Changes
// without which they do not accept it are to be cleared. So is what cannot be found out. Other work runs nothing.
func (a *attempt) oldTests(ctx context.Context, now string) error {
	w, e := &a.work, &a.evidence
	if e.base.Tree == "" || a.job.Accepted || w.Accepted {
		return nil
	}
	plan, err := e.plan(ctx, now, a.prevented())
	if err != nil || len(plan.Changed) == 0 {
		return err
	}
	failed, unknown, err := a.refusing(ctx, w.Gates, edits(plan.Plan), undone(plan.changes), withOldTests)
	switch {
	case err != nil:
		return err
	case unknown != nil:
		files := human.Few(seq.Map(plan.Changed, func(c git.Change) string { return c.Path }))
		a.doubt("the work changes what checks it, " + files + ", and whether it passes without that is not known: " + unknown.Error())
	case failed != nil:
		e.old, e.failed = oldFailed, failed
		a.hold(verify.Changed(plan.Changed, *failed, ownWords(a.job.Task))...)
	default:
		e.old = oldPassed
	}
	return nil
}

// refusing is what the first gate printed that does not accept a copy of the work with edits; nil if all accept it. Undo makes the copy what
// was there before the work. Unknown is why the copy shows nothing.
func (a *attempt) refusing(ctx context.Context, checks []verify.Check, edits, undo []git.Edit, why string) (said *verify.Result, unknown, err error) {
	said, unknown, err = a.inCopy(ctx, edits, checks, why)
	if said == nil || unknown != nil || err != nil {
		return nil, unknown, err
	}
	// The copy may be to blame. New tests that fail there do not show that alone: they may do so on purpose. What the gate prints in a copy of
	// the project before the work does, unless it failed there already and does not name why.
	c := checks[slices.IndexFunc(checks, func(c verify.Check) bool { return c.Command == said.Command })]
	control, unknown, err := a.inCopy(ctx, nil, []verify.Check{c}, inACopy)
	if control != nil && undo != nil && err == nil && c.Before.Comparable() {
		c.Result = *c.Before
		control, unknown, err = a.inCopy(ctx, undo, []verify.Check{c}, asBefore)
	}
	if control != nil {
		unknown = fmt.Errorf("in a copy, gate %q fails without them, too: %s", control.Command, control.Exit)
	}
	if unknown != nil || err != nil {
		return nil, unknown, err
	}
	return said, nil, nil
}

// undone makes the work what was there before it.
func undone(changes []git.Change) (edits []git.Edit) {
	for _, c := range changes {
		for _, path := range c.Paths() {
			edits = append(edits, git.Edit{Path: path, From: path})
		}
	}
	return edits
}

// inCopy runs gates in a copy of the work until one does not accept it, and returns what that said. Unknown is why the copy
// cannot be made, or gates cannot be run there.
func (a *attempt) inCopy(ctx context.Context, edits []git.Edit, checks []verify.Check, why string) (said *verify.Result, unknown, err error) {
	gates, end, unknown := a.ports.Lane.Copy(ctx, edits)
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
	err = a.rerun(func() (again bool, err error) {
		res, err = a.gateIn(ctx, gates, c.Command, why, a.verifyLog())
		return refuses(c, res) && !res.Killed, err
	})
	if err == nil {
		a.gateEnded(verify.Check{Result: res}, why)
	}
	return res, err
}

// refuses reports whether a gate does not accept in a copy what it accepted before. Of one that failed before the work, new
// failures count: those that neither that run nor the one of the work had.
func refuses(c verify.Check, in verify.Result) bool {
	if in.Passed || c.Passed || c.Before == nil {
		return !in.Passed
	}
	return verify.Worse(verify.Result{Failures: c.Before.Failures + "\n" + c.Failures, Killed: c.Before.Killed || c.Killed}, in)
}

func (a *attempt) verifyLog() string { return filepath.Join(a.job.Place.Folder, "verify.log") }

// oldPlan says what of the work checks it, and what to put back.
type oldPlan struct {
	suite.Plan
	changes []git.Change // from what the task began with to the work
}

func (e *evidence) plan(ctx context.Context, now string, prevented bool) (p oldPlan, err error) {
	if p.changes, err = e.changes(ctx, now, prevented); err == nil && len(p.changes) > 0 {
		p.Plan, err = e.planOf(ctx, e.base.Tree, now, p.changes)
	}
	return p, err
}

// planOf lists what of the changes between two trees checks work.
func (e *evidence) planOf(ctx context.Context, from, to string, changes []git.Change) (suite.Plan, error) {
	before, after, end := e.trees.Contents(ctx, from, to, bounded.Text)
	defer end()
	s, err := e.suite(changes, before)
	if err != nil {
		return suite.Plan{}, err
	}
	return s.Plan(changes, after)
}

func edits(plan suite.Plan) []git.Edit {
	return seq.Map(plan.Edits, func(e suite.Edit) git.Edit { return git.Edit{Path: e.Path, From: e.From, Content: e.Content} })
}

// suite is what checked the work before it: what a tree has.
func (e *evidence) suite(changes []git.Change, before suite.Read) (*suite.Suite, error) {
	return suite.Of(suite.Base{
		Gates: e.job.Verify.Gates, Protect: e.job.Verify.Protect, Task: e.job.Task.Title + "\n" + e.job.Task.Description, Read: e.unchanged(changes, before),
		Beside: func(dir string) ([]string, error) { return e.beside(dir, changes) },
		May:    func(file string) bool { return mayChange(e.job.Task, file) },
	})
}

// root is the folder that shows what is judged: all that trees have.
func (e *evidence) root() (*os.Root, error) {
	gates, _ := e.lane.Room()
	dir := gates.Dir
	return os.OpenRoot(strings.TrimSuffix(dir, string(filepath.Separator)+filepath.FromSlash(e.trees.Sub)))
}

// beside lists the files that a folder had before changes. The others are still there: no git has to run for that.
func (e *evidence) beside(dir string, changes []git.Change) (files []string, err error) {
	added := map[string]bool{}
	for _, c := range changes {
		added[c.Path] = c.Kind == git.Added || c.Kind == git.Renamed
		if was := cmp.Or(c.Old, c.Path); path.Dir(was) == dir && (c.Kind == git.Deleted || c.Kind == git.Renamed) {
			files = append(files, was)
		}
	}
	root, err := e.root()
	if err != nil {
		return nil, err
	}
	defer root.Close()
	for up := e.trees.Name(dir); up != "."; up = path.Dir(up) {
		if info, err := root.Lstat(up); err == nil && !info.IsDir() { // by now it is a link, perhaps out of the project: all that was in it is gone
			return files, nil
		}
	}
	entries, err := fs.ReadDir(root.FS(), e.trees.Name(dir))
	if errors.Is(err, fs.ErrNotExist) { // all of it is gone
		err = nil
	}
	for _, entry := range entries {
		if file := path.Join(dir, entry.Name()); entry.Type().IsRegular() && !added[file] {
			files = append(files, file)
		}
	}
	return files, err
}

// unchanged reads what changes do not name in the folder itself, where it is as it was: no git has to run for that.
func (e *evidence) unchanged(changes []git.Change, before suite.Read) suite.Read {
	changed := filesOf(changes)
	return func(seen string) ([]byte, error) {
		if changed[seen] {
			return before(seen)
		}
		root, err := e.root()
		if err != nil {
			return nil, err
		}
		defer root.Close()
		name := e.trees.Name(seen)
		if target, err := root.Readlink(name); err == nil {
			return []byte(target), nil // as git has it
		}
		info, err := root.Stat(name)
		switch {
		case err != nil:
			return nil, fs.ErrNotExist
		case !info.Mode().IsRegular():
			return before(seen) // a folder may be new
		case info.Size() > bounded.Text:
			return nil, git.ErrTooLarge
		}
		return root.ReadFile(name)
	}
}
