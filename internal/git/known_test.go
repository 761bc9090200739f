package git

import (
	"os"
	"path/filepath"
	"strings"
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

	made.git("branch", "kept", second)
	made.git("repack", "-adq") // what has a file of its own is read without git
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

// TestSettingsAreAskedForWhenTheyChange: a person may tell git their name, or anything else, while a run is on.
func TestSettingsAreAskedForWhenTheyChange(t *testing.T) {
	made := newRepo(t)
	made.commit("a", "a")
	global := filepath.Join(t.TempDir(), "global")
	check.OK(t, os.WriteFile(global, nil, 0o600))
	t.Setenv("GIT_CONFIG_GLOBAL", global)
	t.Setenv("GIT_CONFIG_SYSTEM", os.DevNull)
	for _, name := range []string{"GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL", "EMAIL"} {
		t.Setenv(name, "")
		check.OK(t, os.Unsetenv(name))
	}
	for _, key := range []string{"user.name", "user.email"} {
		made.git("config", key, "x")
		made.git("config", "--unset", key)
	}
	r, err := OpenRepo(t.Context(), made.dir)
	check.OK(t, err)
	tree, err := r.Line(t.Context(), "rev-parse", "HEAD^{tree}")
	check.OK(t, err)
	author := func(message string) string {
		id, err := r.CommitTree(t.Context(), tree, message, "")
		check.OK(t, err)
		return strings.TrimSpace(made.git("show", "-s", "--format=%an", id))
	}
	has := func(want bool, setting string) {
		t.Helper()
		list, err := r.Settings(t.Context())
		check.OK(t, err)
		check.Equal(t, setting, want, strings.Contains(list, setting))
	}
	for range 2 {
		check.Equal(t, "without a name", "ralph", author("first"))
		has(false, "user.name")
	}
	check.OK(t, os.WriteFile(global, []byte("[user]\n\tuseConfigOnly = true\n\tname = Ann\n\temail = ann@localhost\n"), 0o600))
	check.Equal(t, "with one", "Ann", author("second"))
	has(true, "user.name\nAnn")
	included := global + "-included"
	check.OK(t, os.WriteFile(global, []byte("[include]\n\tpath = "+included+"\n"), 0o600))
	for _, name := range []string{"Bea", "Cleo"} {
		check.OK(t, os.WriteFile(included, []byte("[user]\n\tname = "+name+"\n\temail = x@localhost\n"), 0o600))
		check.Equal(t, "in a file that another includes", name, author("third"))
		has(true, "user.name\n"+name)
	}
}
