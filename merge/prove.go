package merge

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"strings"

	"ralph/internal/git"
)

// ErrUnproven says that a candidate is not known to contain the work that it was made of.
var ErrUnproven = errors.New("the candidate does not contain the work")

// Proof says why a candidate contains its work.
type Proof struct {
	Patch string // of the work
	By    string // "patch": the candidate makes the same changes; "merge": merging the work again changes nothing
}

// Prove compares the changes from base to work with those from onto to candidate. The error is
// ErrUnproven if nothing shows that they are the same.
func Prove(ctx context.Context, r *git.Repo, base, work, onto, candidate string) (Proof, error) {
	want, err := Patch(ctx, r, base, work)
	if err != nil {
		return Proof{}, err
	}
	if candidate != onto {
		parents, err := r.Line(ctx, "rev-parse", candidate+"^@")
		if err != nil {
			return Proof{}, err
		}
		if parents != onto {
			return Proof{}, fmt.Errorf("%w: it is not one commit on %.10s", ErrUnproven, onto)
		}
	}
	got, err := Patch(ctx, r, onto, candidate)
	if err != nil {
		return Proof{}, err
	}
	if got == want {
		return Proof{Patch: want, By: "patch"}, nil
	}
	again, err := Build(ctx, r, candidate, base, work, "proof")
	if err != nil {
		return Proof{}, err
	}
	if again.Candidate != candidate {
		return Proof{}, fmt.Errorf("%w: %.10s on %.10s", ErrUnproven, work, onto)
	}
	return Proof{Patch: want, By: "merge"}, nil
}

// Patch identifies the changes between two commits: every byte, name and mode of them, but
// neither where in a file they are nor what is next to them, which others may change.
// git patch-id leaves out white space and, below git 2.39, modes and binary files.
func Patch(ctx context.Context, r *git.Repo, from, to string) (string, error) {
	out, err := r.Git(ctx, git.Call{}, "diff-tree", "-r", "-p", "-U0", "--text", "--full-index", "--no-renames", "--no-ext-diff", "--no-textconv",
		"--no-color", "--diff-algorithm=histogram", "--no-indent-heuristic", "--inter-hunk-context=0", "--ignore-submodules=none", "--submodule=short", "--src-prefix=a/", "--dst-prefix=b/", from, to)
	if err != nil {
		return "", err
	}
	sum := sha256.New()
	for line := range strings.Lines(out) {
		// What is in a file begins with a sign, so these are headers.
		switch {
		case strings.HasPrefix(line, "index "):
			continue
		case strings.HasPrefix(line, "@@ "):
			line = "@@\n"
		}
		_, _ = io.WriteString(sum, line)
	}
	return fmt.Sprintf("%x", sum.Sum(nil)), nil
}
