package merge

import (
	"context"
	"errors"
	"path/filepath"
	"strings"

	"ralph/internal/copyfile"
	"ralph/internal/git"
)

// What can have happened to a target besides commits on top of it.
var (
	ErrDeleted   = errors.New("the branch is gone")
	ErrRewritten = errors.New("the last tip is not in the history of the branch any more")
)

// Watch compares a target with the last tip seen, which is "" at the first look. While the file of the
// ref says the same as before, no git is started; a ref without a file of its own is git's to find.
func Watch(ctx context.Context, r *git.Repo, target, last string) (tip string, err error) {
	said, err := copyfile.Read(filepath.Join(r.Common(), filepath.FromSlash(target)), 1<<10)
	if err == nil && last != "" && strings.TrimSpace(string(said)) == last {
		return last, nil
	}
	tip, err = r.Commit(ctx, target)
	switch {
	case err != nil:
		return "", err
	case tip == "":
		return "", ErrDeleted
	case tip == last || last == "":
		return tip, nil
	}
	known, err := r.Commit(ctx, last)
	below := false
	if known != "" { // what does not even exist is not in a history
		below, err = r.IsAncestor(ctx, last, tip)
	}
	if err == nil && !below {
		err = ErrRewritten
	}
	return tip, err
}
