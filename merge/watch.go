package merge

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"ralph/internal/git"
)

// Movement is what happened to a target since it was last looked at.
type Movement string

// A target is Rewritten if the last tip is not in its history any more.
const (
	Same      Movement = "same"
	Moved     Movement = "moved" // by fast-forward
	Rewritten Movement = "rewritten"
	Deleted   Movement = "deleted"
)

// Watch compares a target with the last tip seen, which is "" at the first look. While the file of the
// ref says the same as before, no git is started; a ref without a file of its own is git's to find.
func Watch(ctx context.Context, r *git.Repo, target, last string) (tip string, m Movement, err error) {
	said, err := os.ReadFile(filepath.Join(r.Common(), filepath.FromSlash(target)))
	if err == nil && last != "" && strings.TrimSpace(string(said)) == last {
		return last, Same, nil
	}
	tip, err = r.Commit(ctx, target)
	switch {
	case err != nil:
		return "", "", err
	case tip == "":
		return "", Deleted, nil
	case tip == last || last == "":
		return tip, Same, nil
	}
	known, err := r.Commit(ctx, last)
	if err != nil {
		return "", "", err
	}
	if known == "" { // it is not in a history if it does not even exist
		return tip, Rewritten, nil
	}
	if below, err := r.IsAncestor(ctx, last, tip); err != nil || below {
		return tip, Moved, err
	}
	return tip, Rewritten, nil
}
