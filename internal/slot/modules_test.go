package slot

import (
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
