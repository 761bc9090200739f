package slot

import (
	"context"
	"slices"

	"ralph/internal/git"
	"ralph/internal/seq"
	"ralph/internal/testing/failpoint"
)

// rolling is what is to come into the folder because it lands.
type rolling struct{ From, To string }

// Land moves the target by a function, and brings the files from what was below a candidate to it, where the work has not put them there
// already: then what a person has made of them since stays. It is a *TouchedError if another of them is something else.
func (s *Slot) Land(ctx context.Context, onto, work, candidate string, move func() error) error {
	_, files, todo, err := s.behind(ctx, onto, candidate)
	if err == nil && len(files) > 0 && s.finished == nil {
		var others []git.Diff
		others, err = s.p.o.Repo.DiffTrees(ctx, work, candidate)
		is := seq.Set(others, func(d git.Diff) string { return d.Path })
		files = slices.DeleteFunc(files, func(name string) bool { return !is[name] })
	}
	if err != nil {
		return err
	}
	if len(files) > 0 {
		return &TouchedError{Files: files}
	}
	if len(todo) > 0 {
		s.made.Rolling = &rolling{onto, candidate}
		if err := s.save(); err != nil {
			return err
		}
	}
	if err := move(); err != nil {
		return err
	}
	failpoint.Hit("before-folder-follows")
	return s.roll(ctx)
}

// behind compares the folder, whose tree it returns, with a candidate: it lists the files that are neither as before nor as in that, and the
// changes that are still to be made.
func (s *Slot) behind(ctx context.Context, onto, candidate string) (now string, files []string, todo []git.Diff, err error) {
	diff, err := s.p.o.Repo.DiffTrees(ctx, onto, candidate)
	if err != nil {
		return "", nil, nil, err
	}
	w, err := s.tree(ctx, onto)
	if err != nil {
		return "", nil, nil, err
	}
	still, err := s.p.o.Repo.DiffTrees(ctx, w.Tree, candidate)
	if err != nil {
		return "", nil, nil, err
	}
	is := seq.Index(still, func(d git.Diff) string { return d.Path })
	for _, d := range diff {
		switch at, differs := is[d.Path]; {
		case !differs:
		case at.Was == d.Was:
			todo = append(todo, d)
		default:
			files = append(files, d.Path)
		}
	}
	return w.Tree, files, todo, nil
}

// roll brings the files to what has landed, as far as they are as before.
func (s *Slot) roll(ctx context.Context) error {
	r := s.made.Rolling
	if r == nil {
		return nil
	}
	landed, err := s.p.o.Repo.Commit(ctx, s.p.o.Folder)
	if err != nil {
		return err
	}
	if landed != "" {
		there, err := s.p.o.Repo.IsAncestor(ctx, r.To, landed)
		if err != nil {
			return err
		}
		if there {
			err = s.follow(ctx, r.From, r.To)
		}
		if err != nil {
			return err
		}
	}
	s.made.Rolling = nil
	return s.save()
}

func (s *Slot) follow(ctx context.Context, onto, candidate string) error {
	now, _, todo, err := s.behind(ctx, onto, candidate)
	if err != nil {
		return err
	}
	tree, err := s.with(ctx, now, todo)
	if err != nil {
		return err
	}
	return s.set(ctx, now, tree)
}
