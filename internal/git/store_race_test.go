package git

import (
	"path/filepath"
	"sync"
	"testing"
)

// TestManyMayTakeTheFirstTreeAtOnce: of several workers each finds the store
// finished, whoever made it.
func TestManyMayTakeTheFirstTreeAtOnce(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	r.write("a", "x")
	for range 5 {
		objects := filepath.Join(t.TempDir(), "below", "objects")
		var all sync.WaitGroup
		for range 6 {
			all.Go(func() {
				if _, err := Tree(t.Context(), r.dir, objects); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if left, _ := filepath.Glob(filepath.Join(filepath.Dir(objects), "trees-*")); len(left) > 0 {
			t.Errorf("left behind: %v", left)
		}
	}
}
