package sigils_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ralph/sigils"
)

// TestSkippedLinesAreAsIfTheyWereLookedAt puts lines of all sorts around a sigil.
// Text in one piece is skipped where nothing can happen; text that arrives byte by
// byte never is.
func TestSkippedLinesAreAsIfTheyWereLookedAt(t *testing.T) {
	t.Parallel()
	lines := []string{
		"", "a", "é", "a\r", "\r", "\t", "  a", "    a", "# a", "> a", "---", "1. a", "* a", "-", "- ", "-  a", "- - a", "- a", "- `a`", "- ```",
		"`a`", "``a``", "a `b`", "a `b", "a b` c", "a \\`b`", "a `b\\`", "a `\\`` b`", "a ``b` c``", "a ` `` `", "a `` ` ``", "a " + ascending(20) + " `",
		"```", "```go", "b ```", "~~~", "~ a", "a ~~~", "a <!-- b", "a --> b", "<!--", "-->", "<pre>", "</pre>", "a < b", "<journal>", "</journal>",
	}
	ends := []string{"", "a", "- a", "a `b", "a b` c", "a \\`b`", "a `` ` ``", "```", "b ```", "~~~", "-->", "</pre>", "</journal>"}
	for _, one := range lines {
		for _, two := range lines {
			for _, three := range ends {
				text := one + "\n" + two + "\n<task-done>" + ours + "</task-done>\n" + three + "\n  <next-model>m</next-model>\n<verify-pass/>\n</journal>\n"
				s := sigils.NewScanner(ours)
				for i := range len(text) {
					s.Write(text[i : i+1])
				}
				if diff := cmp.Diff(s.Set(), sigils.Parse(text, ours)); diff != "" {
					t.Fatalf("%q: (-byte by byte +in one piece)\n%s", text, diff)
				}
			}
		}
	}
}

// ascending are runs of backticks, each longer than the one before.
func ascending(n int) string {
	var runs []string
	for i := range n {
		runs = append(runs, strings.Repeat("`", i+1))
	}
	return strings.Join(runs, " ")
}
