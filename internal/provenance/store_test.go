package provenance_test

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"ralph/internal/provenance"
	"ralph/internal/testing/check"
)

// TestOnlyWhatWasSaidIsSealed, exactly as it was said, in a file that is the user's alone.
func TestOnlyWhatWasSaidIsSealed(t *testing.T) {
	t.Parallel()
	f := provenance.Store{Dir: filepath.Join(t.TempDir(), "trust", "shop")}
	check.That(t, !f.Sealed("q-1", "yes"), "sealed before it was said")
	check.OK(t, f.Seal("q-2", "yes"))
	check.OK(t, os.WriteFile(f.File("seals"), append(read(t, f.File("seals")), "torn"...), 0o600)) // as a full disk leaves it
	check.OK(t, f.Seal("q-1", "yes"))
	check.That(t, f.Sealed("q-1", "yes") && f.Sealed("q-2", "yes"), "not sealed")
	for _, other := range [][]string{{"q-1", "no"}, {"q-1"}, {"q-1", "yes", ""}, {"q-1yes"}, {`q-1" "yes`}, {""}, {"q-3", "yes"}} {
		check.That(t, !f.Sealed(other[0], other[1:]...), "%q is sealed", other)
	}
	for path, want := range map[string]os.FileMode{f.Dir: 0o700, f.File("seals"): 0o600} {
		info, err := os.Stat(path)
		check.OK(t, err)
		check.Equal(t, path, want, info.Mode().Perm())
	}
}

// TestTheLastSealOfASubjectCounts: an answer that a person has changed is none any more, though an agent writes it back.
func TestTheLastSealOfASubjectCounts(t *testing.T) {
	t.Parallel()
	f := provenance.Store{Dir: t.TempDir()}
	older := "\n" + fmt.Sprintf("%x", sha256.Sum256([]byte(`["answer" "q-1" "yes"]`))) + "\n" // of a ralph that noted no subjects
	check.OK(t, os.WriteFile(f.File("seals"), []byte(older), 0o600))
	said := func(answer string) bool { return f.Sealed("answer q-1", "answer", "q-1", answer) }
	check.That(t, said("yes") && !said("no"), "what an older ralph sealed")
	check.OK(t, f.Seal("answer q-1", "answer", "q-1", "no"))
	check.OK(t, f.Seal("answer q-2", "answer", "q-2", "yes"))
	check.That(t, said("no") && !said("yes"), "changed")
	check.OK(t, f.Seal("answer q-1", "answer", "q-1", "yes"))
	check.That(t, said("yes") && !said("no"), "changed back")
	whole := read(t, f.File("seals"))
	check.OK(t, os.WriteFile(f.File("seals"), whole[:len(whole)-9], 0o600))
	check.That(t, !said("yes") && !said("no"), "a torn seal counts, or lets what it replaced count")
}

// TestWithoutAFolderNothingIsSealed: the working folder would be the agent's.
func TestWithoutAFolderNothingIsSealed(t *testing.T) {
	t.Parallel()
	for _, f := range []provenance.Store{{}, {Dir: "trust"}} {
		check.That(t, errors.Is(f.Seal("x"), provenance.ErrStore) && !f.Sealed("x") && f.File("x") == "", "%+v", f)
	}
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	check.OK(t, err)
	return data
}
