package sandbox

import (
	"path/filepath"
	"testing"

	"ralph/internal/testing/check"
)

// TestWhatLandlockCannotHideIsSaid: a folder that is to be hidden is open there if it lies in one that agents may write.
func TestWhatLandlockCannotHideIsSaid(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	inside, outside := filepath.Join(home, "proj", "state"), filepath.Join(home, "state")
	for level, want := range map[Level]int{Landlock: 1, Namespaces: 0, None: 0} {
		c := &Confiner{tree: filepath.Join(home, "proj"), write: []string{filepath.Join(home, "cache")}, hide: []string{inside, outside}}
		c.Work.Level = level
		check.Equal(t, level.String(), want, len(c.Exposed()))
	}
	c := &Confiner{tree: filepath.Join(home, "proj"), write: []string{home}, hide: []string{outside}}
	c.Work.Level = Landlock
	check.Equal(t, "[sandbox] write", 1, len(c.Exposed()))
}
