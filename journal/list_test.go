package journal_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"ralph/internal/db"
	"ralph/internal/event"
	"ralph/internal/testing/check"
	"ralph/journal"
)

func ptr[T any](v T) *T { return &v }

func TestEveryFieldComesBack(t *testing.T) {
	t.Parallel()
	full := journal.Entry{
		N: 1, At: morning, Run: "r-1", Attempt: "a-1", Iteration: 3, Task: "t-1", Feature: "auth", Title: "Log in", Outcome: "failed",
		Reason: "red", Notes: "try harder", Agent: "claude", Model: "opus", ModelEffective: "big", StopReason: "end_turn",
		Duration: 1500 * time.Millisecond,
		Usage:    event.Usage{TokensIn: 1, TokensOut: 3, CostUSD: ptr(0.0), Estimated: true, Unknown: true}, Files: []string{"a.go", "b \"c\".go"},
	}
	bare := journal.Entry{N: 2, At: morning, Run: "r-1", Task: "t-2", Title: "Bare", Outcome: "released"}
	d := openMemory(t)
	remember(t, d, full, bare)
	got := view(t, d, func(tx *db.Tx) ([]journal.Entry, error) { return journal.List(tx, journal.Filter{}) })
	check.Equal(t, "unlike what was added", []journal.Entry{full, bare}, got)
	one := view(t, d, func(tx *db.Tx) (journal.Entry, error) { return journal.Get(tx, 2) })
	check.Equal(t, "unknown is not nil", bare, one)
}

func TestEveryWayToEndIsRemembered(t *testing.T) {
	t.Parallel()
	d := openMemory(t)
	for _, outcome := range event.AttemptOutcomes() {
		remember(t, d, journal.Entry{Run: "r-1", Task: "t-1", Title: string(outcome), Outcome: outcome})
		got := view(t, d, func(tx *db.Tx) ([]journal.Entry, error) { return journal.List(tx, journal.Filter{Outcome: outcome}) })
		check.Equal(t, string(outcome), []string{string(outcome)}, titles(got))
	}
}

func TestListKeepsToItsFilter(t *testing.T) {
	t.Parallel()
	d := openMemory(t)
	for i := range 12 {
		e := journal.Entry{Run: fmt.Sprintf("r-%d", i%2), Task: fmt.Sprintf("t-%d", i%3), Title: fmt.Sprint(i)}
		if i%4 == 0 {
			e.Feature, e.Outcome = "auth", "failed"
		}
		remember(t, d, e)
	}
	for name, tt := range map[string]struct {
		filter journal.Filter
		want   []string
	}{
		"the newest of a run, oldest first": {journal.Filter{Run: "r-1", Limit: 2}, []string{"9", "11"}},
		"a task":                            {journal.Filter{Task: "t-2"}, []string{"2", "5", "8", "11"}},
		"a task in a run":                   {journal.Filter{Task: "t-2", Run: "r-0"}, []string{"2", "8"}},
		"a feature":                         {journal.Filter{Feature: "auth"}, []string{"0", "4", "8"}},
		"an outcome":                        {journal.Filter{Outcome: "failed", Limit: 1}, []string{"8"}},
		"all four":                          {journal.Filter{Run: "r-0", Task: "t-1", Feature: "auth", Outcome: "failed"}, []string{"4"}},
		"nothing fits":                      {journal.Filter{Run: "r-9"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			got := view(t, d, func(tx *db.Tx) ([]journal.Entry, error) { return journal.List(tx, tt.filter) })
			check.Equal(t, "result", tt.want, titles(got))
		})
	}
}

func TestANumberThatIsNotThereIsNotFound(t *testing.T) {
	t.Parallel()
	err := openMemory(t).View(t.Context(), func(tx *db.Tx) error { _, err := journal.Get(tx, 7); return err })
	check.That(t, errors.Is(err, journal.ErrNotFound), "got %v, want ErrNotFound", err)
}

func TestSearchFindsNotesTitlesAndReasons(t *testing.T) {
	t.Parallel()
	d := openMemory(t)
	remember(t, d,
		journal.Entry{Run: "r-1", Task: "t-1", Title: "Parse tokens", Notes: "The lexer comes first."},
		journal.Entry{Run: "r-1", Task: "t-2", Title: "Lexer", Notes: "done"},
		journal.Entry{Run: "r-1", Task: "t-3", Title: "Draw", Reason: "no lexer, no tokens, no drawing for anybody at all"},
		journal.Entry{Run: "r-1", Task: "t-4", Title: "Unrelated"},
	)
	for name, tt := range map[string]struct {
		text  string
		limit int
		want  []string
	}{
		"best first":                   {"lexer", 0, []string{"Lexer", "Parse tokens", "Draw"}},
		"every word":                   {"LEXER Tokens", 0, []string{"Parse tokens", "Draw"}},
		"any word if none has all":     {"unrelated drawing", 0, []string{"Unrelated", "Draw"}},
		"a limit":                      {"lexer", 1, []string{"Lexer"}},
		"syntax is text":               {`lexer" NOT (title:`, 1, []string{"Lexer"}},
		"no words, nothing":            {`"*"`, 0, nil},
		"a question of more than 10kB": {strings.Repeat("lexer ", 3000), 1, []string{"Lexer"}},
	} {
		t.Run(name, func(t *testing.T) {
			got := view(t, d, func(tx *db.Tx) ([]journal.Entry, error) { return journal.Search(tx, tt.text, tt.limit) })
			check.Equal(t, "result", tt.want, titles(got))
		})
	}
}

// FuzzQueries states that no text makes recall or search fail, and that none
// drops a recent entry.
func FuzzQueries(f *testing.F) {
	different := ""
	for i := range 2000 {
		different += fmt.Sprintf("w%d ", i)
	}
	for _, seed := range []string{
		"", " \t\n", "a", `"`, `"a`, `""" ' '' "`, "AND", "NOT a", "a AND OR NOT NEAR(a b, 3)", "a*", "^a + b", "title:a -notes:x {a b}: c", "((((a))))",
		"'; DROP TABLE journal; --", "\x00", "a\x00b", "\xff\xfe a \xc3", "\x1b[31m\x07\u202e", "🚀🔥 👩‍👩‍👧‍👦 a", "a\u0301", "\u0301\u0302 \u20e3", "İSTANBUL ıI",
		"１２３ ⅷ ²", "!@#$%^&*()_+-=[]{}|\\;:,./<>?~`", "the a of and to in is it", strings.Repeat("a changelog ", 640), strings.Repeat("x", 10_000), different,
	} {
		f.Add(seed)
	}
	d := openMemory(f)
	remember(f, d, journal.Entry{Run: "r-1", Task: "t-1", Title: "a b c", Notes: "NOT near 🚀 d"}, journal.Entry{Run: "r-2", Task: "t-1", Title: "x"})
	f.Fuzz(func(t *testing.T, text string) {
		write(t, d, func(tx *db.Tx) error {
			tx.Do("DELETE FROM journal WHERE run = 'r-3';")
			return journal.Add(tx, journal.Entry{At: morning, Run: "r-3", Task: "t-1", Title: text, Notes: text, Outcome: "done"})
		})
		for _, q := range []journal.Query{{Run: "r-2", Title: text}, {Run: "r-2", Title: "x", Description: text}} {
			got := choose(t, d, q, usual)
			check.That(t, len(got.Recent) == 1 && len(got.Text()) <= 12_000, "%q: got %d recent entries and %d bytes", text, len(got.Recent), len(got.Text()))
		}
		view(t, d, func(tx *db.Tx) ([]journal.Entry, error) { return journal.Search(tx, text, 5) })
	})
}
