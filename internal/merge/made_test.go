package merge

import (
	"strings"
	"testing"

	"ralph/internal/git"
	"ralph/internal/testing/check"
)

// TestWriteRefs: what exists is never overwritten, what was changed since is not deleted, and doing it again changes nothing.
func TestWriteRefs(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	one := r.git("rev-parse", "HEAD")
	r.write("a.txt", "2")
	two := r.commit()
	r.git("tag", "there", one)
	refs := []Written{{Name: "refs/tags/new", Value: two}, {Name: "refs/tags/there", Value: two}, {Name: "refs/heads/side", Value: one}}
	for range 2 {
		err := WriteRefs(background, r.Repo, refs)
		check.That(t, err != nil && strings.Contains(err.Error(), "refs/tags/there: it exists already"), "got %v, want it to say what exists", err)
		check.Equal(t, "refs", []string{one, two, one}, strings.Fields(r.git("rev-parse", "side", "new", "there")))
	}
	r.git("branch", "-f", "side", two)
	for range 2 {
		check.OK(t, WriteRefs(background, r.Repo, []Written{{Name: "refs/tags/new", Value: two, Gone: true}, {Name: "refs/heads/side", Value: one, Gone: true}}))
		check.Equal(t, "what is left", "refs/heads/main refs/heads/side refs/tags/there", strings.Join(strings.Fields(r.git("for-each-ref", "--format=%(refname)")), " "))
	}
	r.git("checkout", "-q", "side")
	err := WriteRefs(background, r.Repo, []Written{{Name: "refs/heads/side", Value: two, Gone: true}})
	check.That(t, err != nil && strings.Contains(err.Error(), "checked out"), "got %v, want that it is checked out", err)
}

// TestWhatAMadeRefLandsOn: a tag of the work is one of what landed, with its text; any other stays as it is.
func TestWhatAMadeRefLandsOn(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	one := r.git("rev-parse", "HEAD")
	r.write("a.txt", "2")
	two := r.commit()
	r.git("tag", "-a", "v1", "-m", "the text\n\nof it", one)
	tag := r.git("rev-parse", "v1")
	landed := func(m Made) string {
		t.Helper()
		id, err := m.Landed(background, r.Repo, two)
		check.OK(t, err)
		return id
	}
	check.Equal(t, "another commit", one, landed(Made{ID: one}))
	check.Equal(t, "the work", two, landed(Made{ID: one, Own: true}))
	check.Equal(t, "a tag of another commit", tag, landed(Made{ID: tag}))
	moved := landed(Made{ID: tag, Own: true})
	check.Equal(t, "a tag of the work", two, r.git("rev-parse", moved+"^{commit}"))
	check.Equal(t, "its text", strings.ReplaceAll(r.git("cat-file", "tag", tag), one, two), r.git("cat-file", "tag", moved))
	check.Equal(t, "the same again", moved, landed(Made{ID: tag, Own: true}))
	signed, err := r.Git(background, git.Call{In: strings.NewReader(r.git("cat-file", "tag", tag) + "\n-----BEGIN PGP SIGNATURE-----\nx\n-----END PGP SIGNATURE-----\n")}, "hash-object", "-t", "tag", "-w", "--stdin")
	check.OK(t, err)
	check.Equal(t, "without its signature", moved, landed(Made{ID: strings.TrimSpace(signed), Own: true}))
}

// TestMadeRefs are known by attempt.
func TestMadeRefs(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	one := r.git("rev-parse", "HEAD")
	want := []Made{{Name: "refs/heads/a/b", ID: one}, {Name: "refs/tags/v1.2", ID: one, Own: true}}
	for _, m := range want {
		check.OK(t, SetRefs(background, r.Repo, Ref{Name: MadeRef(m, "a-1"), Commit: m.ID}))
	}
	got, err := MadeBy(background, r.Repo)
	check.OK(t, err)
	check.Equal(t, "made", map[string][]Made{"a-1": want}, got)
}
