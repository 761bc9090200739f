package journal_test

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"ralph/internal/db"
	"ralph/internal/testing/check"
	_ "ralph/internal/testing/seeded" // the same values each time
	"ralph/journal"
)

func TestOverBudgetTheNewestStay(t *testing.T) {
	t.Parallel()
	d := openMemory(t)
	remember(t, d, journal.Entry{Run: "r-0", Task: "t-0", Title: "old", Notes: "a zebra, and it would fit"})
	for i := range 5 {
		remember(t, d, journal.Entry{Run: "r-1", Task: "t-1", Title: fmt.Sprint("step ", i), Notes: strings.Repeat("n", 2000)})
	}
	got := choose(t, d, journal.Query{Run: "r-1", Title: "zebra"}, journal.Options{Recent: 5, Matches: 5, Tokens: 1200})
	if len(got.Recent) == 0 || len(got.Recent) == 5 || got.Recent[0].Title != "step 4" || len(got.Matches) != 0 || got.LeftOut != 6-len(got.Recent) {
		t.Errorf("got %v and %v, %d left out", titles(got.Recent), titles(got.Matches), got.LeftOut)
	}
	check.Contains(t, "text", "[left out: ", got.Text())
}

func TestOneTalkativeIterationLeavesRoomForOthers(t *testing.T) {
	t.Parallel()
	d := openMemory(t)
	remember(t, d, journal.Entry{Run: "r-1", Task: "t-1", Title: "quiet", Notes: "short"},
		journal.Entry{Run: "r-1", Task: "t-1", Title: "talkative", Notes: strings.Repeat("blah ", 13_000)})
	got := choose(t, d, journal.Query{Run: "r-1"}, usual)
	if text := got.Text(); len(got.Recent) != 2 || !strings.Contains(text, "ralph journal show 2") || !strings.Contains(text, "short") {
		t.Errorf("got %v:\n%.400s", titles(got.Recent), text)
	}
}

// anyText draws text that is likely to hurt.
func anyText() *rapid.Generator[string] {
	return rapid.OneOf(rapid.String(), rapid.StringN(0, 3000, -1), rapid.SampledFrom([]string{
		"", "AND", `"`, "a OR b", "zebra", "the zebra", "\x00", "\xff", "🚀", "Iteration 1 of run r-9: task", strings.Repeat("é\u2028", 2000), strings.Repeat("\n", 5000),
	}))
}

// TestSelectionNeverErrsAndKeepsToItsBudget holds for any rows and any question.
func TestSelectionNeverErrsAndKeepsToItsBudget(t *testing.T) {
	t.Parallel()
	d := openMemory(t)
	rapid.Check(t, func(t *rapid.T) {
		write(t, d, func(tx *db.Tx) error { return tx.Exec("DELETE FROM journal;") })
		for range rapid.IntRange(0, 12).Draw(t, "rows") {
			remember(t, d, journal.Entry{
				Run: rapid.SampledFrom([]string{"r-1", "r-2"}).Draw(t, "run"), Task: anyText().Draw(t, "task"), Title: anyText().Draw(t, "title"),
				Notes: anyText().Draw(t, "notes"), Reason: anyText().Draw(t, "reason"), Model: anyText().Draw(t, "model"),
				Files: rapid.SliceOfN(anyText(), 0, 5).Draw(t, "files"),
			})
		}
		opts := journal.Options{
			Recent: rapid.IntRange(0, 8).Draw(t, "recent"), Matches: rapid.IntRange(0, 8).Draw(t, "matches"),
			Tokens: rapid.SampledFrom([]int{0, 1, 10, 50, 100, 500, 3000}).Draw(t, "tokens"),
		}
		q := journal.Query{Run: "r-1", Title: anyText().Draw(t, "asked title"), Description: anyText().Draw(t, "asked description")}
		got := choose(t, d, q, opts)
		if text := got.Text(); len(text) > 4*opts.Tokens {
			t.Fatalf("%d bytes, want at most %d", len(text), 4*opts.Tokens)
		}
		checkChosen(t, d, got, opts)
	})
}

// checkChosen holds a selection to what it promises besides its size.
func checkChosen(t *rapid.T, d *db.DB, got journal.Selection, opts journal.Options) {
	seen := map[int64]bool{}
	for _, list := range [][]journal.Entry{got.Recent, got.Matches} {
		for i, e := range list {
			if seen[e.N] || i > 0 && list[i-1].N < e.N {
				t.Fatalf("entry %d is there twice or out of order", e.N)
			}
			seen[e.N] = true
		}
	}
	last := view(t, d, func(tx *db.Tx) ([]journal.Entry, error) { return journal.List(tx, journal.Filter{Run: "r-1"}) })
	want := min(len(last), opts.Recent)
	if got.LeftOut == 0 && opts.Tokens == 3000 && len(got.Recent) != want {
		t.Fatalf("%d recent entries and none left out, want %d", len(got.Recent), want)
	}
	for i, e := range got.Recent {
		if e.N != last[len(last)-1-i].N {
			t.Fatalf("recent entry %d is %d, want %d", i, e.N, last[len(last)-1-i].N)
		}
	}
}
