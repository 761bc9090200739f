package db_test

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"testing"

	"ralph/internal/testing/check"
)

// TestMigrationsAreOnlyAppended holds every migration that projects have applied to its
// bytes: an edited one would leave old projects with another schema than new ones.
func TestMigrationsAreOnlyAppended(t *testing.T) {
	t.Parallel()
	applied := map[string]string{
		"001_graph.sql":    "35fe6c3ea59bb5fc102fa6c5e9d500d1dd9fbb21ebcc178473df6b47a96dcb59",
		"002_given_up.sql": "1892f0484360f0b9d8c9a450b8950d87bc65c0669f7dfad50d3bef7230416125",
	}
	names, err := filepath.Glob("migrations/*.sql")
	check.OK(t, err)
	for _, path := range names {
		name := filepath.Base(path)
		text, err := os.ReadFile(path)
		check.OK(t, err)
		sum := sha256.Sum256(text)
		if got, want := hex.EncodeToString(sum[:]), applied[name]; got != want {
			t.Errorf("%s has the sum %s, want %q: add a new migration instead of editing one, and its sum here", name, got, want)
		}
		delete(applied, name)
	}
	for name := range applied {
		t.Errorf("%s is gone, and projects have applied it", name)
	}
}
