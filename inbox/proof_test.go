package inbox_test

import (
	"os"
	"path/filepath"
	"testing"

	"ralph/inbox"
	"ralph/internal/testing/check"
)

// TestOnlyTheAnswerThatWasGivenIsProven, whoever reads the file, and none where there is no file.
func TestOnlyTheAnswerThatWasGivenIsProven(t *testing.T) {
	t.Parallel()
	p := inbox.Proofs{Path: filepath.Join(t.TempDir(), "answers", "shop")}
	given := inbox.Request{ID: "q-00000001", Answer: "yes"}
	check.That(t, !p.Has(given), "proven before it was given")
	check.OK(t, p.Add(inbox.Request{ID: "q-00000002", Answer: "yes"}))
	check.OK(t, p.Add(given))
	check.That(t, p.Has(given), "not proven")
	for _, other := range []inbox.Request{{ID: "q-00000001", Answer: "no"}, {ID: "q-00000001", Answer: "yes", Denied: true}, {ID: "q-00000003", Answer: "yes"}, {}} {
		check.That(t, !p.Has(other), "%+v is proven", other)
	}
	info, err := os.Stat(p.Path)
	check.That(t, err == nil && info.Mode().Perm() == 0o600, "got %v, %v", info, err)
	check.Err(t, "without a home", "HOME", inbox.Proofs{Path: "answers"}.Add(given))
}
