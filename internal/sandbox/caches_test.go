package sandbox

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"ralph/internal/testing/check"
)

func TestCachesAreWantedWhereTheyAreUsed(t *testing.T) {
	t.Parallel()
	home, project := t.TempDir(), t.TempDir()
	check.OK(t, os.Mkdir(filepath.Join(home, ".cargo"), 0o755))
	check.OK(t, os.WriteFile(filepath.Join(project, "package.json"), nil, 0o644))
	variables := map[string]string{"GOCACHE": filepath.Join(home, "gocache"), "GOPATH": "/a:/b", "UV_CACHE_DIR": "relative"}
	wanted, known := []string{}, map[string]bool{}
	for _, c := range Caches(home, func(name string) string { return variables[name] }) {
		known[c.Path] = true
		if c.Wanted(project) {
			rel, err := filepath.Rel(home, c.Path)
			check.OK(t, err)
			wanted = append(wanted, filepath.ToSlash(rel))
		}
	}
	if want := []string{".npm", ".cargo/registry", ".cargo/git"}; !slices.Equal(want, wanted) {
		t.Errorf("got %q, want %q", wanted, want)
	}
	for _, path := range []string{filepath.Join(home, ".cache"), variables["GOCACHE"], filepath.FromSlash("/a/pkg/mod")} {
		if !known[path] && filepath.IsAbs(path) {
			t.Errorf("%s is not known", path)
		}
	}
	check.That(t, !known["relative"], "a relative path is taken for a cache")
	for _, c := range Caches("", func(string) string { return "" }) {
		t.Errorf("without a home there is %s", c.Path)
	}
}
