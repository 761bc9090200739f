package sandbox

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"ralph/internal/testing/check"
)

func TestATemporaryFolderWithTheProjectShowsOnlyWhatIsNeeded(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("only there is a sandbox")
	}
	type want struct{ Folders, Inside []string }
	for name, tt := range map[string]struct {
		project        string
		read, programs []string
		want
	}{
		"elsewhere":                    {"/home/me/proj", []string{"/tmp/x"}, []string{"/tmp/bin"}, want{}},
		"in it":                        {"/tmp/proj", []string{"/etc", "/tmp/x/y", "/tmp/proj/z"}, []string{"/usr/bin", "/tmp/a/lib/bin", "/tmp/ralph"}, want{[]string{"/tmp"}, []string{"/tmp/x/y", "/tmp/a", "/tmp/ralph"}}},
		"in another":                   {"/var/tmp/proj", []string{"/tmp/x", "/var/tmp/x"}, nil, want{[]string{"/var/tmp"}, []string{"/var/tmp/x"}}},
		"beside programs":              {"/tmp/a/proj", nil, []string{"/tmp/a/b/bin", "/tmp/a/run", "/tmp/a", "/tmp"}, want{[]string{"/tmp"}, []string{"/tmp/a/b", "/tmp/a/run"}}},
		"in a home in it":              {"/tmp/home/proj", []string{"/tmp/home"}, nil, want{[]string{"/tmp"}, []string{"/tmp/home"}}},
		"the folder is somebody's own": {"/tmp/proj", []string{"/tmp"}, []string{"/tmp/bin"}, want{}},
	} {
		var got want
		got.Folders, got.Inside = emptied(tt.project, tt.read, tt.programs)
		check.Equal(t, name, tt.want, got)
	}
}

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
	want := []string{".npm", ".cargo/registry", ".cargo/git"}
	check.That(t, slices.Equal(want, wanted), "got %q, want %q", wanted, want)
	for _, path := range []string{filepath.Join(home, ".cache"), variables["GOCACHE"], filepath.FromSlash("/a/pkg/mod")} {
		check.That(t, known[path] || !filepath.IsAbs(path), "%s is not known", path)
	}
	check.That(t, !known["relative"], "a relative path is taken for a cache")
	for _, c := range Caches("", func(string) string { return "" }) {
		t.Errorf("without a home there is %s", c.Path)
	}
}
