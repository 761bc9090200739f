package merge

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"ralph/internal/git"
)

// Built is what became of merging work onto a commit.
type Built struct {
	Candidate string   // one commit on top, with the changes and the author of the work
	Files     []string // where the work conflicts; then there is no candidate
	Notes     []string // what git says about each conflict
	Empty     bool     // all of the work is there already; the candidate is the commit itself
	Rewritten bool     // the commit does not descend from the base of the work
}

// Build merges the changes from base to work, whose parent it is, onto a commit. It touches no
// files and no refs.
func Build(ctx context.Context, r *git.Repo, onto, base, work, message string) (Built, error) {
	var b Built
	related, err := isAncestor(ctx, r, base, onto)
	if err != nil {
		return b, err
	}
	ours := onto
	if b.Rewritten = !related; b.Rewritten {
		// git would go back to what both have in common, and bring back with the work all
		// that the new history has left out.
		if ours, err = commitTree(ctx, r, onto+"^{tree}", base, "graft", nil); err != nil {
			return b, fmt.Errorf("build on %.10s: %w", onto, err)
		}
	}
	tree, files, notes, err := mergeTree(ctx, r, ours, work)
	if err != nil || len(files) > 0 {
		b.Files, b.Notes = files, notes
		return b, err
	}
	below, err := r.Line(ctx, "rev-parse", "--verify", onto+"^{tree}")
	if err != nil {
		return b, err
	}
	if b.Empty = tree == below; b.Empty {
		b.Candidate = onto
		return b, nil
	}
	author, err := r.Line(ctx, "show", "-s", "--no-show-signature", "--encoding=UTF-8", "--date=raw", "--format=GIT_AUTHOR_NAME=%an%nGIT_AUTHOR_EMAIL=%ae%nGIT_AUTHOR_DATE=%ad", work)
	if err != nil {
		return b, err
	}
	b.Candidate, err = commitTree(ctx, r, tree, onto, message, strings.Split(author, "\n"))
	return b, err
}

func commitTree(ctx context.Context, r *git.Repo, tree, parent, message string, author []string) (string, error) {
	identity, _ := r.Identity(ctx)
	call := git.Call{Env: slices.Concat(identity, author), In: strings.NewReader(message)}
	out, err := r.Git(ctx, call, "commit-tree", "--no-gpg-sign", "-p", parent, "-F", "-", tree)
	return strings.TrimSpace(out), err
}

// mergeTree merges two commits into a tree, or says what conflicts. Attributes that choose how
// to merge a file, such as merge=union, are those of the person's working tree.
func mergeTree(ctx context.Context, r *git.Repo, ours, theirs string) (tree string, files, notes []string, err error) {
	out, err := r.Git(ctx, git.Call{WorkTree: r.Dir()}, "merge-tree", "--write-tree", "-z", "--name-only", "--messages", ours, theirs)
	var failed *git.CommandError
	switch conflict := errors.As(err, &failed) && failed.Status() == 1; {
	case err != nil && !conflict:
		return "", nil, nil, fmt.Errorf("merge %.10s: %w", theirs, err)
	case !conflict:
		tree, _, _ = strings.Cut(out, "\x00")
		return tree, nil, nil, nil
	}
	// tree, file..., "", then for each message: count, file..., kind, text
	fields := strings.Split(out, "\x00")[1:]
	for len(fields) > 0 && fields[0] != "" {
		files, fields = append(files, fields[0]), fields[1:]
	}
	for len(fields) > 3 {
		fields = fields[1:]
		n := 0
		if _, err := fmt.Sscanf(fields[0], "%d", &n); err != nil || n < 0 || len(fields) < n+3 {
			break
		}
		if strings.HasPrefix(fields[n+1], "CONFLICT") {
			notes = append(notes, strings.TrimSpace(fields[n+2]))
		}
		fields = fields[n+2:]
	}
	if slices.Sort(files); len(files) == 0 {
		return "", nil, nil, fmt.Errorf("merge %.10s: git reports a conflict in no file", theirs)
	}
	return "", slices.Compact(files), notes, nil
}

// isAncestor says whether a commit is in the history of another.
func isAncestor(ctx context.Context, r *git.Repo, commit, of string) (bool, error) {
	_, err := r.Git(ctx, git.Call{}, "merge-base", "--is-ancestor", commit, of)
	var failed *git.CommandError
	if errors.As(err, &failed) && failed.Status() == 1 {
		return false, nil
	}
	return err == nil, err
}
