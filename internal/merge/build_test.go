package merge

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ralph/internal/testing/check"
)

func TestBuildMergesWorkOntoACommit(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	base := r.head()
	work := r.on(base, func() {
		r.write("a.txt", "1\n2\n3\n4\n5\n6\n7\n8\nnine\n", "ü \"x\"\n.txt", "new")
		r.git("config", "user.name", "An Author")
	})
	r.git("config", "user.name", "A Person")
	onto := r.with(base, "a.txt", "one\n2\n3\n4\n5\n6\n7\n8\n9\n")
	before := r.git("status", "--porcelain")
	b := r.build(onto, base, work)
	check.Equal(t, "parent", onto, r.git("rev-parse", b.Candidate+"^@"))
	check.Equal(t, "text", "one\n2\n3\n4\n5\n6\n7\n8\nnine", r.git("show", b.Candidate+":a.txt"))
	check.Equal(t, "who", "An Author person@example.org A Person a message", r.git("show", "-s", "--format=%an %ae %cn %s", b.Candidate))
	check.Equal(t, "when", r.git("show", "-s", "--format=%ai", work), r.git("show", "-s", "--format=%ai", b.Candidate))
	check.Equal(t, "built", Built{Candidate: b.Candidate}, b)
	check.Equal(t, "files", before, r.git("status", "--porcelain"))

	again := r.build(b.Candidate, base, work)
	check.Equal(t, "again", Built{Candidate: b.Candidate}, again)
}

func TestConflictsAreReportedByFile(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	base := r.head()
	odd := "ü \"x\"\n.txt"
	work := r.on(base, func() {
		r.write("a.txt", "ours\n", odd, "x", "fine", "f")
		r.git("rm", "-q", "sub/b.txt")
	})
	onto := r.with(base, "a.txt", "theirs\n", "sub/b.txt", "changed\n", odd, "y")
	b := r.build(onto, base, work)
	check.Equal(t, "files", []string{"a.txt", "sub/b.txt", odd}, b.Files)
	check.Equal(t, "candidate", "", b.Candidate)
}

func TestAFolderInTheWayOfAFileConflictsInThatName(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	base := r.head()
	work := r.with(base, "new", "a file")
	b := r.build(r.with(base, "new/inner", "in a folder"), base, work)
	check.Equal(t, "files", []string{"new"}, b.Files)
}

// TestWorkOfAHistoryThatIsGoneBringsNothingBack: only its own changes count.
func TestWorkOfAHistoryThatIsGoneBringsNothingBack(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	first := r.head()
	base := r.with(first, "secret", "to be forgotten")
	work := r.with(base, "new", "n")
	onto := r.with(first, "other", "o")
	b := r.build(onto, base, work)
	check.Equal(t, "files", "a.txt\nnew\nother\nsub/b.txt", r.git("ls-tree", "-r", "--name-only", b.Candidate))
	check.Equal(t, "parent", onto, r.git("rev-parse", b.Candidate+"^@"))
}

func TestMergeAttributesCount(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	r.write(".gitattributes", "log merge=union\n", "log", "0\n")
	base := r.commit()
	work := r.with(base, "log", "0\nours\n")
	b := r.build(r.with(base, "log", "0\ntheirs\n"), base, work)
	check.Equal(t, "log", "0\ntheirs\nours", r.git("show", b.Candidate+":log"))
}

func TestWithoutAnIdentityRalphCommits(t *testing.T) { // changes the environment
	for _, name := range []string{"GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL", "EMAIL"} {
		t.Setenv(name, "")
		os.Unsetenv(name)
	}
	t.Setenv("GIT_CONFIG_GLOBAL", os.DevNull)
	r := newRepo(t)
	base := r.head()
	work := r.with(base, "new", "n")
	onto := r.with(base, "other", "o")
	check.That(t, !r.Nameless(t.Context()), "got no identity, want the person's")
	r.git("config", "user.useConfigOnly", "true")
	r.git("config", "--unset", "user.name")
	r.git("config", "--unset", "user.email")
	check.That(t, r.Nameless(t.Context()), "got an identity, want none")
	b := r.build(onto, base, work)
	check.Equal(t, "who", "A Person ralph ralph@localhost", r.git("show", "-s", "--format=%an %cn %ce", b.Candidate))
	r.git("update-ref", "refs/heads/other", onto)
	_, err := Land(t.Context(), r.Repo, "refs/heads/other", onto, b.Candidate, false)
	check.OK(t, err)
}

