package trust_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"ralph/internal/testing/check"
	"ralph/internal/trust"
)

// TestOnlyWhatWasSaidIsSealed, exactly as it was said, in a file that is the user's alone.
func TestOnlyWhatWasSaidIsSealed(t *testing.T) {
	t.Parallel()
	f := trust.Folder{Dir: filepath.Join(t.TempDir(), "trust", "shop")}
	check.That(t, !f.Sealed("q-1", "yes"), "sealed before it was said")
	check.OK(t, f.Seal("q-2", "yes"))
	check.OK(t, os.WriteFile(f.File("seals"), append(read(t, f.File("seals")), "torn"...), 0o600)) // as a full disk leaves it
	check.OK(t, f.Seal("q-1", "yes"))
	check.That(t, f.Sealed("q-1", "yes") && f.Sealed("q-2", "yes"), "not sealed")
	for _, other := range [][]string{{"q-1", "no"}, {"q-1"}, {"q-1", "yes", ""}, {"q-1yes"}, {`q-1" "yes`}, {}, {"q-3", "yes"}} {
		check.That(t, !f.Sealed(other...), "%q is sealed", other)
	}
	for path, want := range map[string]os.FileMode{f.Dir: 0o700, f.File("seals"): 0o600} {
		info, err := os.Stat(path)
		check.OK(t, err)
		check.Equal(t, path, want, info.Mode().Perm())
	}
}

// TestWithoutAFolderNothingIsSealed: the working folder would be the agent's.
func TestWithoutAFolderNothingIsSealed(t *testing.T) {
	t.Parallel()
	for _, f := range []trust.Folder{{}, {Dir: "trust"}} {
		check.That(t, errors.Is(f.Seal("x"), trust.ErrFolder) && !f.Sealed("x") && f.File("x") == "", "%+v", f)
	}
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	check.OK(t, err)
	return data
}
