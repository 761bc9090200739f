package git

import (
	"strings"
	"testing"

	"ralph/internal/testing/check"
)

// TestTheHeadOfWhatGitPrints is whole lines, and ends git where there is more.
func TestTheHeadOfWhatGitPrints(t *testing.T) {
	t.Parallel()
	dir := newRepo(t)
	dir.write("much.txt", strings.Repeat("a line of much\n", 200_000))
	dir.commit()
	r, err := OpenRepo(t.Context(), dir.dir)
	check.OK(t, err)
	text, cut, err := r.Head(t.Context(), 100, "show", "HEAD:much.txt")
	check.OK(t, err)
	check.Equal(t, "the head", strings.Repeat("a line of much\n", 6), text)
	check.That(t, cut, "it is not said that there is more")
	text, cut, err = r.Head(t.Context(), 1<<20, "show", "--format=%s", "--no-patch", "HEAD")
	check.OK(t, err)
	check.That(t, !cut && strings.Count(text, "\n") == 1, "a short output is %q, cut: %v", text, cut)
	_, _, err = r.Head(t.Context(), 100, "show", "nosuch")
	check.That(t, Status(err) == 128, "an error of git is %v", err)
}
