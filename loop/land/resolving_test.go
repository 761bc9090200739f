package land

import (
	"testing"

	"ralph/internal/testing/check"
)

func TestConflictsInOneFileAreResolvedOneAfterAnother(t *testing.T) {
	t.Parallel()
	var r resolving
	check.That(t, r.take("a1", "one", "two"), "files that nobody has are to be had")
	check.That(t, r.take("a1", "one", "two"), "whoever has them keeps them")
	check.That(t, !r.take("a2", "two", "three"), "one of them is taken")
	check.That(t, r.take("a3", "three"), "whoever waits has nothing")
	check.That(t, !r.take("a1", "three"), "another conflict is another wait")
	check.That(t, r.take("a2", "one", "two"), "and leaves what it was about to others")
	check.That(t, r.take("a2") && r.take("a1", "one"), "whoever is done leaves everything")
}
