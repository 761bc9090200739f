package slot

import (
	"testing"

	"ralph/internal/testing/check"
)

// TestASlotWhoseWorkWasKeptIsLookedAtOnce: it has the files of that work already. Whatever has changed since, tracked or not, is found, and
// set back as ever.
func TestASlotWhoseWorkWasKeptIsLookedAtOnce(t *testing.T) {
	t.Parallel()
	for name, later := range map[string]struct {
		sh   string
		same bool
	}{
		"nothing":                       {"true", true},
		"an ignored file":               {"mkdir -p cache && echo warm > cache/d", true},
		"another file":                  {"echo left > left", false},
		"an empty folder":               {"mkdir left", false},
		"a file that git tracks":        {"echo other > b", false},
		"a file that is gone":           {"rm b", false},
		"a mode":                        {"chmod +x b", false},
		"a folder that became a link":   {"cp -rp sub copy && rm -r sub && ln -s copy sub", false},
		"a repository inside":           {"git init -q inner", false},
		"a file that looks as it did":   {"touch -r b at && echo B > b && touch -r at b && rm at", false},
		"a folder that cannot be read":  {"mkdir closed && chmod 0 closed", false},
		"the rules for what is ignored": {"echo left >> .gitignore && echo left > left", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRepo(t)
			r.write(".gitignore", "cache/\n", "a", "a", "b", "b\n", "sub/c", "c")
			first := r.commit()
			p := open(t, r, nil)
			s, at := take(t, p, 1, first)
			at.sh("mkdir -p new cache && echo 1 > new/a && echo changed > a && echo warm > cache/c")
			work := keep(t, s, first).Commit
			at.sh(later.sh)
			got := s.unchanged(t.Context())
			check.That(t, (got != "") == later.same, "the tree is %q", got)
			s.setIndexed(got) // as before the look
			_, at = take(t, p, 1, work)
			wantClean(t, at, work)
			check.Equal(t, "ignored files stay", "warm\n", at.text("cache/c"))
			_, at = take(t, p, 1, first) // without what came with the work
			wantClean(t, at, first)
		})
	}
}

// TestWhatIsNotIgnoredAnyMoreGoes: the rules came with the work, and go with it.
func TestWhatIsNotIgnoredAnyMoreGoes(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	first := r.commit("a", "a")
	p := open(t, r, nil)
	s, at := take(t, p, 1, first)
	at.sh("echo built > .gitignore && echo b > built")
	keep(t, s, first)
	_, at = take(t, p, 1, first)
	wantClean(t, at, first)
}
