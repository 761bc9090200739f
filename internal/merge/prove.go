package merge

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"ralph/internal/git"
)

// ErrUnproven says that a candidate is not known to contain the work that it was made of.
var ErrUnproven = errors.New("the candidate does not contain the work")

// Prove compares the changes from base to work with those from onto to candidate: they are the
// same, or merging the work into the candidate once more changes nothing. If neither holds, that is asked again with every file
// under the name that the candidate has for it: one side may have renamed what the other rewrote. The error is ErrUnproven otherwise.
func Prove(ctx context.Context, r *git.Repo, base, work, onto, candidate string) error {
	if candidate != onto {
		if parents, err := r.Parents(ctx, candidate); err != nil || parents != parentOn(onto) {
			return cmp.Or(err, fmt.Errorf("%w: it is not one commit on %.10s", ErrUnproven, onto))
		}
	}
	if has, err := contains(ctx, r, base, work, onto, candidate); err != nil || has {
		return err
	}
	if has, err := containsRenamed(ctx, r, base, work, onto, candidate); err != nil || has {
		return err
	}
	return fmt.Errorf("%w: %.10s on %.10s", ErrUnproven, work, onto)
}

func contains(ctx context.Context, r *git.Repo, base, work, onto, candidate string) (bool, error) {
	want, err := Patch(ctx, r, base, work)
	if err != nil {
		return false, err
	}
	if got, err := Patch(ctx, r, onto, candidate); err != nil || got == want {
		return err == nil, err
	}
	again, err := Build(ctx, r, candidate, base, work, "proof")
	return err == nil && again.Candidate == candidate, err
}

// containsRenamed is contains after each side has made the renames of the other.
func containsRenamed(ctx context.Context, r *git.Repo, base, work, onto, candidate string) (bool, error) {
	here, err := renames(ctx, r, base, work)
	if err != nil {
		return false, err
	}
	there, err := renames(ctx, r, base, onto)
	if err != nil || len(here)+len(there) == 0 {
		return false, err
	}
	both := maps.Clone(here)
	maps.Copy(both, there)
	old := slices.Collect(maps.Keys(both))
	if left, err := r.Git(ctx, git.Call{}, append([]string{"ls-tree", "-z", "--full-tree", candidate, "--"}, old...)...); err != nil || left != "" {
		return false, err // after the renames nothing would tell that they are to be gone
	}
	renamed := func(commit, parent string, names map[string]string) (id string) {
		if err == nil {
			id, err = rename(ctx, r, commit, parent, names)
		}
		return id
	}
	base = renamed(base, "", both)
	work = renamed(work, base, without(there, here))
	onto = renamed(onto, "", without(here, there))
	if err != nil {
		return false, err
	}
	return contains(ctx, r, base, work, onto, candidate)
}

// renames are the files that one commit has under another name than the other, which is their old name's value.
func renames(ctx context.Context, r *git.Repo, from, to string) (map[string]string, error) {
	out, err := r.Git(ctx, git.Call{}, "diff-tree", "-r", "-z", "-M", "--diff-filter=R", "--name-status", from, to)
	names := map[string]string{}
	for entry := range slices.Chunk(git.Split(out), 3) { // R100, old, new
		if len(entry) == 3 {
			names[entry[1]] = entry[2]
		}
	}
	return names, err
}

// without are names of files that another one has not renamed.
func without(names, renamed map[string]string) map[string]string {
	names = maps.Clone(names)
	maps.DeleteFunc(names, func(old, _ string) bool { return renamed[old] != "" })
	return names
}

// rename is a commit like another one, with files under other names.
func rename(ctx context.Context, r *git.Repo, commit, parent string, names map[string]string) (string, error) {
	dir, err := os.MkdirTemp("", "ralph-prove-")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	var edits []git.Edit
	for old, name := range names {
		edits = append(edits, git.Edit{Path: old}, git.Edit{Path: name, From: old})
	}
	plumbing := func(in io.Reader, args ...string) (string, error) {
		return r.Git(ctx, git.Call{Index: filepath.Join(dir, "index"), In: in}, args...)
	}
	tree, err := git.EditTree(plumbing, commit, commit, edits)
	if err != nil {
		return "", err
	}
	return r.CommitTree(ctx, tree, "proof", parent)
}

// Patch identifies the changes between two commits: every byte, name and mode of them, but
// neither where in a file they are nor what is next to them, which others may change.
// git patch-id leaves out white space and, below git 2.39, modes and binary files.
func Patch(ctx context.Context, r *git.Repo, from, to string) (string, error) {
	from, err := r.Tree(ctx, from)
	if err != nil {
		return "", err
	}
	if to, err = r.Tree(ctx, to); err != nil {
		return "", err
	}
	return r.Once("patch "+from+" "+to, func() (string, error) { return patch(ctx, r, from, to) })
}

func patch(ctx context.Context, r *git.Repo, from, to string) (string, error) {
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