// TestPatch: what must and what must not make a difference.
func TestPatch(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	r.write("bin", "\x00\x01", "run", "#!/bin/sh\n", "long", strings.Repeat("line\n", 50), "white", "a b\n")
	check.OK(t, os.Symlink("a.txt", filepath.Join(r.dir, "link")))
	base := r.commit()
	patch := func(change func()) string {
		t.Helper()
		id, err := Patch(t.Context(), r.Repo, base, r.on(base, change))
		check.OK(t, err)
		return id
	}
	seen := map[string]string{}
	for name, change := range map[string]func(){
		"nothing":        func() {},
		"text":           func() { r.write("a.txt", "x\n") },
		"no newline":     func() { r.write("a.txt", "x") },
		"carriage":       func() { r.write("a.txt", "x\r\n") },
		"binary":         func() { r.write("bin", "\x00\x02") },
		"other binary":   func() { r.write("bin", "\x00\x03") },
		"mode":           func() { check.OK(t, os.Chmod(filepath.Join(r.dir, "run"), 0o755)) },
		"rename":         func() { r.git("mv", "a.txt", "z.txt") },
		"other rename":   func() { r.git("mv", "a.txt", "y.txt") },
		"delete":         func() { r.git("rm", "-q", "a.txt") },
		"empty file":     func() { r.write("empty", "") },
		"other empty":    func() { r.write("empty2", "") },
		"white space":    func() { r.write("white", "a  b\n") },
		"no white space": func() { r.write("white", "ab\n") },
		"link":           func() { os.Remove(filepath.Join(r.dir, "link")); os.Symlink("run", filepath.Join(r.dir, "link")) },
		"file for link":  func() { os.Remove(filepath.Join(r.dir, "link")); r.write("link", "run") },
		"header as text": func() { r.write("a.txt", "@@ -1 +1 @@\nindex 1..2\n") },
		"other header":   func() { r.write("a.txt", "@@ -2 +2 @@\nindex 1..2\n") },
	} {
		id := patch(change)
		check.That(t, seen[id] == "", "%s and %s are the same patch", name, seen[id])
		seen[id] = name
	}
	// an edit right beside it, and lines above
	work := r.with(base, "a.txt", "1\n2\n3\n4\nfive\n6\n7\n8\n9\n")
	beside := r.with(base, "a.txt", "0\n1\n2\n3\nfour\n5\n6\n7\n8\n9\n")
	both := r.with(beside, "a.txt", "0\n1\n2\n3\nfour\nfive\n6\n7\n8\n9\n")
	one, err := Patch(t.Context(), r.Repo, base, work)
	check.OK(t, err)
	other, err := Patch(t.Context(), r.Repo, beside, both)
	check.OK(t, err)
	check.Equal(t, "patch", one, other)
}

func TestProve(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	base := r.head()
	work := r.with(base, "a.txt", "1\n2\n3\n4\n5\n6\n7\n8\nnine\n", "new", "n")
	want := func(what, onto, candidate string, proven bool) {
		t.Helper()
		err := Prove(t.Context(), r.Repo, base, work, onto, candidate)
		check.That(t, (err == nil) == proven && (proven || errors.Is(err, ErrUnproven)), "%s: got %v, want it proven: %v", what, err, proven)
	}
	other := r.with(base, "other", "o")
	want("merged", other, r.build(other, base, work).Candidate, true)
	half := r.with(base, "a.txt", "1\n2\n3\n4\n5\n6\n7\n8\nnine\n")
	want("half of it was there", half, r.build(half, base, work).Candidate, true)
	all := r.with(half, "new", "n")
	want("all of it was there", all, all, true)
	want("half of it is lost", other, r.with(other, "new", "n"), false)
	want("all of it is lost", other, r.with(other, "another", "n"), false)
	want("nothing is there", other, other, false)
	want("two commits", base, r.with(r.build(base, base, work).Candidate, "more", "m"), false)
	want("on another commit", other, r.build(base, base, work).Candidate, false)
}

