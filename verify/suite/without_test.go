package suite_test

import (
	"io/fs"
	"testing"

	"ralph/internal/git"
	"ralph/internal/testing/check"
	"ralph/verify/suite"
)

// TestWithoutTheWork everything is as before it, but for what checks it.
func TestWithoutTheWork(t *testing.T) {
	t.Parallel()
	before := map[string]string{"a.go": "package a", "go.mod": "module a", "lib.rs": "fn a() {}\n", "old.go": "package a"}
	after := map[string]string{
		"a.go": "package a // new", "b.go": "package a", "a_test.go": "package a", "go.mod": "module a\nrequire x v1", "testdata/x": "x",
		"lib.rs": "fn a() { b() }\n#[cfg(test)]\nmod tests {\n}\n", "check.sh": "sh run/app.sh", "run/app.sh": "echo", "new.go": "package a",
	}
	reading := func(files map[string]string) suite.Read {
		return func(path string) ([]byte, error) {
			if text, there := files[path]; there {
				return []byte(text), nil
			}
			return nil, fs.ErrNotExist
		}
	}
	changes := []git.Change{
		{Path: "a.go", Kind: git.Modified},
		{Path: "b.go", Kind: git.Added},
		{Path: "a_test.go", Kind: git.Added},
		{Path: "go.mod", Kind: git.Modified},
		{Path: "testdata/x", Kind: git.Added},
		{Path: "lib.rs", Kind: git.Modified},
		{Path: "check.sh", Kind: git.Added},
		{Path: "run/app.sh", Kind: git.Added},
		{Path: "new.go", Old: "old.go", Kind: git.Renamed},
		{Path: "gone.go", Kind: git.Deleted},
		{Path: "other_test.go", Kind: git.Added},
	}
	s, err := suite.Of(suite.Base{Gates: []string{"sh check.sh"}, Read: reading(after)})
	check.OK(t, err)
	undone := func(mine bool) (list []string) {
		edits, kept, err := s.Without(changes, reading(before), func(file string) bool { return mine && file != "other_test.go" })
		check.OK(t, err)
		if !mine {
			check.Equal(t, "nothing stays", 0, len(kept))
		} else {
			check.Equal(t, "tests stay", []string{"a_test.go", "go.mod", "testdata/x", "lib.rs", "check.sh"}, kept)
		}
		for _, e := range edits {
			what := e.From
			if e.Content != nil {
				what = string(e.Content)
			}
			list = append(list, e.Path+": "+what)
		}
		return list
	}
	code := "lib.rs: fn a() {}\n\n#[cfg(test)]\nmod tests {\n}\n"
	check.Equal(t, "with my tests", []string{
		"a.go: a.go", "b.go: b.go", code, "run/app.sh: run/app.sh", "new.go: new.go", "old.go: old.go", "gone.go: gone.go", "other_test.go: other_test.go",
	}, undone(true))
	check.Equal(t, "without", []string{
		"a.go: a.go", "b.go: b.go", "a_test.go: a_test.go", "go.mod: go.mod", "testdata/x: testdata/x", "lib.rs: lib.rs", "check.sh: check.sh", "run/app.sh: run/app.sh",
		"new.go: new.go", "old.go: old.go", "gone.go: gone.go", "other_test.go: other_test.go",
	}, undone(false))
}
