package merge

import (
	"context"
	"strings"

	"ralph/internal/git"
)

// Unpushed says whether work that landed on a branch is not on a remote yet, as far as is known here.
func Unpushed(ctx context.Context, r *git.Repo, branch, remote string) (bool, error) {
	commit, err := r.Line(ctx, "rev-list", "-n", "1", "--grep=^"+attemptTrailer+": ", branch, "--not", "--remotes="+remote, "--")
	return commit != "", err
}

// Lost lists which of these commits are not in the history of a branch since another commit, neither
// themselves nor by their patch, as after a rebase. If there is no such branch any more, any
// other will do.
func Lost(ctx context.Context, r *git.Repo, branch, since string, patches map[string]string) ([]string, error) {
	args := []string{"log", "--no-show-signature", "--encoding=UTF-8", "--format=%H%n%B", "--ignore-missing"}
	if tip, err := r.Commit(ctx, branch); err != nil {
		return nil, err
	} else if tip == "" {
		args = append(args, "--branches", "--remotes")
	} else {
		args = append(args, tip)
	}
	out, err := r.Git(ctx, git.Call{}, append(args, "^"+since, "--")...)
	if err != nil {
		return nil, err
	}
	found := map[string]bool{}
	for line := range strings.Lines(out) {
		found[strings.TrimPrefix(strings.TrimSpace(line), patchTrailer+": ")] = true
	}
	var lost []string
	for commit, patch := range patches {
		if !found[commit] && !found[patch] {
			lost = append(lost, commit)
		}
	}
	return lost, nil
}

// Revert takes the work of an attempt back that is in the history of a branch, on top of another commit. It returns
// the commit that had the work, "" if there is none: where the history was rewritten since it landed, it is
// another one than that which landed.
func Revert(ctx context.Context, r *git.Repo, branch, attempt, onto string) (string, Built, error) {
	commit, err := r.Line(ctx, "log", "-1", "--no-show-signature", "--format=%H", "--grep=^"+attemptTrailer+": "+attempt+"$", branch, "--")
	if err != nil || commit == "" {
		return "", Built{}, err
	}
	before, err := r.CommitTree(ctx, commit+"^^{tree}", "Revert", commit)
	if err != nil {
		return "", Built{}, err
	}
	built, err := Build(ctx, r, onto, commit, before, "Revert")
	return commit, built, err
}