// TestProveAlongsideARename: one side renames a file that the other rewrites, so that nothing tells any more that both are about the
// same one.
func TestProveAlongsideARename(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	base := r.head()
	const rewritten, edited = "one\ntwo\nthree\nfour\nfive\nsix\n7\n8\n9\n", "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n"
	rewrite := r.with(base, "a.txt", rewritten, "sub/b.txt", "new\n")
	rename := r.on(base, func() { r.git("mv", "a.txt", "z.txt"); r.write("z.txt", edited) })
	want := func(what, work, onto, candidate string, proven bool) {
		t.Helper()
		err := Prove(t.Context(), r.Repo, base, work, onto, candidate)
		check.That(t, (err == nil) == proven && (proven || errors.Is(err, ErrUnproven)), "%s: got %v, want it proven: %v", what, err, proven)
	}
	for what, side := range map[string][2]string{"rewritten on a rename": {rewrite, rename}, "renamed on a rewrite": {rename, rewrite}} {
		work, onto := side[0], side[1]
		built := r.build(onto, base, work)
		check.Equal(t, what, rewritten+"10", r.git("show", built.Candidate+":z.txt"))
		want(what, work, onto, built.Candidate, true)
		want(what+", and lost", work, onto, onto, false)
		want(what+", and lost in a part", work, onto, r.on(onto, func() { r.git("checkout", "-q", built.Candidate, "z.txt") }), false)
		want(what+", and something else", work, onto, r.on(onto, func() { r.git("checkout", "-q", built.Candidate, "."); r.write("z.txt", edited+"11\n") }), false)
	}
	again := r.on(base, func() { r.git("mv", "a.txt", "z.txt"); r.write("other", "o") })
	want("renamed by both", again, rename, r.build(rename, base, again).Candidate, true)
}

func TestWatch(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	first := r.head()
	var w Watch
	look := func(last string, want error, wantTip string) {
		t.Helper()
		w.Tip = last
		tip, err := w.Look(t.Context(), r.Repo, main)
		check.That(t, errors.Is(err, want), "got %v, want %v", err, want)
		check.Equal(t, "tip", wantTip, tip)
	}
	look("", nil, first)
	look(first, nil, first)
	r.write("new", "n")
	second := r.commit()
	look(first, nil, second)
	over, end := context.WithCancel(t.Context())
	end() // git could not be started
	tip, err := w.Look(over, r.Repo, main)
	check.OK(t, err)
	check.Equal(t, "without git", second, tip)
	r.git("pack-refs", "--all")
	look(second, nil, second)
	r.git("reset", "-q", "--hard", first)
	look(second, ErrRewritten, first)
	look(strings.Repeat("1", 40), ErrRewritten, first)
	r.git("checkout", "-q", "--detach")
	r.git("branch", "-q", "-D", "main")
	look(first, ErrDeleted, "")
}

// TestLog names who brought what to a branch, a task or a person.
func TestLog(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	first := r.head()
	r.write("a", "1\n", "b", "1\n")
	r.git("add", "-A")
	r.git("-c", "user.name=Jane", "commit", "-qm", "By hand")
	r.write("a", "2\n")
	r.git("commit", "-qam", Message{Title: "By an agent", Task: "t-1", Attempt: "a-1"}.String())
	who := func(not, in string, files ...string) (list []string) {
		t.Helper()
		commits, err := Log(t.Context(), r.Repo, not, in, files...)
		check.OK(t, err)
		for _, c := range commits {
			list = append(list, c.Who()+": "+c.Title)
		}
		return list
	}
	check.Equal(t, "all", []string{"t-1: By an agent", "Jane: By hand"}, who(first, "main"))
	check.Equal(t, "of a file", []string{"Jane: By hand"}, who(first, "main", "b"))
	check.Equal(t, "of a name that is a pattern", []string(nil), who(first, "main", "*"))
	check.Equal(t, "the other way", []string(nil), who("main", first))
	patch, err := Change(t.Context(), r.Repo, r.head(), "a")
	check.OK(t, err)
	check.Contains(t, "patch", "-1\n+2\n", patch)
}

