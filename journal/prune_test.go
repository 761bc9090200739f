package journal_test

import (
	"math"
	"strconv"
	"strings"
	"testing"
	"time"

	"ralph/internal/db"
	"ralph/internal/event"
	"ralph/internal/testing/check"
	"ralph/journal"
)

const day = 24 * time.Hour

func TestPruneKeepsFailuresLonger(t *testing.T) {
	t.Parallel()
	all := []string{"failed 40", "done 20", "interrupted 20", "failed 20", "timeout 20", "done 5", "failed 5"} // outcomes, days ago
	for name, tt := range map[string]struct {
		retention journal.Retention
		want      journal.Pruned
		left      []string
	}{
		"three times as long":            {journal.Retention{Keep: 10 * day}, journal.Pruned{Entries: 3, Failures: 1}, []string{"failed 20", "timeout 20", "done 5", "failed 5"}},
		"nothing is old":                 {journal.Retention{Keep: 100 * day}, journal.Pruned{}, all},
		"longer than there was any time": {journal.Retention{Keep: math.MaxInt64 / 2}, journal.Pruned{}, all},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := openMemory(t)
			for _, title := range all {
				outcome, age, _ := strings.Cut(title, " ")
				days, err := strconv.Atoi(age)
				check.OK(t, err)
				remember(t, d, journal.Entry{
					At: morning.Add(-time.Duration(days) * day), Run: "r-1", Task: "t-1", Title: title, Outcome: event.AttemptOutcome(outcome),
					Notes: "common words, common words", Reason: "because of " + title,
				})
			}
			checkIndex(t, d)
			tt.retention.Now = morning
			var got journal.Pruned
			write(t, d, func(tx *db.Tx) (err error) { got, err = journal.Prune(tx, tt.retention); return err })
			check.Equal(t, "pruned", tt.want, got)
			left := view(t, d, func(tx *db.Tx) ([]journal.Entry, error) { return journal.List(tx, journal.Filter{}) })
			check.Equal(t, "result", tt.left, titles(left))
			checkIndex(t, d)
			found := view(t, d, func(tx *db.Tx) ([]journal.Entry, error) { return journal.Search(tx, "interrupted", 5) })
			check.That(t, (len(found) == 1) == (len(tt.left) > 4), "a forgotten entry is found: %v", titles(found))
		})
	}
}
