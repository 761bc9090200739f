package journal_test

import (
	"math"
	"testing"
	"time"

	"ralph/event"
	"ralph/internal/db"
	"ralph/internal/testing/check"
	"ralph/journal"
)

const day = 24 * time.Hour

func TestPruneKeepsFailuresLonger(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		retention journal.Retention
		want      journal.Pruned
		left      []string
	}{
		"three times as long":            {journal.Retention{Keep: 10 * day}, journal.Pruned{Entries: 3, Failures: 1}, []string{"failed 20", "timeout 20", "done 5", "failed 5"}},
		"as long as is said":             {journal.Retention{Keep: 10 * day, Failures: 1}, journal.Pruned{Entries: 5, Failures: 3}, []string{"done 5", "failed 5"}},
		"nothing is old":                 {journal.Retention{Keep: 100 * day}, journal.Pruned{}, []string{"failed 40", "done 20", "interrupted 20", "failed 20", "timeout 20", "done 5", "failed 5"}},
		"longer than there was any time": {journal.Retention{Keep: math.MaxInt64 / 2}, journal.Pruned{}, []string{"failed 40", "done 20", "interrupted 20", "failed 20", "timeout 20", "done 5", "failed 5"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := openMemory(t)
			for _, e := range []struct {
				outcome event.AttemptOutcome
				days    int
				title   string
			}{
				{"failed", 40, "failed 40"},
				{"done", 20, "done 20"},
				{"interrupted", 20, "interrupted 20"},
				{"failed", 20, "failed 20"},
				{"timeout", 20, "timeout 20"},
				{"done", 5, "done 5"},
				{"failed", 5, "failed 5"},
			} {
				remember(t, d, journal.Entry{
					At: morning.Add(-time.Duration(e.days) * day), Run: "r-1", Task: "t-1", Title: e.title, Outcome: e.outcome, Notes: "common words, common words", Reason: "because of " + e.title,
				})
			}
			checkIndex(t, d)
			tt.retention.Now = morning
			var got journal.Pruned
			write(t, d, func(tx *db.Tx) (err error) {
				got, err = journal.Prune(tx, tt.retention)
				return err
			})
			if got != tt.want {
				t.Errorf("got %+v, want %+v", got, tt.want)
			}
			left := view(t, d, func(tx *db.Tx) ([]journal.Entry, error) { return journal.List(tx, journal.Filter{}) })
			check.Equal(t, "result", tt.left, titles(left))
			checkIndex(t, d)
			found := view(t, d, func(tx *db.Tx) ([]journal.Entry, error) { return journal.Search(tx, "interrupted", 5) })
			if wantFound := len(tt.left) > 4; (len(found) == 1) != wantFound {
				t.Errorf("a forgotten entry is found: %v", titles(found))
			}
		})
	}
}
