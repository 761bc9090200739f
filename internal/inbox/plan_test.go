package inbox

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ralph/internal/db"
	"ralph/internal/testing/check"
)

// TestQueryPlans holds the statements that runs and views repeat to their indexes: none of them may grow with all that was
// ever asked.
func TestQueryPlans(t *testing.T) {
	t.Parallel()
	ofTask := "SEARCH requests USING INDEX requests_task (task=?)"
	byID := "SEARCH requests USING INDEX sqlite_autoindex_requests_1 (id=?)"
	tests := map[string]struct{ statement, want string }{
		"what waits": {openSQL, "SCAN requests USING INDEX requests_open"},
		"expire":     {expireSQL, "SEARCH requests USING COVERING INDEX requests_expires (expires_at>? AND expires_at<?)"},
		"answers":    {answersSQL, ofTask},
		"unread":     {unreadSQL, ofTask},
		"asked":      {askedSQL, ofTask},
		"stopped":    {stoppedSQL, ofTask},
		"the same":   {sameSQL, ofTask},
		"answer":     {replySQL, byID},
		"disown":     {disownSQL, byID},
		"receive":    {receiveSQL, byID},
		"get":        {getSQL, byID},
		"last":       {allSQL, "SCAN requests"}, // backwards, as far as its limit
	}
	d, err := db.Open(t.Context(), filepath.Join(t.TempDir(), "progress.db"), db.Options{})
	check.OK(t, err)
	defer d.Close()
	for name, test := range tests {
		var plan []string
		check.OK(t, d.View(t.Context(), func(tx *db.Tx) error {
			for r := range tx.Rows("EXPLAIN QUERY PLAN " + test.statement) {
				plan = append(plan, r.ColumnText(3))
			}
			return nil
		}))
		all := strings.Join(plan, "\n")
		check.That(t, slices.Contains(plan, test.want), "%s: got\n%s\nwant %s", name, all, test.want)
		check.That(t, !strings.Contains(all, "TEMP B-TREE"), "%s sorts:\n%s", name, all)
	}
}
