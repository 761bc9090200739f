package attempt

import (
	"testing"

	"ralph/internal/testing/check"
)

// TestChangedLinesAreThoseOfHunks: what is said of a file begins with the same signs.
func TestChangedLinesAreThoseOfHunks(t *testing.T) {
	t.Parallel()
	for patch, want := range map[string]int{
		"": 0,
		"diff --git a/logo.png b/logo.png\nBinary files /dev/null and b/logo.png differ\n": 0,
		"diff --git a/a b/a\nold mode 100644\nnew mode 100755\n":                           0,
		"diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -1,2 +1,2 @@\n one\n-two\n+three\n":      2,
		"diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -1 +1 @@\n--- a rule\n+++ another\n\\ No newline at end of file\n" +
			"diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -0,0 +1 @@\n+x\n": 3,
	} {
		check.Equal(t, "lines of "+patch, want, changedLines(patch))
	}
}
