package sandbox

import (
	"os"
	"path/filepath"
	"testing"

	"ralph/internal/project"
	"ralph/internal/provenance"
	"ralph/internal/testing/check"
)

// TestARunKeepsWhatAnotherFoundPlanted: an attempt that ends well in one run is no
// reason to forget what an agent of another run did meanwhile.
func TestARunKeepsWhatAnotherFoundPlanted(t *testing.T) {
	t.Parallel()
	p, trust := project.Project{Root: t.TempDir()}, provenance.Store{Dir: t.TempDir()}
	hook := filepath.Join(p.Root, ".git", "hooks", "pre-commit")
	for _, dir := range []string{p.State(), filepath.Dir(hook)} {
		check.OK(t, os.MkdirAll(dir, 0o755))
	}
	if err := os.WriteFile(filepath.Join(p.Root, ".git", "HEAD"), nil, 0o644); err != nil {
		t.Fatal(err) // without it, git sees no repository
	}
	begin := func() *Confiner {
		planted, err := trust.Findings(OlderFindings(p))
		check.OK(t, err)
		return &Confiner{opts: Options{Project: p, Trust: trust}, protection: Protect(t.Context(), p), planted: planted}
	}
	fingerprints := func(c *Confiner) []*Fingerprint {
		list, err := c.protection.Fingerprints(None)
		check.OK(t, err)
		return list
	}
	one, other := begin(), begin()
	before := fingerprints(one)
	check.OK(t, os.WriteFile(hook, []byte("echo planted\n"), 0o755))
	check.OK(t, one.keepFound("t-1", &Confinement{before: before}))
	check.OK(t, other.keepFound("t-2", &Confinement{before: fingerprints(other)}))
	next := begin()
	check.That(t, len(next.planted) == 1 && next.planted[0].Path == hook && next.planted[0].Task == "t-1", "planted: %v", next.planted)
}

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
	r, err := readRecord(own)
	check.That(t, err == nil && r.Owner == "me", "its own: %+v, %v", r, err)
	for _, dir := range []string{shared, link} {
		if r, err := readRecord(dir); err == nil {
			t.Errorf("%s: %+v", dir, r)
		}
	}
}
