package git

import (
	"os"
	"path/filepath"
	"testing"

	"ralph/internal/testing/check"
)

// What is known of objects by their IDs needs no git any more; what is not known is asked for, and an error is no answer.
func TestWhatObjectsSayIsAskedOnce(t *testing.T) {
	made := newRepo(t)
	made.commit("a", "a")
	r, err := OpenRepo(t.Context(), made.dir)
	check.OK(t, err)
	tree, err := r.Line(t.Context(), "rev-parse", "HEAD^{tree}")
	check.OK(t, err)
	first, err := r.CommitTree(t.Context(), tree, "first", "")
	check.OK(t, err)
	second, err := r.CommitTree(t.Context(), tree, "second", first)
	check.OK(t, err)

	for _, id := range []string{first, second, tree} {
		_, err = r.Tree(t.Context(), id)
		check.OK(t, err)
	}
	path := os.Getenv("PATH")
	t.Setenv("PATH", t.TempDir())
	for _, of := range []string{first, second, tree} {
		got, err := r.Tree(t.Context(), of)
		check.OK(t, err)
		check.That(t, got == tree, "tree of %s: %s", of, got)
	}
	parents, err := r.Parents(t.Context(), second)
	check.OK(t, err)
	check.That(t, parents == first, "parents %q", parents)
	is, err := r.IsAncestor(t.Context(), first, second)
	check.OK(t, err)
	check.That(t, is, "the first is not below the second")
	m, err := r.Merge(t.Context(), first, first, second)
	check.OK(t, err)
	check.That(t, m.Tree == tree, "merged %+v", m)

	_, err = r.IsAncestor(t.Context(), second, first)
	check.That(t, err != nil, "what was not asked for is known")
	_, err = r.Tree(t.Context(), "HEAD")
	check.That(t, err != nil, "a name stays what it was")
	aside, err := r.Aside(filepath.Join(t.TempDir(), "objects"))
	check.OK(t, err)
	_, err = aside.Tree(t.Context(), second)
	check.That(t, err != nil, "what is in one repository is known of another")
	t.Setenv("PATH", path)
	is, err = r.IsAncestor(t.Context(), second, first)
	check.OK(t, err)
	check.That(t, !is, "the second is below the first")
}
