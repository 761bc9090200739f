package merge

import (
	"cmp"
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

// Prove compares the changes from base to work with those from onto to candidate: they are the
// same, or merging the work into the candidate once more changes nothing. The error is ErrUnproven
// otherwise.
func Prove(ctx context.Context, r *git.Repo, base, work, onto, candidate string) error {
	if candidate != onto {
		if parents, err := r.Line(ctx, "rev-parse", candidate+"^@"); err != nil || parents != onto {
			return cmp.Or(err, fmt.Errorf("%w: it is not one commit on %.10s", ErrUnproven, onto))
		}
	}
	want, err := Patch(ctx, r, base, work)
	if err != nil {
		return err
	}
	if got, err := Patch(ctx, r, onto, candidate); err != nil || got == want {
		return err
	}
	if again, err := Build(ctx, r, candidate, base, work, "proof"); err != nil || again.Candidate == candidate {
		return err
	}
	return fmt.Errorf("%w: %.10s on %.10s", ErrUnproven, work, onto)
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
