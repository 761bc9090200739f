package merge

import (
	"cmp"
	"context"
	"strings"

	"ralph/internal/git"
)

// Commit is one that came to a branch.
type Commit struct {
	ID, Title string
	Task      string // that it is the work of; "" for a person's
	Author    string
}

// Who names the task, or else the author, to ask about a commit.
func (c Commit) Who() string { return cmp.Or(c.Task, c.Author) }

// Log lists the commits that are in the history of one and not in that of another, the newest
// first; with files only those that changed one of them.
func Log(ctx context.Context, r *git.Repo, not, in string, files ...string) ([]Commit, error) {
	args := []string{"log", "-z", "--no-show-signature", "--encoding=UTF-8", "--format=%H%n%(trailers:key=Ralph-Task,valueonly,separator=%x20)%n%an%n%s", not + ".." + in, "--"}
	out, err := r.Git(ctx, git.Call{Env: []string{"GIT_LITERAL_PATHSPECS=1"}}, append(args, files...)...)
	var list []Commit
	for entry := range strings.SplitSeq(out, "\x00") {
		if lines := strings.SplitN(entry, "\n", 4); len(lines) == 4 {
			list = append(list, Commit{ID: lines[0], Task: oneLine(lines[1]), Author: oneLine(lines[2]), Title: oneLine(lines[3])})
		}
	}
	return list, err
}

// Change is the patch of a commit, as far as it is about files.
func Change(ctx context.Context, r *git.Repo, commit string, files ...string) (string, error) {
	args := []string{"show", "--no-show-signature", "--no-ext-diff", "--no-textconv", "--no-color", "--format=", "-p", commit, "--"}
	return r.Git(ctx, git.Call{Env: []string{"GIT_LITERAL_PATHSPECS=1"}}, append(args, files...)...)
}
