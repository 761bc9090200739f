package slot

import (
	"slices"
	"strings"
	"testing"

	"ralph/internal/testing/check"
)

// TestRefsAnAttemptMade are those that were not in its slot before, however they are stored, and what they point at.
func TestRefsAnAttemptMade(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	first := r.commit("a", "1\n")
	r.git("tag", "old")
	s, at := take(t, open(t, r, nil), 1, first)
	list := func(earlier ...string) (refs []MadeRef) {
		t.Helper()
		refs, err := s.Refs(t.Context(), earlier...)
		check.OK(t, err)
		check.OK(t, s.Describe(t.Context(), first, refs))
		return refs
	}
	check.Equal(t, "of an attempt that made none", 0, len(list()))
	at.sh("git tag at-base; echo 2 > a; git commit -qam two; git tag -a own -m text; git branch side; git tag -f old; git pack-refs --all; git tag blob $(git rev-parse HEAD:a)")
	refs := list()
	var got []string
	for _, m := range refs {
		is := m.Name
		if m.Known {
			is += " known"
		}
		if m.Tree != "" && m.Tree == at.sh("git rev-parse HEAD^{tree}") {
			is += " work"
		}
		got = append(got, is)
	}
	check.Equal(t, "made", []string{"refs/heads/side work", "refs/tags/at-base known", "refs/tags/blob", "refs/tags/own work"}, got)
	check.OK(t, s.Bring(t.Context(), first, refs))
	check.Equal(t, "the annotated tag, in the repository", "tag", r.git("cat-file", "-t", refs[3].ID))
	check.Equal(t, "its commit", "2", r.git("show", refs[3].ID+"^{commit}:a"))
	at.sh("git tag -d at-base blob own; git branch -D side")
	check.Equal(t, "after it deleted them", 0, len(list()))

	check.OK(t, s.GiveRefs(map[string]string{"refs/tags/again": refs[3].ID}))
	check.Equal(t, "what an earlier attempt made", "tag", at.sh("git cat-file -t again"))
	check.Equal(t, "one that is in the project by now", 2, len(list("refs/tags/old")))

	at.sh("for n in 'x;y' '$(x)' ü a/@b heads/main refs/x HEAD; do git rev-parse HEAD > .git/refs/tags/y; git update-ref \"refs/tags/$n\" HEAD; done; git tag v1.0/a+b_c-d@e")
	for _, m := range list() {
		check.Equal(t, m.Name+" can be made", slices.Contains([]string{"refs/tags/again", "refs/tags/v1.0/a+b_c-d@e", "refs/tags/y"}, m.Name), m.Unfit() == "")
	}
}

// TestARoomShowsTheRefsOfWork as long as it is given some: nothing of other work stays.
func TestARoomShowsTheRefsOfWork(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	first := r.commit("a", "1\n")
	r.git("tag", "old")
	second := r.commit("a", "2\n")
	p := open(t, r, nil)
	room := p.Room(1)
	at := repo{t, room.Top()}
	check.OK(t, room.Show(t.Context(), first, second))
	for _, want := range []struct {
		made  map[string]string
		shown string
	}{
		{nil, "old"},
		{map[string]string{"refs/tags/new": second, "refs/heads/aaa/b": first}, "aaa/b new old"},
		{map[string]string{"refs/tags/old": ""}, ""},
		{map[string]string{"refs/tags/old": second}, "old"},
		{nil, "old"},
	} {
		check.OK(t, room.SetRefs(t.Context(), want.made))
		got := at.sh("git for-each-ref --format='%(refname:short)' refs/tags refs/heads/aaa")
		check.Equal(t, "shown", want.shown, strings.Join(strings.Fields(got), " "))
		if id := want.made["refs/tags/old"]; id != "" {
			check.Equal(t, "one that the work makes again", id, at.sh("git rev-parse old"))
		}
	}
	check.Equal(t, "the project's", first, at.sh("git rev-parse old"))
	r.git("tag", "later")
	check.OK(t, room.SetRefs(t.Context(), map[string]string{"refs/tags/new": second}))
	check.Equal(t, "one that the project has by now", second, at.sh("git rev-parse later"))
}

// TestRefsThatLeadElsewhere: nothing comes into the project that the slot's git could not see.
func TestRefsThatLeadElsewhere(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	first := r.commit("a", "1\n")
	for name, do := range map[string]string{
		"objects of another repository": "git init -q ../other; cd ../other; git -c user.name=x -c user.email=x commit -q --allow-empty -m secret; cd -; " +
			"echo $PWD/../other/.git/objects >> .git/objects/info/alternates; git -C ../other rev-parse HEAD > .git/refs/tags/x",
		"a ref that is a link":         "ln -s /etc/passwd .git/refs/tags/x",
		"no ID":                        "echo --output=/tmp/x > .git/refs/tags/x",
		"a folder elsewhere":           "rm -rf .git/refs/tags; git init -q ../more; git -C ../more -c user.name=x -c user.email=x commit -q --allow-empty -m x; ln -s ../../../more/.git/refs/heads .git/refs/tags",
		"names that git does not take": "for n in x.lock ' x' .x x..y x@{1}; do git rev-parse HEAD > .git/refs/tags/\"$n\"; done",
		"no objects":                   "git tag x; mv .git/objects ../gone; ln -s ../../gone .git/objects",
	} {
		s, at := take(t, open(t, r, nil), 1, first)
		at.sh("mkdir -p .git/refs/tags; rm -rf ../other ../more ../gone; " + do)
		refs, err := s.Refs(t.Context())
		check.OK(t, err)
		check.Equal(t, name, 0, len(refs))
	}
	s, at := take(t, open(t, r, nil), 1, first)
	at.sh("mkdir -p .git/refs/tags; echo " + strings.Repeat("1", 40) + " > .git/refs/tags/missing")
	refs, err := s.Refs(t.Context())
	check.OK(t, err)
	check.That(t, s.Bring(t.Context(), first, refs) != nil, "an object that is not there was brought")
	_, err = r.try("cat-file", "-e", refs[0].ID)
	check.That(t, err != nil, "it is there now")
}
