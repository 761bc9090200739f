package sandbox

import (
	"os"
	"path/filepath"
	"testing"
)

// TestOnlyAPrivateRecordIsBelieved: everybody can make a folder in the temporary one and
// name it as ralph does, and have recovery end processes by what it says.
func TestOnlyAPrivateRecordIsBelieved(t *testing.T) {
	t.Parallel()
	parent := t.TempDir()
	own, shared, link := filepath.Join(parent, "own"), filepath.Join(parent, "shared"), filepath.Join(parent, "link")
	for dir, mode := range map[string]os.FileMode{own: 0o700, shared: 0o755} {
		if err := os.Mkdir(dir, mode); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, recordName), []byte(`{"owner":"me"}`), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(own, link); err != nil {
		t.Fatal(err)
	}
	if r, err := readRecord(own); err != nil || r.Owner != "me" {
		t.Errorf("its own: %+v, %v", r, err)
	}
	for _, dir := range []string{shared, link} {
		if r, err := readRecord(dir); err == nil {
			t.Errorf("%s: %+v", dir, r)
		}
	}
}
