//go:build unix

package git

import (
	"os"
	"path/filepath"
	"testing"

	"ralph/internal/testing/check"
)

// TestLookingRunsNothingOfTheRepository: an agent can write filters into the
// configuration of a repository, or of one inside it, and ralph is not confined.
func TestLookingRunsNothingOfTheRepository(t *testing.T) {
	t.Parallel()
	for name, inner := range map[string]string{"of its own": ".", "of one inside": "n"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRepo(t)
			marker := filepath.Join(t.TempDir(), "ran")
			place := r
			if inner != "." {
				place = repo{t, filepath.Join(r.dir, inner)}
				check.OK(t, os.MkdirAll(place.dir, 0o700))
				place.git("init", "-q")
			}
			place.write("a", "one")
			place.git("add", "-A")
			place.git("-c", "user.name=t", "-c", "user.email=t@localhost", "commit", "-qm", "first")
			if inner != "." {
				r.git("add", inner)
			}
			before := Look(t.Context(), r.dir)
			place.git("config", "filter.x.clean", "touch "+marker+"; cat")
			place.git("config", "filter.x.process", "touch "+marker)
			place.git("config", "filter.x.required", "true")
			check.OK(t, os.MkdirAll(filepath.Join(place.dir, ".git", "info"), 0o700))
			place.write(".git/info/attributes", "* filter=x\n")
			place.write("a", "two")
			now := Look(t.Context(), r.dir)
			if !now.Known {
				t.Error("it could not be looked at")
			}
			Changed(t.Context(), r.dir, before, now)
			if inner == "." {
				if err := Stash(t.Context(), r.dir, "kept", []string{"a"}); err != nil {
					t.Error(err)
				}
			}
			if _, err := os.Stat(marker); err == nil {
				t.Error("a filter was run")
			}
		})
	}
}
