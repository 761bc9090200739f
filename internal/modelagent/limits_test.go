package modelagent

import (
	"slices"
	"strings"
	"testing"

	"ralph/internal/testing/check"
)

func TestAnAnswerHasAtMostSoManyCalls(t *testing.T) {
	t.Parallel()
	m := perform(t, inOrder(calls(slices.Repeat([]string{"read", `{"path":"a.txt"}`}, 2000)...), says("Done.")))
	m.client().ask(t, "Go.")
	got := results(m.asked()[1])
	check.Equal(t, "results", 101, len(got))
	check.That(t, !slices.ContainsFunc(got[:100], func(s string) bool { return strings.HasPrefix(s, "not run") }), "the first 100 are not run: %v", got[99])
	check.Equal(t, "the last", "not run: at most 100 calls in one answer; this call and those after it have to be made again", got[100])
}