func TestRefs(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	head := r.head()
	work := r.with(head, "new", "n")
	one, two := WorkRef("t-1", "a-1"), CandidateRef("a-1")
	check.OK(t, SetRefs(t.Context(), r.Repo, Ref{one, work}, Ref{two, head}))
	list := func() []Ref {
		t.Helper()
		refs, err := ListRefs(t.Context(), r.Repo)
		check.OK(t, err)
		return refs
	}
	check.Equal(t, "all", []Ref{{"refs/ralph/candidate/a-1", head}, {"refs/ralph/work/t-1/a-1", work}}, list())
	kept, err := Kept(t.Context(), r.Repo)
	check.OK(t, err)
	check.Equal(t, "work", map[string]string{"a-1": one}, kept)
	r.git("reflog", "expire", "--expire=now", "--all")
	r.git("gc", "-q", "--prune=now")
	check.Equal(t, "kept", "commit", r.git("cat-file", "-t", work))
	check.Err(t, "foreign", "not below", SetRefs(t.Context(), r.Repo, Ref{main, ""}))
	check.Err(t, "not a name", "update-ref", SetRefs(t.Context(), r.Repo, Ref{Refs + "work/a b", work}))
	for range 2 {
		check.OK(t, SetRefs(t.Context(), r.Repo, Ref{one, ""}, Ref{two, ""}))
		check.Equal(t, "deleted", []Ref(nil), list())
	}
}

// TestLocksThatAKilledGitLeft are in nobody's way: refs can be set and deleted.
func TestLocksThatAKilledGitLeft(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	one, two := WorkRef("t-1", "a-1"), CandidateRef("a-1")
	locks := func() string { return r.git("-c", "alias.locks=!find .git/refs/ralph -name '*.lock'", "locks") }
	for range 2 {
		r.write(".git/"+one+".lock", "", ".git/"+WorkRef("t-2", "a-2")+".lock", "")
		check.OK(t, SetRefs(t.Context(), r.Repo, Ref{one, r.head()}, Ref{two, r.head()}))
		check.Equal(t, "locks", "", locks())
		r.git("pack-refs", "--all") // a person may do so
		check.OK(t, SetRefs(t.Context(), r.Repo, Ref{one, r.head()}))
		check.OK(t, SetRefs(t.Context(), r.Repo, Ref{one, ""}, Ref{two, ""}))
		check.Equal(t, "refs", "", r.git("for-each-ref", "refs/ralph"))
	}
	// Nobody else's refs are locked.
	check.OK(t, SetRefs(t.Context(), r.Repo, Ref{one, r.head()}))
	r.write(".git/packed-refs.lock", "")
	check.OK(t, SetRefs(t.Context(), r.Repo, Ref{one, ""}))
	check.Equal(t, "refs", "", r.git("for-each-ref", "refs/ralph"))
}

func TestMessage(t *testing.T) {
	t.Parallel()
	m := Message{
		Title: "Write\nthe  parser\x1b[1m\u202e", Task: "t-1", Attempt: "a-1", Patch: "abc", Agent: "claude\nRalph-Task: t-9", Model: "big",
		Body: "\r\n\nIt parses.\r\n\n\n\nRalph-Task: t-2\nralph-patch: x\n---\nAssisted-By: me\x00\nSigned-off-by: x\n\n",
	}
	want := `Write the parser[1m

It parses.

> Ralph-Task: t-2
> ralph-patch: x
> ---
> Assisted-By: me
Signed-off-by: x

Ralph-Task: t-1
Ralph-Attempt: a-1
Ralph-Patch: abc
Assisted-by: claude Ralph-Task: t-9 (big)
`
	check.Equal(t, "message", want, m.String())
	check.Equal(t, "nothing", "Untitled\n", Message{}.String())
	check.Equal(t, "a title", "t-1\n\nRalph-Task: t-1\n", Message{Title: " \n", Task: "t-1"}.String())

	r := newRepo(t)
	base := r.head()
	b, err := Build(t.Context(), r.Repo, base, base, r.with(base, "new", "n"), m.String())
	check.OK(t, err)
	check.Equal(t, "as git reads it", "t-1", r.git("show", "-s", "--format=%(trailers:key=Ralph-Task,valueonly,separator=%x2C)", b.Candidate))
	check.Equal(t, "as it was", want, r.git("show", "-s", "--format=%B", b.Candidate))
}
