package attempt

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"slices"

	"ralph/internal/bounded"
	"ralph/internal/git"
	"ralph/internal/seq"
	"ralph/verify/suite"
)

// before is how a tree of the work is made what an earlier one was, but for the task's own tests.
type before struct {
	tree   string
	edits  []git.Edit // empty if the task changes nothing else
	hollow []git.Edit // the same, with what the work adds to it, but for what that does; nil where that cannot be made
	tests  bool       // the task has tests, or what they need
	words  string     // of these: the names of its tests are in it
}

// withoutWork returns the edits that make a tree of the work what an earlier one was. The edits carry what they put there, because the copy may
// be made of another base.
func (e *evidence) withoutWork(ctx context.Context, base, work string, prevented bool) (b before, err error) {
	mine, err := e.changes(ctx, work, prevented)
	if err != nil {
		return b, err
	}
	changes := mine
	if base != e.base.Tree {
		if changes, err = e.compare(ctx, base, work); err != nil {
			return b, err
		}
	}
	modes, err := e.trees.Modes(ctx, base)
	if err != nil {
		return b, err
	}
	was, is, end := e.trees.Contents(ctx, base, work, bounded.Text)
	defer end()
	now, err := suite.Of(suite.Base{Gates: e.job.Verify.Gates, Protect: e.job.Verify.Protect, Read: is})
	if err != nil {
		return b, err
	}
	own := filesOf(mine)
	planned, kept, err := now.Without(changes, was, func(file string) bool { return own[file] })
	if err != nil {
		return b, err
	}
	b.tree, b.edits, b.tests = base, carried(planned, was, modes), len(kept) > 0
	for _, file := range kept {
		if kind := now.Kind(file); kind == suite.Settings || kind == suite.Protected {
			continue
		}
		text, err := is(file)
		if err != nil && !errors.Is(err, git.ErrTooLarge) {
			return b, err
		}
		b.words += file + "\n" + string(text) + "\n"
	}
	if hollow, err := suite.Hollow(seq.Map(planned, func(p suite.Edit) string { return p.Path }), was, is); err == nil {
		b.hollow = overlaid(b.edits, hollow)
	}
	return b, nil
}

// overlaid are edits with other texts for some of their files.
func overlaid(edits []git.Edit, with []suite.Edit) []git.Edit {
	edits = slices.DeleteFunc(slices.Clone(edits), func(e git.Edit) bool {
		return slices.ContainsFunc(with, func(w suite.Edit) bool { return w.Path == e.Path })
	})
	for _, w := range with {
		edits = append(edits, git.Edit{Path: w.Path, Content: w.Content})
	}
	return edits
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
