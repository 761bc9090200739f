package tamper

import (
	"path"
	"slices"
	"strings"
)

// language is one whose tests we know.
type language int

const (
	none language = iota
	golang
	javascript
	python
	rust
)

// classify says by its name which tests a file may hold, and whether it is named
// as one that holds tests. Folders that test runners leave out hold none.
func classify(file string) (lang language, named bool) {
	if file == "" {
		return none, false
	}
	folders := strings.Split(file, "/")
	base := folders[len(folders)-1]
	folders = folders[:len(folders)-1]
	in := func(names ...string) bool {
		return slices.ContainsFunc(folders, func(f string) bool { return slices.Contains(names, f) })
	}
	stem := strings.TrimSuffix(base, path.Ext(base))
	switch path.Ext(base) {
	case ".go":
		hidden := func(name string) bool { return strings.HasPrefix(name, "_") || strings.HasPrefix(name, ".") }
		if !strings.HasSuffix(stem, "_test") || hidden(base) || slices.ContainsFunc(folders, hidden) || in("testdata", "vendor") {
			return none, false
		}
		return golang, true
	case ".js", ".jsx", ".ts", ".tsx", ".mjs", ".cjs", ".mts", ".cts":
		named = slices.Contains([]string{".test", ".spec", ".cy", ".e2e"}, path.Ext(stem)) || in("__tests__")
		if in("node_modules") || (!named && !in("test", "tests", "spec", "e2e", "cypress")) {
			return none, false
		}
		return javascript, named && !in("__tests__")
	case ".py":
		named = strings.HasPrefix(stem, "test_") || strings.HasSuffix(stem, "_test")
		if in("site-packages", "node_modules", ".venv", "venv") || (!named && !in("test", "tests") && stem != "conftest" && stem != "tests") {
			return none, false
		}
		return python, named
	case ".rs":
		if in("target", "vendor") {
			return none, false
		}
		return rust, len(folders) > 0 && folders[len(folders)-1] == "tests"
	}
	return none, false
}
