package journal

import (
	"path/filepath"
	"slices"
	"testing"

	"ralph/internal/db"
	"ralph/internal/testing/check"
	"ralph/internal/words"
)

// TestAWordInVeryManyRowsIsSearchedForIfRarerOnesBringLittle: its newest rows are a
// few of many, and looking them up costs as much as a rare word's.
func TestAWordInVeryManyRowsIsSearchedForIfRarerOnesBringLittle(t *testing.T) {
	t.Parallel()
	d, err := db.Open(t.Context(), filepath.Join(t.TempDir(), "progress.db"), db.Options{})
	check.OK(t, err)
	defer d.Close()
	const last = maxRows + 3
	err = d.Update(t.Context(), func(tx *db.Tx) error {
		for n := 1; n <= last; n++ {
			notes := "rare"
			switch n {
			case 1:
				notes = "rare scarce"
			case last:
				notes = "often"
			}
			_ = Add(tx, Entry{Run: "r-1", Task: "t-1", Outcome: "done", Notes: notes})
		}
		return nil
	})
	check.OK(t, err)
	for name, tt := range map[string]struct {
		terms []words.Term
		want  bool // the row with "often" is found
	}{
		"rarer words brought enough rows": {[]words.Term{{Word: "rare", Docs: maxRows, Rows: 1e5}, {Word: "often", Docs: manyRows + 1, Rows: 1e5}}, false},
		"they did not":                    {[]words.Term{{Word: "scarce", Docs: 1, Rows: 1e5}, {Word: "often", Docs: manyRows + 1, Rows: 1e5}}, true},
		"it is not in so many":            {[]words.Term{{Word: "rare", Docs: maxRows, Rows: 1e5}, {Word: "often", Docs: manyRows, Rows: 1e5}}, true},
	} {
		t.Run(name, func(t *testing.T) {
			err := d.View(t.Context(), func(tx *db.Tx) error {
				rows := promising(tx, tt.terms, nil)
				check.That(t, slices.Contains(rows, last) == tt.want, "got %v, want the last row: %v", rows, tt.want)
				return nil
			})
			check.OK(t, err)
		})
	}
}
