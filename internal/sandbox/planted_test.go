package sandbox

import (
	"os"
	"path/filepath"
	"testing"

	"ralph/internal/project"
	"ralph/internal/testing/check"
)

// TestARunKeepsWhatAnotherFoundPlanted: an attempt that ends well in one run is no
// reason to forget what an agent of another run did meanwhile.
func TestARunKeepsWhatAnotherFoundPlanted(t *testing.T) {
	t.Parallel()
	p := project.Project{Root: t.TempDir()}
	hook := filepath.Join(p.Root, ".git", "hooks", "pre-commit")
	for _, dir := range []string{p.State(), filepath.Dir(hook)} {
		check.OK(t, os.MkdirAll(dir, 0o755))
	}
	if err := os.WriteFile(filepath.Join(p.Root, ".git", "HEAD"), nil, 0o644); err != nil {
		t.Fatal(err) // without it, git sees no repository
	}
	begin := func() *Confiner {
		c := &Confiner{opts: Options{Project: p}, protection: Protect(t.Context(), p)}
		check.OK(t, c.recallPlanted())
		return c
	}
	fingerprints := func(c *Confiner) []*Fingerprint {
		list, err := c.protection.Fingerprints(None)
		check.OK(t, err)
		return list
	}
	one, other := begin(), begin()
	before := fingerprints(one)
	check.OK(t, os.WriteFile(hook, []byte("echo planted\n"), 0o755))
	check.OK(t, one.rememberPlanted("t-1", before))
	check.OK(t, other.rememberPlanted("t-2", fingerprints(other)))
	if next := begin(); len(next.planted) != 1 || next.planted[0].Path != hook || next.planted[0].Task != "t-1" {
		t.Errorf("planted: %v", next.planted)
	}
}
