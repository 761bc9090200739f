package attempt

import (
	"strings"
	"testing"

	"ralph/internal/git"
	"ralph/internal/testing/check"
	"ralph/risk"
)

// TestWorkThatCannotBeComparedIsRisky: nothing that nobody could see lands where a person looks at what is risky.
func TestWorkThatCannotBeComparedIsRisky(t *testing.T) {
	t.Parallel()
	a := &attempt{}
	a.evidence.trees.Dir = t.TempDir()
	a.evidence.compared = map[[2]string]git.Difference{}
	a.evidence.base.Tree, a.evidence.candidate = strings.Repeat("1", 40), strings.Repeat("2", 40)
	seen := a.facts(t.Context())
	check.That(t, seen.Unseen != "", "nothing says that it cannot be seen: %+v", seen)
	check.Equal(t, "risk", 1.0, risk.Of(seen).Risk)
}
