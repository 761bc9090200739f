package dag

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"ralph/internal/db"
	"ralph/internal/testing/check"
)

const (
	byRow    = "SEARCH tasks USING INTEGER PRIMARY KEY (rowid=?)"
	openOnly = "SCAN attempts USING INDEX attempts_open"
	asking   = "SCAN tasks USING INDEX tasks_asks"  // only tasks that wait for an answer
	loose    = "SCAN tasks USING INDEX tasks_loose" // only tasks of no feature
	refused  = "SCAN attempts USING INDEX attempts_refused"
	onlyHeld = "SEARCH t USING INDEX tasks_unverified (unverified>?)"
	unseen   = "SCAN merges USING INDEX merges_unreviewed" // only what landed and nobody looked at
)

// TestQueryPlans holds every statement whose cost is promised to its index. What
// is not listed as sorted must not sort: its cost is flat.
func TestQueryPlans(t *testing.T) {
	t.Parallel()
	below := []string{"SEARCH c USING COVERING INDEX tasks_parent (parent=?)"}
	queueAll := "SEARCH tasks USING INDEX queue_all (queue=?)"
	pickAll := "SEARCH t USING INDEX queue_all (queue=?)"
	pickFeature := "SEARCH t USING INDEX queue_feature (feature=? AND queue=?)"
	queueFeature := "SEARCH tasks USING INDEX queue_feature (feature=? AND queue=?)"
	afterHeldWork := []string{onlyHeld, "SEARCH e USING PRIMARY KEY (blocker=?)"}
	tests := map[string]struct {
		statement string
		want      []string
		sorts     int
	}{
		"uses of knowledge": {knowledgeUsesSQL, []string{"SCAN knowledge_uses"}, 0}, // as many as entries that were used
		"claim":             {claimSQL, []string{byRow}, 0},
		"pick, all":         {readAllSQL, []string{pickAll, pickAll}, 0},
		"pick, feature":     {readFeatureSQL, []string{pickFeature, pickFeature}, 0},
		// What is sorted are the ready tasks of the subtree, looked up one by one.
		"pick, subtree": {readTreeSQL, append(below, "SEARCH t USING INTEGER PRIMARY KEY (rowid=?)"), 1},
		// What is sorted are the first tasks of each lockset.
		"pick, the first of each lockset": {readHeadsSQL, []string{
			"SEARCH o USING INDEX queue_locks (lockset>?)",
			"SEARCH h USING INTEGER PRIMARY KEY (rowid=?)", "SEARCH t USING INTEGER PRIMARY KEY (rowid=?)",
		}, 1},
		// What is finished are a few tasks.
		"pick what is finished": {readFinishedSQL, []string{"SEARCH t USING INDEX queue_finished (queue<?)"}, 1},
		// What is walked are the tasks after held work; where nothing is held, an index is empty. What is sorted are those that may begin.
		"pick what begins on held work": {readAheadSQL, append(afterHeldWork, "SEARCH t USING INTEGER PRIMARY KEY (rowid=?)"), 1},
		"the same in a subtree":         {readAheadInScopeSQL, append(slices.Concat(below, afterHeldWork), "SEARCH t USING INTEGER PRIMARY KEY (rowid=?)"), 1},
		"what a task waits for":         {waitsForSQL, []string{"SEARCH e USING COVERING INDEX dependencies_blocked (blocked=?)", "SEARCH c USING INDEX tasks_parent (parent=?)"}, 2},
		"work that others stand on":     {lineSQL, []string{"SEARCH t USING INTEGER PRIMARY KEY (rowid=?)"}, 0},
		"what stands on work":           {fallenSQL, []string{"SEARCH t USING INDEX tasks_standing (stands_on>?)", "SEARCH b USING INTEGER PRIMARY KEY (rowid=?) LEFT-JOIN"}, 0},
		"work behind other work":        {behindSQL, []string{"SEARCH tasks USING INDEX tasks_standing (stands_on>?)"}, 0},
		"held locks":                    {locksSQL, []string{"SCAN locks"}, 0}, // as many as agents are at work
		"free locks":                    {freeLocksSQL, []string{"SCAN locks"}, 0},
		"who has a slot":                {inSlotsSQL, []string{"SEARCH a USING INDEX sqlite_autoindex_attempts_1 (id=?)"}, 1},
		"is there a slot":               {anySlotSQL, []string{"SEARCH attempts USING COVERING INDEX attempts_slot (slot>?)"}, 0},
		"the slot of a task":            {lastSlotSQL, []string{"SEARCH attempts USING INDEX attempts_task (task=?)"}, 0},

		// What is sorted are the open entries.
		"the queue":              {queueSQL, []string{"SEARCH merges USING INDEX merges_state (state=?)"}, 1},
		"entries in a state":     {mergesSQL, []string{"SEARCH merges USING INDEX merges_state (state=?)"}, 0},
		"what landed":            {landedOfSQL, []string{"SEARCH merges USING INDEX merges_task (task=?)"}, 0},
		"what tasks are done by": {landingsSQL, []string{"SEARCH m USING INDEX merges_state (state=?)", "SEARCH t USING INTEGER PRIMARY KEY (rowid=?)"}, 1},
		"below all that landed":  {firstOntoSQL, []string{"SEARCH merges USING INDEX merges_state (state=?)"}, 0},
		"what a run landed":      {landedInSQL, []string{"SEARCH merges USING INDEX merges_attempt (attempt=?)"}, 1},
		"finished":               {finishedSQL, []string{"SEARCH tasks USING INDEX queue_finished (queue<?)"}, 0},
		"who takes it back":      {undoingSQL, []string{"SEARCH u USING COVERING INDEX undoes_undone (undone=?)", "SEARCH t USING INTEGER PRIMARY KEY (rowid=?)"}, 0},
		"what it takes back":     {undoneSQL, []string{"SEARCH u USING PRIMARY KEY (task=?)", "SEARCH t USING INTEGER PRIMARY KEY (rowid=?)"}, 0},
		"resumed work":           {resumedSQL, []string{"SEARCH merges USING INDEX merges_task (task=?)"}, 0},
		"enter":                  {enterSQL, []string{"SEARCH m USING INDEX merges_task (task=?)"}, 0},
		"is something open":      {openMergeSQL, []string{"SEARCH merges USING INDEX merges_task (task=?)"}, 0},
		"enter again":            {reenterSQL, []string{"SEARCH merges USING INDEX merges_task (task=?)"}, 0},

		"rate":           {rateSQL, []string{"SEARCH merges USING INTEGER PRIMARY KEY (rowid=?)", "SEARCH u USING PRIMARY KEY (task=?)"}, 0},
		"past risks":     {risksSQL, []string{"SEARCH merges USING INDEX merges_state (state=?)"}, 0},
		"what was spent": {spentSQL, []string{"SEARCH attempts USING INDEX attempts_outcome (outcome=? AND ended_at>?)"}, 0},
		"refused work":   {refusedSQL, []string{refused}, 0},
		"work taken back": {takenBackSQL, []string{
			"SCAN u USING COVERING INDEX undoes_undone", "SEARCH r USING INTEGER PRIMARY KEY (rowid=?)", "SEARCH m USING INDEX merges_task (task=? AND n<?)", "SEARCH x USING INDEX merges_task (task=?)",
		}, 1}, // as many as were undone
		"not looked at": {unreviewedSQL, []string{
			unseen, "SEARCH t USING INTEGER PRIMARY KEY (rowid=?)", "SEARCH l USING INDEX merges_task (task=? AND n>?)",
		}, 0},
		"landed since a time": {landedSinceSQL, []string{"SEARCH merges USING INDEX merges_state (state=?)"}, 0},
		"say undone":          {sayUndoneSQL, []string{"SEARCH undoes USING PRIMARY KEY (task=? AND undone=?)"}, 0},
		"said undone":         {undoneSaysSQL, []string{"SEARCH undoes USING PRIMARY KEY (task=? AND undone=?)"}, 0},
		"mark as looked at":   {reviewedSQL, []string{"SEARCH merges USING INTEGER PRIMARY KEY (rowid=?)"}, 0},

		"clear waits": {clearWaitsSQL, []string{"SEARCH tasks USING COVERING INDEX tasks_waiting (not_before>? AND not_before<?)"}, 0},

		// A forecast reads the last attempts, and all that is open in its scope: of everything that is a walk through all tasks, once.
		"attempts for a forecast":      {pastAttemptsSQL, []string{"SEARCH a USING INTEGER PRIMARY KEY (rowid>?)", "SEARCH t USING INTEGER PRIMARY KEY (rowid=?) LEFT-JOIN"}, 0},
		"open tasks of a feature":      {nodesFeatureSQL, []string{"SEARCH t USING INDEX tasks_feature (feature=?)", "SEARCH c USING INDEX tasks_parent (parent=? AND status=?)"}, 0},
		"open tasks of a subtree":      {nodesTreeSQL, append(below, "SEARCH t USING INTEGER PRIMARY KEY (rowid=?)"), 1},
		"what a feature's tasks need":  {waitsForFeatureSQL, []string{"SEARCH t USING INDEX tasks_feature (feature=?)", "SEARCH d USING COVERING INDEX dependencies_blocked (blocked=?)"}, 0},
		"what those of a subtree need": {waitsForTreeSQL, append(below, "SEARCH d USING COVERING INDEX dependencies_blocked (blocked=?)"), 0},
		"keep a forecast":              {keepForecastSQL, []string{"SEARCH runs USING COVERING INDEX sqlite_autoindex_runs_1 (id=?)"}, 0},
		"a kept forecast":              {forecastSQL, []string{"SEARCH r USING INDEX sqlite_autoindex_runs_1 (id=?)", "SEARCH f USING INTEGER PRIMARY KEY (rowid=?)"}, 0},

		"ready, all":               {readySQL, []string{queueAll}, 0},
		"ready, feature":           {readyFeatureSQL, []string{queueFeature}, 0},
		"ready, finished":          {readyFinishedSQL, []string{"SEARCH tasks USING INDEX queue_finished (queue<?)"}, 0},
		"ready, due":               {dueSQL, []string{"SEARCH tasks USING INDEX tasks_waiting (not_before>? AND not_before<?)"}, 0},
		"count, all":               {countsAllSQL, []string{"SEARCH counts USING PRIMARY KEY (feature=?)"}, 0},
		"count, feature":           {countsFeatureSQL, []string{"SEARCH counts USING PRIMARY KEY (feature=?)"}, 0},
		"count, subtree":           {countsTreeSQL, append(below, "SEARCH t USING INTEGER PRIMARY KEY (rowid=?)"), 1},
		"count asks, all":          {asksAllSQL, []string{asking}, 0},
		"count waits, all":         {waitsAllSQL, []string{"SEARCH tasks USING INDEX tasks_waiting (not_before>?)"}, 0},
		"what is claimed":          {claimedSQL, []string{"SEARCH tasks USING INDEX tasks_owner (owner>?)"}, 1},
		"failed, and excused":      {excusedSQL, []string{"SEARCH tasks USING INDEX tasks_status (feature=? AND status=?)"}, 1},
		"list what has no feature": {listLooseSQL, []string{loose}, 0},
		"list a feature":           {listFeatureSQL, []string{"SEARCH tasks USING INDEX tasks_feature (feature=?)"}, 0},
		"why tasks failed":         {failuresSQL, []string{"SEARCH t USING INDEX tasks_failed (status=?)", "SEARCH l USING INDEX task_logs_task (task=? AND kind=?)"}, 1},
		"agents of tasks":          {agentsAllSQL, []string{"SEARCH tasks USING INDEX tasks_agent (agent>?)"}, 0},
		"what failed":              {failedSQL, []string{"SEARCH tasks USING INDEX tasks_failed (status=?)"}, 0},
		"what is kept back":        {keptSQL, []string{"SEARCH tasks USING INDEX tasks_kept (queue=?)"}, 0},
		// What is sorted is what was done by hand since then.
		"done by hand": {doneByHandSQL, []string{"SEARCH tasks USING INDEX tasks_by_hand (finished_at>?)"}, 1},

		// What is sorted are the tasks, or the attempts, of a feature. This is asked when its last task is done.
		"last review": {lastReviewSQL, []string{"SEARCH t USING INDEX tasks_feature (feature=?)", "SEARCH r USING INTEGER PRIMARY KEY (rowid=?)"}, 0},
		"next round":  {nextRoundSQL, []string{"SEARCH t USING INDEX tasks_feature (feature=?)", "SEARCH o USING COVERING INDEX sqlite_autoindex_tasks_1 (id=?)", "SEARCH r USING INTEGER PRIMARY KEY (rowid=?) LEFT-JOIN"}, 1},
		// What is sorted are the tasks that a run works on.
		"who added it": {discovererSQL, []string{"SEARCH r USING INDEX sqlite_autoindex_runs_1 (id=?)", "SEARCH t USING INDEX tasks_owner (owner=?)"}, 1},
		"note that":    {discoverSQL, []string{"SEARCH tasks USING INDEX sqlite_autoindex_tasks_1 (id=?)"}, 0},
		"unaccepted":   {unacceptedSQL, []string{"SEARCH t USING INDEX tasks_failed (status=?)", "SEARCH r USING INTEGER PRIMARY KEY (rowid=?)"}, 0},
		"is it one":    {focusSQL, []string{"SEARCH reviews USING INTEGER PRIMARY KEY (rowid=?)"}, 0},
		"proofs":       {proofsSQL, []string{"SEARCH p USING INDEX proofs_feature (feature=?)", "SEARCH t USING INDEX sqlite_autoindex_tasks_1 (id=?) LEFT-JOIN", "SEARCH a USING INDEX attempts_task (task=?)"}, 0},
		"drop proofs":  {dropProofsSQL, []string{"SEARCH proofs USING INDEX proofs_feature (feature=?)"}, 0},
		"withdraw":     {withdrawSQL, []string{"SEARCH proofs USING INDEX proofs_feature (feature=? AND criterion=?)"}, 0},
		"first tree":   {firstSQL, []string{"SEARCH t USING COVERING INDEX tasks_feature (feature=?)", "SEARCH a USING INDEX attempts_task (task=?)"}, 1},
		"same title":   {likeSQL, []string{"SEARCH tasks USING INDEX tasks_feature (feature=?)"}, 0},

		"look up by ID":     {byIDSQL, []string{"SEARCH tasks USING INDEX sqlite_autoindex_tasks_1 (id=?)"}, 0},
		"look up by prefix": {byPrefixSQL, []string{"SEARCH tasks USING INDEX sqlite_autoindex_tasks_1 (id>? AND id<?)"}, 0},
		"look at children": {childrenSQL, []string{
			"SEARCH tasks USING COVERING INDEX tasks_parent (parent=? AND status=?)",
			"SEARCH tasks USING COVERING INDEX tasks_parent (parent=? AND status=?)",
		}, 0},
		"blockers": {blockersSQL, []string{"SEARCH dependencies USING COVERING INDEX dependencies_blocked (blocked=?)", byRow}, 0},
		"outputs of what was before": {outputsSQL, []string{
			"SEARCH t USING INTEGER PRIMARY KEY (rowid=?)", "SEARCH d USING COVERING INDEX dependencies_blocked (blocked=?)",
			"SEARCH d USING COVERING INDEX dependencies_blocked (blocked=?)", "SEARCH c USING COVERING INDEX tasks_parent (parent=?)",
			"SEARCH t USING INTEGER PRIMARY KEY (rowid=?)", "SEARCH d USING COVERING INDEX dependencies_blocked (blocked=?)", byRow,
		}, 0},
		"dependents":         {dependantsSQL, []string{"SEARCH dependencies USING PRIMARY KEY (blocker=?)", byRow}, 0},
		"children":           {childTasksSQL, []string{"SEARCH tasks USING INDEX tasks_parent (parent=?)"}, 1},
		"attempts of a task": {attemptsSQL, []string{"SEARCH a USING INDEX attempts_task (task=?)"}, 0},
		// What is over was added up before. What is open are as many attempts as agents are at work.
		"usage of a run":     {usageOfRunSQL, []string{"SEARCH spent USING PRIMARY KEY (scope=? AND key=?)"}, 0},
		"usage of a chain":   {usageOfChainSQL, []string{"SEARCH spent USING PRIMARY KEY (scope=? AND key=?)", openOnly}, 0},
		"usage of a task":    {usageOfTaskSQL, []string{"SEARCH attempts USING INDEX attempts_task (task=?)"}, 0},
		"usage of a feature": {usageOfFeatureSQL, []string{"SEARCH spent USING PRIMARY KEY (scope=? AND key=?)", openOnly}, 0},
		"usage since": {usageSinceSQL, []string{
			"SEARCH spent USING PRIMARY KEY (scope=? AND key>?)", "SEARCH attempts USING INDEX attempts_started (started_at>? AND started_at<?)", openOnly,
		}, 0},
		"failures of a feature": {countFeatureSQL, []string{
			openOnly, "SEARCH attempts USING COVERING INDEX attempts_feature (feature=? AND outcome=? AND ended_at>?)",
			"SEARCH a USING INDEX attempts_feature (feature=? AND outcome=? AND ended_at>?)",
		}, 1},
		"failures since": {countSinceSQL, []string{
			openOnly, "SEARCH attempts USING INDEX attempts_outcome (outcome=? AND ended_at>?)", "SEARCH a USING INDEX attempts_outcome (outcome=? AND ended_at>?)",
		}, 1},
		"agents' limits":   {agentLimitsSQL, []string{"SCAN agent_limits"}, 1}, // a row for each agent
		"waits for agents": {agentWaitsSQL, []string{"SEARCH tasks USING INDEX tasks_waiting (not_before>?)"}, 1},
		"lift waits":       {liftWaitsSQL, []string{"SEARCH tasks USING INDEX tasks_waiting (not_before>?)"}, 0},
		"forget waits":     {forgetAgentWaits, []string{"SEARCH tasks USING INDEX tasks_waiting (not_before>?)"}, 0},
		"last failure":     {lastFailureSQL, []string{"SEARCH task_logs USING INDEX task_logs_task (task=? AND kind=?)"}, 1},

		"open questions": {openAsksSQL, []string{"SEARCH requests USING INDEX requests_task (task=?)"}, 0},

		"move":               {moveSQL, []string{byRow}, 0},
		"check a claim":      {heldSQL, []string{"SEARCH tasks USING INDEX sqlite_autoindex_tasks_1 (id=?)"}, 0},
		"heartbeat":          {heartbeatSQL, []string{"SEARCH tasks USING INDEX sqlite_autoindex_tasks_1 (id=?)"}, 0},
		"recount dependents": {dependentsSQL, []string{"SEARCH e USING PRIMARY KEY (blocker=?)", byRow}, 0},

		// A plan that changes stored tasks reads what those lead to, each list in one statement.
		"load what a plan names": {loadNamedSQL, []string{"SEARCH p USING INDEX sqlite_autoindex_tasks_1 (id=?)"}, 0},
		"load by number":         {loadNumbersSQL, []string{"SEARCH p USING INTEGER PRIMARY KEY (rowid=?)"}, 0},
		"load subtasks":          {loadChildrenSQL, []string{"SEARCH p USING INDEX tasks_parent (parent=?)"}, 0},
		"what waits for those":   {waitForThemSQL, []string{"SEARCH dependencies USING PRIMARY KEY (blocker=?)"}, 0},
		"planned edges":          {plannedEdgesSQL, []string{"SEARCH dependencies USING COVERING INDEX dependencies_blocked (blocked=?)"}, 0},
		"search parents":         {parentsOfSQL, []string{byRow}, 0},
		"search subtasks":        {childrenOfSQL, []string{"SEARCH tasks USING COVERING INDEX tasks_parent (parent=?)"}, 0},
		"search blockers":        {blockersOfSQL, []string{"SEARCH dependencies USING COVERING INDEX dependencies_blocked (blocked=?)"}, 0},

		"look around": {linkedSQL, []string{
			"SEARCH dependencies USING COVERING INDEX dependencies_blocked (blocked=?)", "SEARCH dependencies USING PRIMARY KEY (blocker=?)",
			"SEARCH tasks USING COVERING INDEX tasks_parent (parent=?)", byRow,
		}, 0},
		"name blockers": {blockerIDsSQL, []string{
			"SEARCH t USING INTEGER PRIMARY KEY (rowid=?)", "SEARCH d USING COVERING INDEX dependencies_blocked (blocked=?)", "SEARCH b USING INTEGER PRIMARY KEY (rowid=?)",
		}, 0},

		// What is scanned are the relations to tasks that are not here.
		"it is here now":   {metSQL, []string{"SEARCH unmet USING PRIMARY KEY (task=? AND other=?)"}, 0},
		"acceptances":      {acceptancesSQL, []string{"SCAN v", "SEARCH t USING INTEGER PRIMARY KEY (rowid=?)"}, 0}, // as many as reviews
		"what is not here": {unmetSQL, []string{"SCAN u", "SEARCH t USING INTEGER PRIMARY KEY (rowid=?)"}, 0},
		// What is scanned are the tasks that went in the last 90 days.
		"what went long ago":    {pruneGoneSQL, []string{"SCAN gone"}, 0},
		"was it here":           {goneSQL, []string{"SEARCH gone USING INDEX sqlite_autoindex_gone_1 (id=?)"}, 0},
		"give it back":          {giveBackSQL, []string{"SEARCH gone USING INDEX sqlite_autoindex_gone_1 (id=?)", byRow, byRow}, 0},
		"give its log back":     {logsBackSQL, []string{"SEARCH gone USING INDEX sqlite_autoindex_gone_1 (id=?)"}, 1},
		"give its review back":  {reviewBackSQL, []string{"SEARCH gone USING INDEX sqlite_autoindex_gone_1 (id=?)"}, 0},
		"give its import back":  {importedBackSQL, []string{"SEARCH gone USING INDEX sqlite_autoindex_gone_1 (id=?)"}, 0},
		"give its adder back":   {addedBackSQL, []string{"SEARCH gone USING INDEX sqlite_autoindex_gone_1 (id=?)"}, 0},
		"give its undoing back": {undoesBackSQL, []string{"SEARCH gone USING INDEX sqlite_autoindex_gone_1 (id=?)"}, 0},
		"put it away":           {putAwaySQL, []string{byRow}, 1},
		"it is back":            {forgetGoneSQL, []string{"SEARCH gone USING COVERING INDEX sqlite_autoindex_gone_1 (id=?)"}, 0},

		"carry flags down":             {flagSQL, []string{"SEARCH c USING INDEX tasks_parent (parent=?)", byRow}, 0},
		"carry flags down, whole tree": {reflagSQL, append(below, byRow), 0},
		"reset a tree":                 {resetTreeSQL, append(below, byRow), 0},
		"give a tree to a feature":     {setFeatureSQL, append(below, byRow), 0},
		"delete a tree": {deleteTreeSQL, append(below, byRow,
			"SEARCH attempts USING COVERING INDEX attempts_task (task=?)",
			"SEARCH merges USING COVERING INDEX merges_task (task=?)",
			"SEARCH requests USING COVERING INDEX requests_task (task=?)",
			"SEARCH task_logs USING COVERING INDEX task_logs_task (task=?)",
			"SEARCH dependencies USING COVERING INDEX dependencies_blocked (blocked=?)",
			"SEARCH dependencies USING PRIMARY KEY (blocker=?)",
			"SEARCH tasks USING COVERING INDEX tasks_parent (parent=?)"), 0},
		"hold dependents of a tree": {holdDependentsSQL, append(below, byRow, "SEARCH e USING PRIMARY KEY (blocker=?)"), 1},
		"free dependents of a tree": {freeDependentsSQL, append(below, byRow, "SEARCH e USING PRIMARY KEY (blocker=?)"), 1},
	}
	d, err := db.Open(t.Context(), filepath.Join(t.TempDir(), "progress.db"), db.Options{})
	check.OK(t, err)
	defer d.Close()
	for name, test := range tests {
		if strings.Contains(test.statement, "LIMIT :") {
			t.Errorf("%s: with a parameter as its limit SQLite prepares it again for each value; +: avoids that", name)
		}
		var plan []string
		err := d.View(t.Context(), func(tx *db.Tx) error {
			for r := range tx.Rows("EXPLAIN QUERY PLAN " + statement(test.statement)) {
				plan = append(plan, r.ColumnText(3))
			}
			return nil
		})
		check.OK(t, err)
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
			if !slices.Contains([]string{openOnly, asking, loose, refused, unseen}, step) && scansTable.MatchString(step) {
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
var scansTable = regexp.MustCompile(`^SCAN (tasks|dependencies|attempts|task_logs|features|runs|merges|requests|[abcefhmoprt])\b|AUTOMATIC`)
