package sandbox

import (
	"os"
	"path/filepath"
	"testing"

	"ralph/internal/project"
)

// TestARunKeepsWhatAnotherFoundPlanted: an attempt that ends well in one run is no
// reason to forget what an agent of another run did meanwhile.
func TestARunKeepsWhatAnotherFoundPlanted(t *testing.T) {
	t.Parallel()
	p := project.Project{Root: t.TempDir()}
	hook := filepath.Join(p.Root, ".git", "hooks", "pre-commit")
	for _, dir := range []string{p.State(), filepath.Dir(hook)} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(p.Root, ".git", "HEAD"), nil, 0o644); err != nil {
		t.Fatal(err) // without it, git sees no repository
	}
	begin := func() *Confiner {
		c := &Confiner{opts: Options{Project: p}, protection: Protect(t.Context(), p)}
		if err := c.recallPlanted(); err != nil {
			t.Fatal(err)
		}
		return c
	}
	fingerprints := func(c *Confiner) []*Fingerprint {
		list, err := c.protection.Fingerprints(None)
		if err != nil {
			t.Fatal(err)
		}
		return list
	}
	one, other := begin(), begin()
	before := fingerprints(one)
	if err := os.WriteFile(hook, []byte("echo planted\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := one.rememberPlanted("t-1", before); err != nil {
		t.Fatal(err)
	}
	if err := other.rememberPlanted("t-2", fingerprints(other)); err != nil {
		t.Fatal(err)
	}
	if next := begin(); len(next.planted) != 1 || next.planted[0].Path != hook || next.planted[0].Task != "t-1" {
		t.Errorf("planted: %v", next.planted)
	}
}
