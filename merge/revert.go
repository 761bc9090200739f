package merge

import (
	"context"

	"ralph/internal/git"
)

// CommitOf finds the commit of an attempt in the history of a branch, "" if there is none: where the
// history was rewritten since it landed, it is another one than that which landed.
func CommitOf(ctx context.Context, r *git.Repo, branch, attempt string) (string, error) {
	return r.Line(ctx, "log", "-1", "--no-show-signature", "--format=%H", "--grep=^"+attemptTrailer+": "+attempt+"$", branch, "--")
}

// Revert takes the changes of a commit back, on top of another one.
func Revert(ctx context.Context, r *git.Repo, onto, commit string) (Built, error) {
	before, err := r.CommitTree(ctx, commit+"^^{tree}", "Revert", commit)
	if err != nil {
		return Built{}, err
	}
	return Build(ctx, r, onto, commit, before, "Revert")
}
