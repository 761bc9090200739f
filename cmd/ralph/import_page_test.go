package main

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ralph/internal/testing/check"
)

// TestImportPageIsTrue imports each example of docs/import.md and wants the tree
// that is printed below it.
func TestImportPageIsTrue(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/import.md")
	check.OK(t, err)
	example := regexp.MustCompile("(?s)<!-- import -->\n```[a-z]+\n(.*?)```\n.*?```text\n(.*?)```\n")
	found := example.FindAllSubmatch(page, -1)
	if len(found) != 4 {
		t.Fatalf("got %d examples, want one of each format", len(found))
	}
	b := newBench(t)
	for _, m := range found {
		plan := filepath.Join(t.TempDir(), "plan")
		check.OK(t, os.WriteFile(plan, m[1], 0o600))
		if diff := cmp.Diff(string(m[2]), b.run(0, "task", "import", plan, "--dry-run")); diff != "" {
			t.Errorf("(-page +printed):\n%s", diff)
		}
		b.run(0, "task", "import", plan)
	}
}
