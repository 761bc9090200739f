package merge

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"ralph/internal/git"
)

// Unpushed reports whether work that landed on a branch is not on a remote yet, or not on the branch to of it, unless that is "",
// as far as is known here.
func Unpushed(ctx context.Context, r *git.Repo, branch, remote, to string) (bool, error) {
	args := []string{"rev-list", "-n", "1", "--grep=^" + attemptTrailer + ": ", branch}
	if to == "" {
		args = append(args, "--not", "--remotes="+remote)
	} else if there, err := r.Commit(ctx, "refs/remotes/"+remote+"/"+strings.TrimPrefix(to, "refs/heads/")); err != nil {
		return false, err
	} else if there != "" {
		args = append(args, "^"+there)
	}
	commit, err := r.Line(ctx, append(args, "--")...)
	return commit != "", err
}

// ErrShallow is a clone that lacks a part of the history.
var ErrShallow = errors.New("the clone is shallow, so a part of its history is unknown")

// Lost lists which of these commits, by ID, have not landed on a branch: neither themselves nor as a commit with the
// trailer of their task or their patch, as after a squash or a rebase. Without the branch, any other will do. No such trailer is
// older than since. While the branch has them all, this is one call of git that reads no message.
func Lost(ctx context.Context, r *git.Repo, branch, since string, works map[string]Message) ([]string, error) {
	all := func(tips ...string) bool {
		in := strings.Join(slices.Collect(maps.Keys(works)), "\n") + "\n^" + strings.Join(tips, "\n^") + "\n"
		out, err := r.Git(ctx, git.Call{In: strings.NewReader(in)}, "rev-list", "-n", "1", "--stdin")
		return err == nil && out == ""
	}
	if all(branch) {
		return nil, nil
	}
	p, err := At(ctx, r, branch)
	if err != nil {
		return nil, err
	}
	tips := slices.DeleteFunc([]string{p.Branch, p.Landed}, func(tip string) bool { return tip == "" })
	if p.Landed != "" && all(tips...) {
		return nil, nil
	}
	if _, err := os.Stat(filepath.Join(r.Common(), "shallow")); err == nil {
		return nil, ErrShallow
	}
	args := append([]string{"log", "--no-show-signature", "--encoding=UTF-8", "--format=%H%n%B", "--ignore-missing"}, tips...)
	if p.Branch == "" {
		args = append(args, "--branches", "--remotes")
	}
	out, err := r.Git(ctx, git.Call{}, append(args, "^"+since, "--")...)
	if err != nil {
		return nil, err
	}
	found := map[string]bool{}
	for line := range strings.Lines(out) {
		found[strings.TrimSpace(line)] = true // a squash indents the messages
	}
	var lost []string
	for commit, m := range works {
		if !found[commit] && !found[taskTrailer+": "+m.Task] && !found[patchTrailer+": "+m.Patch] {
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
	parent, err := r.Commit(ctx, commit+"^")
	if err == nil && parent == "" {
		parent, err = Root(ctx, r)
	}
	if err != nil {
		return "", Built{}, err
	}
	before, err := r.CommitTree(ctx, parent+"^{tree}", "Revert", commit)
	if err != nil {
		return "", Built{}, err
	}
	built, err := Build(ctx, r, onto, commit, before, "Revert")
	return commit, built, err
}
