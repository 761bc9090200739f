package knowledge_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"ralph/internal/testing/check"
	"ralph/knowledge"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// project is a folder with files in it, by their path.
func project(t testing.TB, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		put(t, root, name, text)
	}
	return root
}

func put(t testing.TB, root, name, text string) {
	t.Helper()
	path := filepath.Join(root, name)
	check.OK(t, os.MkdirAll(filepath.Dir(path), 0o700))
	check.OK(t, os.WriteFile(path, []byte(text), 0o600))
}

// file is the text of an entry.
func file(title, tags, body string) string {
	return "---\ntitle: " + title + "\ntags: [" + tags + "]\n---\n\n" + body + "\n"
}

func load(t testing.TB, root string) []knowledge.Entry {
	t.Helper()
	entries, warnings := knowledge.Open(root).Load()
	if len(warnings) > 0 {
		t.Fatalf("warnings: %v", warnings)
	}
	return entries
}

func titles[T any](list []T, title func(T) string) (out []string) {
	for _, v := range list {
		out = append(out, title(v))
	}
	return out
}

func titleOf(e knowledge.Entry) string { return e.Title }
