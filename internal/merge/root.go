package merge

import (
	"context"
	"crypto/sha1" //nolint:gosec // it is git's
	"crypto/sha256"
	"fmt"

	"ralph/internal/git"
)

// Root is the commit that work begins with where nothing was committed yet. It has no files, is the same each time, and is in
// no history: what lands on it has no parent.
func Root(ctx context.Context, r *git.Repo) (string, error) {
	tree, err := r.Line(ctx, "mktree") // of nothing
	if err != nil {
		return "", err
	}
	return r.CommitTree(ctx, tree, "Nothing\n", "", "GIT_AUTHOR_NAME=ralph", "GIT_AUTHOR_EMAIL=ralph@localhost", "GIT_AUTHOR_DATE=@0 +0000",
		"GIT_COMMITTER_NAME=ralph", "GIT_COMMITTER_EMAIL=ralph@localhost", "GIT_COMMITTER_DATE=@0 +0000")
}

// isRoot reports whether a commit is Root, by its ID: the same bytes have the same one in every repository.
func isRoot(id string) bool {
	sum := func(kind, text string) string {
		data := fmt.Appendf(nil, "%s %d\x00%s", kind, len(text), text)
		if len(id) == 2*sha256.Size {
			return fmt.Sprintf("%x", sha256.Sum256(data))
		}
		return fmt.Sprintf("%x", sha1.Sum(data)) //nolint:gosec // it is git's
	}
	who := "ralph <ralph@localhost> 0 +0000\n"
	return id == sum("commit", "tree "+sum("tree", "")+"\nauthor "+who+"committer "+who+"\nNothing\n")
}

// parentOn is the parent of a commit that is to lie on another: none on Root.
func parentOn(onto string) string {
	if isRoot(onto) {
		return ""
	}
	return onto
}

// under reports whether a commit is in the history of another: every history begins with nothing.
func under(ctx context.Context, r *git.Repo, commit, tip string) (bool, error) {
	if isRoot(commit) {
		return true, nil
	}
	return r.IsAncestor(ctx, commit, tip)
}

// Unborn reports whether the branch that the project's working tree has checked out has no commit yet.
func Unborn(ctx context.Context, r *git.Repo) (bool, error) {
	_, err := r.Git(ctx, git.Call{Own: r.Own()}, "rev-parse", "--quiet", "--verify", "HEAD^{commit}")
	if git.Status(err) == 1 {
		return true, nil
	}
	return false, err
}
