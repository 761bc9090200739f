package chat

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"ralph/internal/testing/check"
	_ "ralph/internal/testing/seeded"
)

// TestTextFits: whatever is said fits, is valid, and is a beginning of what was said if it had to be cut.
func TestTextFits(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOf(rapid.SampledFrom([]rune("ab<>&😀é\u202e\x00\n"))).Draw(t, "text")
		for name, cost := range map[string]func(rune) int{"telegram": units, "slack": escapedUnits} {
			limit := rapid.IntRange(len(cutNote)+5, 200).Draw(t, "limit")
			got, sum := fit(text, limit, cost), 0
			for _, r := range got {
				sum += cost(r)
			}
			check.That(t, sum <= limit && utf8.ValidString(got) && !strings.ContainsAny(got, "\u202e\x00"), "%s: %q became %q", name, text, got)
			if short, cut := strings.CutSuffix(got, cutNote); cut {
				check.That(t, strings.HasPrefix(fit(text, 1<<20, cost), short), "%q became %q", text, got)
			}
		}
	})
}

func TestWhatPeopleTypeInSlack(t *testing.T) {
	t.Parallel()
	for typed, want := range map[string]string{
		"a &lt;b&gt; &amp;amp;":                   "a <b> &amp;",
		"<https://a.example/?x=1&amp;y=2>":        "https://a.example/?x=1&y=2",
		"<https://a.example|a.example> and <b":    "https://a.example and <b",
		"<mailto:a@example.com|a@example.com> ok": "mailto:a@example.com ok",
		"<@U7> <!here>":                           "<@U7> <!here>",
	} {
		check.Equal(t, typed, want, written(typed))
	}
}
