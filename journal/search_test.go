package journal_test

import (
	"strings"
	"testing"

	"ralph/internal/db"
	"ralph/internal/testing/check"
	"ralph/journal"
)

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
	for _, seed := range []string{"", "a", `"`, "NOT", "NEAR(a b)", "a*", "^a", "a:b", "{a b}:c", "\x00", "\xff", "🚀", "a\u0301", "-", "'"} {
		f.Add(seed)
	}
	d := openMemory(f)
	remember(f, d, journal.Entry{Run: "r-1", Task: "t-1", Title: "a b c", Notes: "NOT near 🚀 d"}, journal.Entry{Run: "r-2", Task: "t-1", Title: "x"})
	f.Fuzz(func(t *testing.T, text string) {
		write(t, d, func(tx *db.Tx) error {
			if err := tx.Exec("DELETE FROM journal WHERE run = 'r-3';"); err != nil {
				return err
			}
			return journal.Add(tx, journal.Entry{At: morning, Run: "r-3", Task: "t-1", Title: text, Notes: text, Outcome: "done"})
		})
		for _, q := range []journal.Query{{Run: "r-2", Title: text}, {Run: "r-2", Title: "x", Description: text}} {
			if got := choose(t, d, q, journal.Options{}); len(got.Recent) != 1 || len(got.Text()) > 12_000 {
				t.Errorf("%q: got %d recent entries and %d bytes", text, len(got.Recent), len(got.Text()))
			}
		}
		view(t, d, func(tx *db.Tx) ([]journal.Entry, error) { return journal.Search(tx, text, 5) })
	})
}
