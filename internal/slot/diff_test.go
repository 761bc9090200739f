package slot

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp/cmpopts"

	"ralph/internal/git"
	"ralph/internal/testing/check"
)

// TestWhatAnAgentHasChangedSoFar: what is shown is what would be kept, and looking changes neither the agent's index, nor ours, nor
// the repository.
func TestWhatAnAgentHasChangedSoFar(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	base := r.commit("kept", "1\n", "changed", "1\n2\n", "removed", "1\n", "old", "a\nb\nc\nd\n", ".gitignore", "ignored\n")
	p := open(t, r, nil)
	s, at := take(t, p, 1, base)
	at.sh(`printf '1\n3\n4\n' > changed; rm removed; git mv old new; echo x > untracked; echo x > ignored; printf '\0' > binary`)
	at.sh(`git add changed; git commit -qm mine; echo 5 >> changed`)
	before := []map[string]string{r.all(), at.all(), repo{t, p.o.State}.all()}
	d, err := p.Diff(t.Context(), 1, "a-1", 1<<20)
	check.OK(t, err)
	want := []git.Change{
		{Path: "binary", Kind: git.Added, Binary: true},
		{Path: "changed", Kind: git.Modified, Added: 3, Removed: 1},
		{Path: "new", Old: "old", Kind: git.Renamed},
		{Path: "removed", Kind: git.Deleted, Removed: 1},
		{Path: "untracked", Kind: git.Added, Added: 1},
	}
	check.Equal(t, "changes", want, d.Changes, cmpopts.IgnoreFields(git.Change{}, "Patch"))
	check.That(t, strings.Contains(d.Patch, "\n+5\n"), "got the patch %s", d.Patch)
	check.Equal(t, "everything", before, []map[string]string{r.all(), at.all(), repo{t, p.o.State}.all()})
	kept := keep(t, s, base)
	now, err := p.o.Repo.Compare(t.Context(), base, kept.Commit, 1<<20)
	check.OK(t, err)
	check.Equal(t, "what is kept", now, d)
}

func TestNoOneElsesDiff(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	p := open(t, r, nil)
	_, err := p.Diff(t.Context(), 1, "a-1", 1<<20)
	check.That(t, errors.Is(err, os.ErrNotExist), "got %v; want that there is no slot", err)
	s, at := take(t, p, 1, r.commit("a", "1\n"))
	_, err = p.Diff(t.Context(), 1, "a-2", 1<<20)
	check.That(t, errors.Is(err, ErrOther), "got %v; want that it is another's", err)
	at.sh(`head -c 9000000 /dev/zero > large; seq 1 100000 > long; printf x > "$(printf 'a\033[2J\nb')"`)
	d, err := p.Diff(t.Context(), 1, "a-1", 1<<10)
	check.OK(t, err)
	check.That(t, d.Cut && len(d.Patch) <= 1<<10, "got %d bytes; want at most 1024", len(d.Patch))
	check.Equal(t, "left", []git.Left{{Path: "large", Why: "the file is too large"}}, d.Left)
	check.OK(t, s.begin()) // the run sets its files
	_, err = p.Diff(t.Context(), 1, "a-1", 1<<20)
	check.That(t, errors.Is(err, os.ErrNotExist), "got %v; want that the slot is not whole", err)
}
