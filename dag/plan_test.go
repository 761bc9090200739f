package dag_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"zombiezen.com/go/sqlite"

	"ralph/dag"
)

const byRow = "SEARCH tasks USING INTEGER PRIMARY KEY (rowid=?)"

// TestQueryPlans holds every statement whose cost is promised to its index. What
// is not listed as sorted must not sort: its cost is flat.
func TestQueryPlans(t *testing.T) {
	t.Parallel()
	below := []string{"SEARCH c USING COVERING INDEX tasks_parent (parent=?)"}
	queueAll := "SEARCH tasks USING INDEX queue_all (queue=?)"
	queueFeature := "SEARCH tasks USING INDEX queue_feature (feature=? AND queue=?)"
	tests := map[string]struct {
		want  []string
		sorts int
	}{
		"claim, all":     {[]string{byRow, queueAll}, 0},
		"claim, feature": {[]string{byRow, queueFeature}, 0},
		// What is sorted are the two best of two queues.
		"claim, all, keep going":     {[]string{byRow, queueAll, queueAll}, 1},
		"claim, feature, keep going": {[]string{byRow, queueFeature, queueFeature}, 1},
		// What is sorted are the ready tasks of the subtree, looked up one by one.
		"claim, subtree": {append(below, byRow, "SEARCH tasks USING COVERING INDEX sqlite_autoindex_tasks_1 (id=?)",
			"SEARCH t USING INTEGER PRIMARY KEY (rowid=?)"), 1},
		// What is skipped is looked at, one by one.
		"claim, all, skipping":                 {[]string{byRow, queueAll}, 0},
		"claim, feature, skipping":             {[]string{byRow, queueFeature}, 0},
		"claim, all, keep going, skipping":     {[]string{byRow, queueAll, queueAll}, 1},
		"claim, feature, keep going, skipping": {[]string{byRow, queueFeature, queueFeature}, 1},
		"claim, subtree, skipping":             {append(below, byRow, "SEARCH t USING INTEGER PRIMARY KEY (rowid=?)"), 1},
		"skipped, all":                         {[]string{"SEARCH tasks USING INDEX queue_all (queue<?)"}, 0},
		"skipped, feature":                     {[]string{"SEARCH tasks USING INDEX queue_feature (feature=? AND queue<?)"}, 0},
		"clear waits":                          {[]string{"SEARCH tasks USING INDEX tasks_waiting (not_before>? AND not_before<?)"}, 0},

		"ready, all":              {[]string{queueAll}, 0},
		"ready, feature":          {[]string{queueFeature}, 0},
		"ready, due":              {[]string{"SEARCH tasks USING INDEX tasks_waiting (not_before>? AND not_before<?)"}, 0},
		"count ready, all":        {[]string{strings.Replace(queueAll, "queue=?", "queue<?", 1)}, 0},
		"count ready, feature":    {[]string{strings.Replace(queueFeature, "queue=?", "queue<?", 1)}, 0},
		"count ready, subtree":    {append(below, "SEARCH t USING INTEGER PRIMARY KEY (rowid=?)"), 0},
		"count statuses, feature": {[]string{"SEARCH tasks USING COVERING INDEX tasks_status (feature=?)"}, 0},
		"count statuses, subtree": {append(below, "SEARCH t USING INTEGER PRIMARY KEY (rowid=?)"), 1},
		"count groups, feature":   {[]string{"SEARCH tasks USING COVERING INDEX tasks_groups (feature=?)"}, 0},
		"count waits, all":        {[]string{"SEARCH tasks USING INDEX tasks_waiting (not_before>?)"}, 0},
		"what is claimed":         {[]string{"SEARCH tasks USING INDEX tasks_owner (owner>?)"}, 1},
		"list a feature":          {[]string{"SEARCH tasks USING INDEX tasks_status (feature=?)"}, 1},

		"look up by ID":     {[]string{"SEARCH tasks USING INDEX sqlite_autoindex_tasks_1 (id=?)"}, 0},
		"look up by prefix": {[]string{"SEARCH tasks USING INDEX sqlite_autoindex_tasks_1 (id>? AND id<?)"}, 0},
		"look at children": {[]string{
			"SEARCH tasks USING COVERING INDEX tasks_parent (parent=? AND status=?)",
			"SEARCH tasks USING COVERING INDEX tasks_parent (parent=? AND status=?)",
		}, 0},
		"blockers":           {[]string{"SEARCH dependencies USING COVERING INDEX dependencies_blocked (blocked=?)", byRow}, 0},
		"dependents":         {[]string{"SEARCH dependencies USING PRIMARY KEY (blocker=?)", byRow}, 0},
		"children":           {[]string{"SEARCH tasks USING INDEX tasks_parent (parent=?)"}, 1},
		"attempts of a task": {[]string{"SEARCH a USING INDEX attempts_task (task=?)"}, 0},
		// What was used is added up, attempt by attempt.
		"usage of a run":     {[]string{"SEARCH a USING INDEX attempts_run (run=?)"}, 0},
		"usage of a task":    {[]string{"SEARCH a USING INDEX attempts_task (task=?)"}, 0},
		"usage of a feature": {[]string{"SEARCH t USING COVERING INDEX tasks_status (feature=?)", "SEARCH a USING INDEX attempts_task (task=?)"}, 0},
		"usage since":        {[]string{"SEARCH a USING INDEX attempts_started (started_at>?)"}, 0},
		"agents' limits":     {[]string{"SCAN agent_limits"}, 1}, // a row for each agent
		"waits for agents":   {[]string{"SEARCH tasks USING INDEX tasks_waiting (not_before>?)"}, 1},
		"lift waits":         {[]string{"SEARCH tasks USING INDEX tasks_waiting (not_before>?)"}, 0},
		"forget waits":       {[]string{"SEARCH tasks USING INDEX tasks_waiting (not_before>?)"}, 0},
		"last failure":       {[]string{"SEARCH task_logs USING INDEX task_logs_task (task=? AND kind=?)"}, 1},

		"move":                      {[]string{byRow}, 0},
		"check a claim":             {[]string{"SEARCH tasks USING INDEX sqlite_autoindex_tasks_1 (id=?)"}, 0},
		"heartbeat":                 {[]string{"SEARCH tasks USING INDEX sqlite_autoindex_tasks_1 (id=?)"}, 0},
		"recount dependents":        {[]string{"SEARCH e USING PRIMARY KEY (blocker=?)", byRow}, 0},
		"search cycles, blockers":   {[]string{"SEARCH dependencies USING COVERING INDEX dependencies_blocked (blocked=?)"}, 0},
		"search cycles, dependents": {[]string{"SEARCH dependencies USING PRIMARY KEY (blocker=?)"}, 0},
		"search cycles, children":   {[]string{"SEARCH tasks USING COVERING INDEX tasks_parent (parent=?)"}, 0},

		"carry flags down":             {[]string{"SEARCH c USING INDEX tasks_parent (parent=?)", byRow}, 0},
		"carry flags down, whole tree": {append(below, byRow), 0},
		"reset a tree":                 {append(below, byRow), 0},
		"give a tree to a feature":     {append(below, byRow), 0},
		"delete a tree": {append(below, byRow,
			"SEARCH attempts USING COVERING INDEX attempts_task (task=?)",
			"SEARCH task_logs USING COVERING INDEX task_logs_task (task=?)",
			"SEARCH dependencies USING COVERING INDEX dependencies_blocked (blocked=?)",
			"SEARCH dependencies USING PRIMARY KEY (blocker=?)",
			"SEARCH tasks USING COVERING INDEX tasks_parent (parent=?)"), 0},
		"hold dependents of a tree": {append(below, byRow, "SEARCH e USING PRIMARY KEY (blocker=?)"), 1},
		"free dependents of a tree": {append(below, byRow, "SEARCH e USING PRIMARY KEY (blocker=?)"), 1},
	}
	w := newWorld(t)
	statements := dag.Statements()
	for name := range statements {
		if _, ok := tests[name]; !ok {
			t.Errorf("no test says how %q is to be run", name)
		}
	}
	for name, test := range tests {
		plan := explain(w, statements[name])
		rest := slices.Clone(plan)
		for _, want := range test.want {
			i := slices.Index(rest, want)
			if i < 0 {
				t.Errorf("%s: got\n%s\nwant %s", name, strings.Join(plan, "\n"), want)
				continue
			}
			rest = slices.Delete(rest, i, i+1)
		}
		sorts := 0
		for _, step := range plan {
			if scansTable.MatchString(step) {
				t.Errorf("%s: it scans: %s", name, step)
			}
			if strings.Contains(step, "TEMP B-TREE") {
				sorts++
			}
		}
		if sorts != test.sorts {
			t.Errorf("%s: it sorts %d times, want %d:\n%s", name, sorts, test.sorts, strings.Join(plan, "\n"))
		}
	}
}

// scansTable tells a stored table, which has a name or an alias of one letter,
// from what a statement made itself: subqueries in brackets, "sub" and "d".
var scansTable = regexp.MustCompile(`^SCAN (tasks|dependencies|attempts|task_logs|features|runs|[abcefprt])\b|AUTOMATIC`)

func explain(w *world, statement string) (plan []string) {
	w.view(func(g *dag.Graph) error {
		return g.Tx().Each("EXPLAIN QUERY PLAN "+statement, func(stmt *sqlite.Stmt) error {
			plan = append(plan, stmt.ColumnText(3))
			return nil
		})
	})
	return plan
}
