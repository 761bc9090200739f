package slot

import (
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
		refs, err := s.Refs(t.Context(), first, earlier...)
		check.OK(t, err)
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

	at.sh("i=0; while [ $i -le 60 ]; do git tag many-$i; i=$((i+1)); done")
	check.Equal(t, "too many to be meant", 0, len(list()))
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
		"names that git does not take": "for n in x.lock ' x' -x .x x..y 'x;y' '$(x)' x@{1}; do git rev-parse HEAD > .git/refs/tags/\"$n\"; done",
		"no objects":                   "git tag x; mv .git/objects ../gone; ln -s ../../gone .git/objects",
	} {
		s, at := take(t, open(t, r, nil), 1, first)
		at.sh("mkdir -p .git/refs/tags; rm -rf ../other ../more ../gone; " + do)
		refs, err := s.Refs(t.Context(), first)
		check.OK(t, err)
		check.Equal(t, name, 0, len(refs))
	}
	s, at := take(t, open(t, r, nil), 1, first)
	at.sh("mkdir -p .git/refs/tags; echo " + strings.Repeat("1", 40) + " > .git/refs/tags/missing")
	refs, err := s.Refs(t.Context(), first)
	check.OK(t, err)
	check.That(t, s.Bring(t.Context(), first, refs) != nil, "an object that is not there was brought")
	_, err = r.try("cat-file", "-e", refs[0].ID)
	check.That(t, err != nil, "it is there now")
}
