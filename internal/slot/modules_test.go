package slot

import (
	"strings"
	"testing"

	"ralph/internal/git"
	"ralph/internal/testing/check"
)

// TestASubmoduleIsBrought to slots and rooms, with what is in it and without a network, at the commit that each tree names.
func TestASubmoduleIsBrought(t *testing.T) {
	t.Parallel()
	deep, lib, r := newRepo(t), newRepo(t), newRepo(t)
	deep.commit("d", "d")
	lib.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", deep.dir, "deep")
	one := lib.commit("l", "l1", ".gitignore", "built\n")
	r.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", lib.dir, "sub/lib")
	r.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "update", "--init", "--recursive")
	first := r.commit("a", "a")
	lib.commit("l", "l2")
	r.git("-C", "sub/lib", "pull", "-q")
	second := r.commit("a", "b")
	r.sh("echo uncommitted > sub/lib/l")
	for _, dir := range []string{deep.dir, lib.dir} { // nothing is fetched
		repo{t, dir}.sh("mv .git gone")
	}
	p := open(t, r, nil)
	s, at := take(t, p, 1, first)
	check.Equal(t, "its files", "l1 d", at.sh("cat sub/lib/l; echo -n ' '; cat sub/lib/deep/d"))
	wantClean(t, at, first)
	check.Equal(t, "its commit", one, at.git("-C", "sub/lib", "rev-parse", "HEAD"))
	check.Equal(t, "git in it", "", at.git("-C", "sub/lib", "status", "--porcelain"))
	check.Equal(t, "its history", "work", at.git("-C", "sub/lib", "log", "--format=%s"))
	check.Equal(t, "nothing is work", first, keep(t, s, first).Commit)
	check.OK(t, s.Show(t.Context(), second, second))
	check.Equal(t, "of another commit", "l2", at.text("sub/lib/l"))
	wantClean(t, at, second)

	at.sh("echo mine > sub/lib/l; echo mine > sub/lib/new")
	check.Equal(t, "left out", []git.Left{{Path: "sub/lib", Why: whySubmodule}}, keep(t, s, second).Left)
	_, at = take(t, p, 1, second)
	check.Equal(t, "the next attempt has", "l2", at.text("sub/lib/l"))
	check.That(t, !at.has("sub/lib/new"), "what the last attempt left is there")
	at.sh("rm -rf sub/lib; ln -s /tmp sub/lib")
	_, at = take(t, p, 1, second)
	check.Equal(t, "after it was replaced", "l2", at.text("sub/lib/l"))
	wantClean(t, at, second)

	room := p.Room(1)
	check.OK(t, room.Show(t.Context(), first, first))
	check.Equal(t, "in a room", "l1", repo{t, room.Top()}.text("sub/lib/l"))
	check.OK(t, room.Show(t.Context(), first, second))
	check.Equal(t, "in a room, of another commit", "l2", repo{t, room.Top()}.text("sub/lib/l"))

	r.sh("git update-index --cacheinfo 160000," + first + ",sub/lib; git commit -qm missing") // of another repository
	var lines []string
	p.OnLeftOut(func(line string) { lines = append(lines, line) })
	missing := r.git("rev-parse", "HEAD")
	_, at = take(t, p, 1, missing)
	check.Equal(t, "a commit that is not here", "", at.sh("ls -A sub/lib"))
	check.Equal(t, "lines", []string{"slots do not have the submodule sub/lib: its commit " + first[:10] + " is not here; git submodule update gets it"}, lines)
}

// TestASubmoduleMovesToACommitOfItsRemote, and to no other.
func TestASubmoduleMovesToACommitOfItsRemote(t *testing.T) {
	t.Parallel()
	lib, r := newRepo(t), newRepo(t)
	lib.commit("l", "l1")
	r.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", lib.dir, "lib")
	first := r.commit("a", "a")
	r.git("-C", "lib", "config", "remote.origin.url", lib.dir)
	lib.git("checkout", "-qb", "next")
	next := lib.commit("l", "l2")
	tip := lib.commit("l", "l3")
	p := open(t, r, nil)
	s, at := take(t, p, 1, first)
	at.sh("cd lib; git fetch -q " + lib.dir + " next; git checkout -q " + next)
	theirs := r.git("-C", "lib", "for-each-ref")
	w := keep(t, s, first)
	check.Equal(t, "the person's refs", theirs, r.git("-C", "lib", "for-each-ref"))
	check.That(t, len(w.Left) == 0, "left out: %v", w.Left)
	check.Equal(t, "changes", "lib", r.git("diff", "--name-only", first, w.Commit))
	room := p.Room(1)
	check.OK(t, room.Show(t.Context(), first, w.Commit))
	check.Equal(t, "in the room", "l2", repo{t, room.Top()}.text("lib/l"))

	at.sh("cd lib; echo mine > l; git -c user.name=x -c user.email=x commit -qam mine")
	mine := at.git("-C", "lib", "rev-parse", "HEAD")
	want := git.Left{Path: "lib", Why: "its commit " + mine[:10] + " is not at its remote: push it there to a branch, or change the submodule in place"}
	w = keep(t, s, first)
	check.Equal(t, "left out, of the agent's own", []git.Left{want}, w.Left)
	check.Equal(t, "and nothing of it is kept", first, w.Commit)
	at.git("-C", "lib", "push", "-q", lib.dir, "HEAD:refs/heads/mine")
	check.Equal(t, "left out, once it is pushed", 0, len(keep(t, s, first).Left))

	at.git("-C", "lib", "checkout", "-q", next)
	lib.git("checkout", "-q", "main")
	lib.git("branch", "-q", "-D", "next", "mine")
	check.Equal(t, "left out, of a branch that is gone", 1, len(keep(t, s, first).Left))
	lib.git("tag", "-am", "v", "v1", tip)
	check.Equal(t, "left out, below a tag", 0, len(keep(t, s, first).Left))
	lib.sh("mv .git gone")
	left := keep(t, s, first).Left
	check.That(t, len(left) == 1 && strings.HasPrefix(left[0].Why, "whether its commit "+next[:10]+" is at its remote could not be asked"), "left out, without an answer: %v", left)
}
