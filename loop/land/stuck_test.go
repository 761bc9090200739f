package land

import (
	"testing"

	"ralph/internal/testing/check"
)

// TestALandingThatFailsTwiceAlikeIsStuck, and one that lands in between, or another reason, is a new beginning.
func TestALandingThatFailsTwiceAlikeIsStuck(t *testing.T) {
	t.Parallel()
	var s stuck
	for i, c := range []struct {
		reason string
		again  bool
	}{{"full", false}, {"full", true}, {"full", true}, {"broken", false}, {"", false}, {"broken", false}, {"broken", true}} {
		check.That(t, s.again(c.reason) == c.again, "%d: %q is not what it was", i, c.reason)
	}
}
