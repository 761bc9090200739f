package loop

import (
	"os"
	"path/filepath"
	"testing"

	"ralph/dag"
	"ralph/internal/provenance"
	"ralph/internal/testing/check"
	"ralph/loop/attempt"
	"ralph/sigils"
	"ralph/verify"
)

// TestNoAgentSparesItsWorkChecks by writing what its attempt, or another one, left for the verification. What an older ralph left is read, too.
func TestNoAgentSparesItsWorkChecks(t *testing.T) {
	t.Parallel()
	runs, trust := t.TempDir(), provenance.Store{Dir: filepath.Join(t.TempDir(), "trust")}
	mine, other := dag.Attempt{ID: "a-1"}, dag.Attempt{ID: "a-2"}
	good := attempt.Finished{
		Stop: "end_turn", Evident: true, Patch: "p", Trees: [2]string{"1", "2"}, Set: sigils.Set{Done: true, Split: true, Journal: "j"}, Gates: []verify.Check{{}},
	}
	said := attempt.Finished{Stop: "end_turn", Set: sigils.Set{Done: true, Journal: "j"}}
	want := func(name string, trust provenance.Store, a dag.Attempt, f attempt.Finished, spares bool) {
		t.Helper()
		got, spared, err := readFinished(trust, runs, a)
		check.OK(t, err)
		check.Equal(t, name, [2]any{f, spares}, [2]any{got, spared})
	}
	check.OK(t, writeFinished(trust, filepath.Join(runs, mine.ID), &good))
	want("as it was written", trust, mine, good, false)
	want("without a folder, or from a ralph that sealed nothing", provenance.Store{}, mine, said, true)
	path := func(a dag.Attempt) string { return filepath.Join(runs, a.ID, finishedFile) }
	whole, err := os.ReadFile(path(mine))
	check.OK(t, err)

	check.OK(t, writeFinished(trust, filepath.Join(runs, other.ID), &said))
	want("nothing to spare", trust, other, said, false)
	check.OK(t, os.WriteFile(path(other), whole, 0o600))
	want("that of another attempt", trust, other, said, true)
	check.OK(t, writeFinished(trust, filepath.Join(runs, mine.ID), &said))
	check.OK(t, os.WriteFile(path(mine), whole, 0o600))
	want("what it wrote before", trust, mine, said, true)
}
