package attempt

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"slices"

	"ralph/internal/git"
	"ralph/verify/suite"
)

// before is how a tree of the work is made what an earlier one was.
type before struct {
	all, code []git.Edit             // in everything; but for the task's own tests
	own       []git.Edit             // the task's own changes, but for its tests
	tests     bool                   // there are some
	lacks     func(gate string) bool // it runs what was not there
}

// withoutWork says how a tree of the work is made what the feature began with. The edits carry what they put there, because the copy may
// be made of another base.
func (e *evidence) withoutWork(ctx context.Context, base, work string, prevented bool) (b before, err error) {
	mine, err := e.changes(ctx, work, prevented)
	if err != nil {
		return b, err
	}
	changes, err := e.compare(ctx, base, work)
	if err != nil {
		return b, err
	}
	modes, err := e.trees.Modes(ctx, base)
	if err != nil {
		return b, err
	}
	was, is, end := e.trees.Contents(ctx, base, work, maxTestFile)
	defer end()
	of := func(read suite.Read) (*suite.Suite, error) {
		return suite.Of(suite.Base{Gates: e.job.Verify.Gates, Protect: e.job.Verify.Protect, Read: read})
	}
	now, err := of(is)
	if err != nil {
		return b, err
	}
	then, err := of(was)
	if err != nil {
		return b, err
	}
	b.lacks = func(gate string) bool { return then.Lacks(gate, changes) }
	own := filesOf(mine)
	code, tests, err := now.Without(changes, was, func(file string) bool { return own[file] })
	if err != nil {
		return b, err
	}
	everything, _, err := now.Without(changes, was, func(string) bool { return false })
	if err != nil {
		return b, err
	}
	b.tests, b.code, b.all = tests, carried(code, was, modes), carried(everything, was, modes)
	if modes, err = e.trees.Modes(ctx, e.base.Tree); err != nil {
		return b, err
	}
	began, _, endOwn := e.trees.Contents(ctx, e.base.Tree, work, maxTestFile)
	defer endOwn()
	undo, _, err := now.Without(mine, began, func(string) bool { return true })
	b.own = carried(undo, began, modes)
	return b, err
}

// carried are edits that need no base. What is too large to be read stays as the work has it: then a test is less likely to fail.
func carried(planned []suite.Edit, was suite.Read, modes map[string]string) (edits []git.Edit) {
	for _, p := range planned {
		edit := git.Edit{Path: p.Path, Content: p.Content, Mode: modes[p.Path]}
		if p.From != "" {
			text, err := was(p.From)
			switch {
			case errors.Is(err, fs.ErrNotExist):
				edit.Mode = ""
			case err != nil:
				continue
			default:
				edit.Content, edit.Mode = append([]byte{}, text...), modes[p.From]
			}
		}
		edits = append(edits, edit)
	}
	slices.SortStableFunc(edits, func(x, y git.Edit) int { // removals first: a folder may become a file
		return cmp.Compare(min(len(x.Mode), 1), min(len(y.Mode), 1))
	})
	return edits
}
