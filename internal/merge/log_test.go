package merge

import (
	"path/filepath"
	"strings"
	"testing"

	"ralph/internal/testing/check"
)

// TestAuthorsArePeopleAndAgents: an agent's commit has a person's name, and says in a trailer whose work it is.
func TestAuthorsArePeopleAndAgents(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	first := r.git("rev-parse", "HEAD")
	n := 0
	change := func(name, file, trailer string) {
		n++
		r.write(file, strings.Repeat("line\n", n))
		r.git("add", "-A")
		r.git("-c", "user.name="+name, "commit", "-q", "-m", "Change\n\n"+trailer)
	}
	change("Bob", "sub/b.txt", "")
	change("A Person", "sub/b.txt", "Assisted-by: claude (opus)")
	change("A Person", "sub/b.txt", "Assisted-by: claude (opus)")
	middle := r.git("rev-parse", "HEAD")
	change("Cem", "sub/ü c.txt", "")
	by := Authors{}
	check.OK(t, by.Read(t.Context(), r.Repo, "", middle, r.dir))
	check.Equal(t, "authors", Authors{
		"a.txt": {"A Person": true}, "sub/b.txt": {"A Person": true, "Bob": true, "claude (opus)": true},
	}, by)
	check.OK(t, by.Read(t.Context(), r.Repo, middle, main, r.dir))
	check.Equal(t, "who came since", map[string]bool{"Cem": true}, by["sub/ü c.txt"])

	inside := Authors{}
	check.OK(t, inside.Read(t.Context(), r.Repo, first, main, filepath.Join(r.dir, "sub")))
	check.Equal(t, "authors below a folder", Authors{"b.txt": {"Bob": true, "claude (opus)": true}, "ü c.txt": {"Cem": true}}, inside)
	check.That(t, by.Read(t.Context(), r.Repo, strings.Repeat("1", 40), main, r.dir) != nil, "a commit that is gone is no error")
}

// TestSizesOfCommits: in one call, with binary files, the first commit and one that is gone.
func TestSizesOfCommits(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	first := r.git("rev-parse", "HEAD")
	r.write("a.txt", "1\n2\n", "logo.png", "\x00\x01\x02")
	r.commit()
	second, gone := r.git("rev-parse", "HEAD"), strings.Repeat("1", 40)
	r.git("mv", "sub/b.txt", "sub/c.txt")
	r.commit()
	third := r.git("rev-parse", "HEAD")
	sizes, err := Sizes(t.Context(), r.Repo, r.dir, []string{first, gone, third, second})
	check.OK(t, err)
	check.Equal(t, "sizes", map[string]Size{
		first: {Files: []string{"a.txt", "sub/b.txt"}, Lines: 10}, second: {Files: []string{"a.txt", "logo.png"}, Lines: 7},
		third: {Files: []string{"sub/c.txt"}},
	}, sizes)
	there, err := Existing(t.Context(), r.Repo, []string{first, gone, "nonsense", r.git("rev-parse", "HEAD^{tree}"), second})
	check.OK(t, err)
	check.Equal(t, "commits that exist", []string{first, second}, there)
	none, err := Sizes(t.Context(), r.Repo, r.dir, []string{gone})
	check.OK(t, err)
	check.Equal(t, "sizes of nothing", map[string]Size(nil), none)
}
