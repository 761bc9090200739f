package git

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ralph/internal/testing/check"
)

// TestFilesSayWhatGitSays: refs and commits are the same without git as with it, in every state that their files can have.
func TestFilesSayWhatGitSays(t *testing.T) {
	t.Parallel()
	made := newRepo(t)
	made.commit("a", "a")
	first := strings.TrimSpace(made.git("rev-parse", "HEAD"))
	r, err := OpenRepo(t.Context(), made.dir)
	check.OK(t, err)
	names := []string{"refs/heads/main", "refs/heads/a/b", "refs/heads/none", "refs/tags/signed", "refs/tags/tree"}
	for _, step := range []struct {
		name  string
		files bool // say it all
		do    func()
	}{
		{"one branch", true, func() {}},
		{"branches and tags", true, func() {
			made.git("branch", "a/b")
			made.git("tag", "-am", "x", "signed")
			made.git("tag", "tree", "HEAD^{tree}")
		}},
		{"packed", true, func() { made.git("pack-refs", "--all") }},
		{"packed and changed", true, func() { made.commit("a", "b"); made.git("branch", "-f", "a/b"); made.git("tag", "-d", "signed") }},
		{"a folder in the place of a packed ref", true, func() { check.OK(t, os.MkdirAll(filepath.Join(made.dir, ".git/refs/tags/tree"), 0o700)) }},
		{"the default branch of a remote", true, func() {
			made.git("update-ref", "refs/remotes/origin/main", first)
			made.git("symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/main")
		}},
		{"one that leads nowhere", false, func() { made.git("symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/none") }},
		{"none of a remote, and a file that is empty", false, func() {
			made.git("symbolic-ref", "--delete", "refs/remotes/origin/HEAD")
			check.OK(t, os.WriteFile(filepath.Join(made.dir, ".git/refs/heads/none"), nil, 0o600))
		}},
		{"a lock", true, func() {
			check.OK(t, os.Rename(filepath.Join(made.dir, ".git/refs/heads/none"), filepath.Join(made.dir, ".git/refs/heads/none.lock")))
		}},
		{"a replaced commit", true, func() { made.git("replace", "HEAD", first) }},
		{"objects in packs", true, func() { made.git("replace", "-d", "HEAD"); made.git("repack", "-adq") }},
	} {
		step.do()
		below := []string{"refs/heads", "refs/remotes", "refs/tags/"}
		_, err := r.refFiles(below)
		check.Equal(t, step.name+": files say it", step.files, err == nil)
		list, err := r.Refs(t.Context(), below...)
		check.OK(t, err)
		out := ""
		for _, ref := range list {
			out += ref.ID + " " + ref.Name + "\n"
		}
		want, _ := r.Git(t.Context(), Call{}, append([]string{"for-each-ref", "--format=%(objectname) %(refname)"}, below...)...)
		check.Equal(t, step.name, want, out)
		commits, err := r.Resolve(t.Context(), names...)
		check.OK(t, err)
		for i, name := range names {
			want, _ := r.Line(t.Context(), "rev-parse", "--verify", "--quiet", name)
			if kind, _ := r.Line(t.Context(), "cat-file", "-t", name); kind != "commit" {
				want = ""
			}
			check.Equal(t, step.name+": "+name, want, commits[i])
		}
		fresh, err := OpenRepo(t.Context(), made.dir)
		check.OK(t, err)
		for _, id := range slices.Compact([]string{first, commits[0]}) {
			tree, err := fresh.Tree(t.Context(), id)
			check.OK(t, err)
			parents, err := fresh.Parents(t.Context(), id)
			check.OK(t, err)
			author, err := fresh.Author(t.Context(), id)
			check.OK(t, err)
			said := made.git("log", "-1", "--format=%T|%P|GIT_AUTHOR_NAME=%an GIT_AUTHOR_EMAIL=%ae GIT_AUTHOR_DATE=%ad", "--date=raw", id)
			check.Equal(t, step.name+": "+id, strings.TrimSpace(said), tree+"|"+strings.ReplaceAll(parents, "\n", " ")+"|"+strings.Join(author, " "))
		}
	}
}

// TestABrokenObjectIsAskedFor: a file of an object counts only if it is what its ID names.
func TestABrokenObjectIsAskedFor(t *testing.T) {
	t.Parallel()
	made := newRepo(t)
	made.commit("a", "a")
	first := strings.TrimSpace(made.git("rev-parse", "HEAD"))
	made.commit("a", "b")
	second := strings.TrimSpace(made.git("rev-parse", "HEAD"))
	r, err := OpenRepo(t.Context(), made.dir)
	check.OK(t, err)
	check.That(t, r.commit(first) != "" && r.commit(second) != "", "new commits are not read")
	check.Equal(t, "a tree", "", r.commit(strings.TrimSpace(made.git("rev-parse", "HEAD^{tree}"))))
	file := func(id string) string { return filepath.Join(made.dir, ".git", "objects", id[:2], id[2:]) }
	check.OK(t, os.Remove(file(second)))
	check.OK(t, os.Rename(file(first), file(second)))
	check.Equal(t, "another commit in its place", "", r.commit(second))
	check.OK(t, os.Truncate(file(second), 20))
	check.Equal(t, "a part of one", "", r.commit(second))
	check.Equal(t, "none", "", r.commit(first))
}
