package watch

import (
	"os"
	"strings"
	"testing"

	"ralph/internal/testing/check"
	"ralph/internal/testing/golden"
)

// TestThePageShowsWhatIsShown holds docs/watch.md to the view and to its keys.
func TestThePageShowsWhatIsShown(t *testing.T) {
	t.Parallel()
	const path = "../../docs/watch.md"
	page, err := os.ReadFile(path)
	check.OK(t, err)
	var keys strings.Builder
	keys.WriteString("| key | does |\n|---|---|\n")
	for _, k := range Keys() {
		if k.Keys != "" {
			keys.WriteString("| " + k.Keys + " | " + k.Does + " |\n")
		}
	}
	want := replace(t, string(page), "frame", "```\n"+working().frame()+"\n```\n")
	golden.Check(t, path, replace(t, want, "keys", keys.String()))
}

// replace puts text between a mark and the next end.
func replace(t *testing.T, page, mark, text string) string {
	t.Helper()
	before, rest, found := strings.Cut(page, "<!-- "+mark+" -->\n")
	_, after, closed := strings.Cut(rest, "<!-- end -->\n")
	if !found || !closed {
		t.Fatalf("the page has no %s", mark)
	}
	return before + "<!-- " + mark + " -->\n" + text + "<!-- end -->\n" + after
}
