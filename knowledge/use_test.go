package knowledge_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"ralph/internal/testing/check"
	"ralph/knowledge"
)

// TestEntriesFade: those of no help to five tasks in a row are left out for a month, and those that nobody used for three
// months come last.
func TestEntriesFade(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	root := project(t, map[string]string{
		".ralph/knowledge/a.md": file("A", "wanted, auth", "a"),
		".ralph/knowledge/b.md": file("B", "wanted", "b"),
	})
	for name, tt := range map[string]struct {
		use  knowledge.Use // of A, which else is the first
		want []string
	}{
		"never used":                   {knowledge.Use{}, []string{"A", "B"}},
		"four tasks in a row":          {knowledge.Use{Used: 9, Idle: 4, At: noon}, []string{"A", "B"}},
		"five tasks in a row":          {knowledge.Use{Used: 9, Done: 4, Idle: 5, At: noon}, []string{"B"}},
		"that was a month ago":         {knowledge.Use{Used: 9, Idle: 5, At: noon.Add(-31 * day)}, []string{"A", "B"}},
		"of use, but three months ago": {knowledge.Use{Used: 9, Done: 9, At: noon.Add(-91 * day)}, []string{"B", "A"}},
	} {
		entries := load(t, root)
		q := knowledge.Query{Title: "wanted", Feature: "auth", Now: noon, Uses: map[string]knowledge.Use{entries[0].Sum(): tt.use}}
		got := titles(q.Match(entries), func(m knowledge.Match) string { return m.Title })
		check.Equal(t, name, tt.want, got)
		check.Equal(t, name+": told", len(tt.want), len(q.Brief(entries, 2000).Entries))
	}
	put(t, root, ".ralph/knowledge/a.md", file("A", "wanted", "something else"))
	entries := load(t, root)
	q := knowledge.Query{Title: "wanted", Now: noon, Uses: map[string]knowledge.Use{sumOf(t, file("A", "wanted, auth", "a")): {Used: 5, Idle: 5, At: noon}}}
	check.Equal(t, "after the text was changed", 2, len(q.Match(entries)))
}

func sumOf(t testing.TB, text string) string {
	t.Helper()
	e, err := knowledge.Parse(text)
	check.OK(t, err)
	return e.Sum()
}

// TestRankingProperties: whatever the counts are, an entry is told once or has faded, none that is late stands before one
// that is not, and better ones stand first. More success never makes an entry worse off.
func TestRankingProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var entries []knowledge.Entry
		uses := map[string]knowledge.Use{}
		old := map[string]bool{}
		ago := rapid.IntRange(0, 200)
		for i := range rapid.IntRange(1, 8).Draw(t, "entries") {
			tags := strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{"wanted", "auth", "other"}), 0, 3).Draw(t, "tags"), ", ")
			e, err := knowledge.Parse(file(string(rune('A'+i)), tags, "x"))
			check.OK(t, err)
			e.File = e.Title + ".md"
			entries = append(entries, e)
			u := knowledge.Use{Idle: rapid.IntRange(0, 7).Draw(t, "idle"), At: noon.AddDate(0, 0, -ago.Draw(t, "days"))}
			u.Used = u.Idle + 1
			if rapid.Bool().Draw(t, "used") {
				uses[e.Sum()] = u
				old[e.Title] = noon.Sub(u.At) > 90*24*time.Hour
			}
		}
		plain := knowledge.Query{Title: "wanted", Feature: "auth", Now: noon}
		q := plain
		q.Uses = uses
		got := q.Match(entries)
		var want []string
		for _, m := range plain.Match(entries) {
			if !uses[m.Sum()].Faded(noon) {
				want = append(want, m.Title)
			}
		}
		slices.SortStableFunc(want, func(a, b string) int {
			switch {
			case old[a] == old[b]:
				return 0
			case old[b]:
				return -1
			}
			return 1
		})
		check.Equal(t, "ranking", want, titles(got, func(m knowledge.Match) string { return m.Title }))
		check.Equal(t, "sums of what is told", len(got), len(q.Brief(entries, 100_000).Entries))
		for sum, u := range uses { // a success
			u.Used, u.Done, u.Idle, u.At = u.Used+1, u.Done+1, 0, noon
			uses[sum] = u
		}
		title := func(m knowledge.Match) string { return m.Title }
		check.Equal(t, "after a success of all", titles(plain.Match(entries), title), titles(q.Match(entries), title))
	})
}
