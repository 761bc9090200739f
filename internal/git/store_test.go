package git

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ralph/internal/testing/check"
)

// A commit that is written without git is the one that git would have made, and so is its ref.
func TestCommitsAndRefsAreWrittenAsGitDoes(t *testing.T) {
	for _, format := range []string{"sha1", "sha256"} {
		made := newRepo(t)
		if format == "sha256" {
			check.OK(t, os.RemoveAll(filepath.Join(made.dir, ".git")))
			made.git("init", "-q", "--object-format=sha256")
			made.git("config", "user.name", "A Person")
			made.git("config", "user.email", "person@example.org")
		}
		made.commit("a", "a")
		r, err := OpenRepo(t.Context(), made.dir)
		check.OK(t, err)
		head, err := r.Line(t.Context(), "rev-parse", "HEAD")
		check.OK(t, err)
		tree, err := r.Tree(t.Context(), head)
		check.OK(t, err)
		second, err := r.CommitTree(t.Context(), tree, "second", head)
		check.OK(t, err)
		for _, message := range []string{"", "one line", "title\n\nbody\u00e4\n\n\nTrailer: x\n", "\n leading\r\n", strings.Repeat("long\n", 40_000)} {
			for _, parents := range []string{"", head, head + " " + second} {
				author := []string{"GIT_AUTHOR_NAME=\u00c9lan Vital", "GIT_AUTHOR_EMAIL=e@example.org", "GIT_AUTHOR_DATE=1700000000 -0330"}
				id := r.writeCommit(t.Context(), tree, message, parents, author)
				check.That(t, id != "", "%s: %.20q was not written", format, message)
				text, err := r.Git(t.Context(), Call{}, "cat-file", "commit", id)
				check.OK(t, err)
				_, when, _ := strings.Cut(header(text, "committer")[0], "> ")
				args := []string{"commit-tree", "-F", "-", tree}
				for parent := range strings.FieldsSeq(parents) {
					args = append(args, "-p", parent)
				}
				its, err := r.Git(t.Context(), Call{In: strings.NewReader(message), Env: append(author, "GIT_COMMITTER_DATE="+when)}, args...)
				check.OK(t, err)
				check.Equal(t, fmt.Sprintf("%s commit %.20q", format, message), strings.TrimSpace(its), id)
			}
		}
		first, err := r.CommitTree(t.Context(), tree, "first", head)
		check.OK(t, err)
		for _, commit := range []string{first, head} {
			check.That(t, r.SetRef(t.Context(), "refs/ralph/work/t/a", commit), "%s: the ref was not written", format)
			got, err := r.Line(t.Context(), "rev-parse", "refs/ralph/work/t/a")
			check.OK(t, err)
			check.Equal(t, "the ref", commit, got)
		}
		made.git("fsck", "--strict", "--no-dangling")
	}
}

// Git is asked where more is to be done than to write a file, and about what it would refuse.
func TestGitWritesWhatIsMoreThanAFile(t *testing.T) {
	made := newRepo(t)
	made.commit("a", "a")
	r, err := OpenRepo(t.Context(), made.dir)
	check.OK(t, err)
	head, err := r.Line(t.Context(), "rev-parse", "HEAD")
	check.OK(t, err)
	tree, err := r.Tree(t.Context(), head)
	check.OK(t, err)
	const name = "refs/ralph/work/t/a"
	missing := strings.Repeat("1", len(head))
	check.Equal(t, "a tree that is missing", "", r.writeCommit(t.Context(), missing, "m", head, nil))
	check.Equal(t, "a parent that is missing", "", r.writeCommit(t.Context(), tree, "m", missing, nil))
	check.Equal(t, "a parent that is a tree", "", r.writeCommit(t.Context(), tree, "m", tree, nil))
	check.Equal(t, "a parent twice", "", r.writeCommit(t.Context(), tree, "m", head+" "+head, nil))
	check.Equal(t, "no text", "", r.writeCommit(t.Context(), tree, "\xff", head, nil))
	check.Equal(t, "a NUL", "", r.writeCommit(t.Context(), tree, "\x00", head, nil))
	check.Equal(t, "somebody in two lines", "", r.writeCommit(t.Context(), tree, "m", head, []string{"GIT_AUTHOR_NAME=a\nb", "GIT_AUTHOR_EMAIL=c"}))
	check.That(t, !r.SetRef(t.Context(), name, missing), "a ref to nothing was written")
	check.That(t, !r.SetRef(t.Context(), name, tree), "a ref to a tree was written")
	check.That(t, !r.SetRef(t.Context(), "refs/../HEAD", head), "a ref outside was written")
	check.That(t, !r.SetRef(t.Context(), "refs/heads", head), "a folder was replaced")
	made.git("update-ref", "refs/ralph/work/t", head)
	check.That(t, !r.SetRef(t.Context(), name, head), "a ref below another was written")
	made.git("update-ref", "-d", "refs/ralph/work/t")
	for _, setting := range []string{"core.logAllRefUpdates=always", "core.sharedRepository=group", "i18n.commitEncoding=latin1"} {
		key, value, _ := strings.Cut(setting, "=")
		made.git("config", key, value)
		check.Equal(t, "a commit with "+setting, "", r.writeCommit(t.Context(), tree, "m", head, nil))
		check.That(t, !r.SetRef(t.Context(), name, head), "a ref with %s was written", setting)
		made.git("config", "--unset", key)
	}
	t.Setenv("GIT_COMMITTER_DATE", "@1 +0000")
	dated, err := OpenRepo(t.Context(), made.dir)
	check.OK(t, err)
	check.Equal(t, "a time that is set", "", dated.writeCommit(t.Context(), tree, "m", head, nil))
}

// What is read of a commit without git is what git says of it.
func TestTrailersAreReadAsGitDoes(t *testing.T) {
	made := newRepo(t)
	made.commit("a", "a")
	r, err := OpenRepo(t.Context(), made.dir)
	check.OK(t, err)
	head, err := r.Line(t.Context(), "rev-parse", "HEAD")
	check.OK(t, err)
	tree, err := r.Tree(t.Context(), head)
	check.OK(t, err)
	for message, alone := range map[string]bool{
		"title\n": true, "title\n\nbody\n": true, "By: nobody\n": false, "title\n\nbody\n\nBy: a\n": true, "title\n\nOther: x\nby:  a b \nBy: c\n\n": true,
		"title\n\nBy: a\n\nlast\n": false, "title\n\nbody\nBy: a\n": false, "title\n\nBy: a\n folded\n": false, "title\n\n---\n\nBy: a\n": false, "title\n\nBy:a\n": false,
		"title\n\nBy: \n": true, "title\n\nBy: a\r\n": true,
	} {
		id, err := r.CommitTree(t.Context(), tree, message, head)
		check.OK(t, err)
		want, err := r.Line(t.Context(), "show", "-s", "--format=%an%n%(trailers:key=By,valueonly,separator=%x20)", id)
		check.OK(t, err)
		author, value, is := r.Only(head, id, "By")
		check.That(t, is == alone, "%q is read alone: %v", message, is)
		if is {
			check.Equal(t, message, want, author+"\n"+value)
		}
		_, _, is = r.Only(id, head, "By")
		check.That(t, !is, "a commit is on top of its child")
	}
}
