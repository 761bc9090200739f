package sandbox

import (
	"os"
	"path/filepath"
	"testing"

	"ralph/internal/testing/check"
)

// TestOnlyAPrivateRecordIsBelieved: everybody can make a folder in the temporary one and
// name it as ralph does, and have recovery end processes by what it says.
func TestOnlyAPrivateRecordIsBelieved(t *testing.T) {
	t.Parallel()
	parent := t.TempDir()
	own, shared, link := filepath.Join(parent, "own"), filepath.Join(parent, "shared"), filepath.Join(parent, "link")
	for dir, mode := range map[string]os.FileMode{own: 0o700, shared: 0o755} {
		check.OK(t, os.Mkdir(dir, mode))
		check.OK(t, os.WriteFile(filepath.Join(dir, recordName), []byte(`{"owner":"me"}`), 0o600))
	}
	check.OK(t, os.Symlink(own, link))
	if r, err := readRecord(own); err != nil || r.Owner != "me" {
		t.Errorf("its own: %+v, %v", r, err)
	}
	for _, dir := range []string{shared, link} {
		if r, err := readRecord(dir); err == nil {
			t.Errorf("%s: %+v", dir, r)
		}
	}
}
