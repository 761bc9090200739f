package dag

import (
	"time"

	"ralph/internal/db"
)

// A plan file may lack a task for a moment: another branch is checked out, or a stash has it. What only the database
// knows of the task is put away then, and is given back when the task is.

const (
	putAwaySQL = `
INSERT INTO gone (id, n, record) SELECT id, n, json_object('gone_at', :now, 'ended', status NOT IN ('pending', 'blocked', 'in_progress'),
    'attempts', attempts, 'interruptions', interruptions, 'base', base, 'generation', generation, 'paused', paused,
    'not_before', not_before, 'wait_reason', wait_reason, 'wait_agent', wait_agent,
    'created_at', created_at, 'updated_at', updated_at, 'started_at', started_at, 'finished_at', finished_at,
    'logs', json((SELECT json_group_array(json_object('attempt', attempt, 'kind', kind, 'at', at, 'text', text))
        FROM (SELECT * FROM task_logs WHERE task = +tasks.n ORDER BY n))),
    'review', json((SELECT json_object('focus', focus, 'round', round) FROM reviews WHERE task = tasks.n)),
    'imported', (SELECT line FROM imported WHERE task = tasks.n), 'imported_file', (SELECT file FROM imported WHERE task = tasks.n),
    'added', json((SELECT json_group_array(json_object('task', t.id, 'caller', c.id, 'attempt', a.attempt, 'depth', a.depth, 'below', a.below, 'closing', a.closing))
        FROM added a JOIN tasks t ON t.n = a.task LEFT JOIN tasks c ON c.n = a.caller WHERE a.task = tasks.n OR a.caller = tasks.n)),
    'undoes', json((SELECT json_group_array(json_object('task', t.id, 'undone', x.id, 'message', u.message))
        FROM undoes u JOIN tasks t ON t.n = u.task JOIN tasks x ON x.n = u.undone WHERE u.task = tasks.n OR u.undone = tasks.n)))
FROM tasks WHERE n = :n
ON CONFLICT (id) DO UPDATE SET n = excluded.n, record = excluded.record;`

	goneSQL = `SELECT n FROM gone WHERE id = :id;`

	// A task that is open again was reset elsewhere, as in standSQL.
	giveBackSQL = `
UPDATE tasks SET generation = r ->> 'generation', paused = r ->> 'paused', created_at = r ->> 'created_at', updated_at = r ->> 'updated_at',
    attempts = iif(reset, 0, r ->> 'attempts'), interruptions = iif(reset, 0, r ->> 'interruptions'), base = iif(reset, NULL, r ->> 'base'),
    started_at = iif(reset, NULL, r ->> 'started_at'), finished_at = iif(ended, coalesce(r ->> 'finished_at', finished_at), NULL),
    not_before = iif(ended, 0, r ->> 'not_before'), wait_reason = iif(ended, NULL, r ->> 'wait_reason'), wait_agent = iif(ended, NULL, r ->> 'wait_agent')
FROM (SELECT t.n AS of, record AS r, t.ended, NOT t.ended AND record ->> 'ended' AS reset
    FROM gone JOIN (SELECT n, id, status NOT IN ('pending', 'blocked', 'in_progress') AS ended FROM tasks WHERE n = :n) t ON t.id = gone.id)
WHERE n = of;`
	logsBackSQL = `
INSERT INTO task_logs (task, attempt, kind, at, text)
SELECT :n, value ->> 'attempt', value ->> 'kind', value ->> 'at', value ->> 'text' FROM gone, json_each(record, '$.logs') WHERE gone.id = :id ORDER BY key;`
	reviewBackSQL = `
INSERT INTO reviews (task, focus, round) SELECT :n, record ->> '$.review.focus', record ->> '$.review.round' FROM gone WHERE id = :id AND record -> 'review' <> 'null';`
	importedBackSQL = `
INSERT INTO imported (task, line, file) SELECT :n, record ->> 'imported', record ->> 'imported_file' FROM gone WHERE id = :id AND record ->> 'imported' IS NOT NULL;`
	addedBackSQL = `
INSERT INTO added (task, caller, attempt, depth, below, closing)
SELECT t.n, c.n, value ->> 'attempt', value ->> 'depth', value ->> 'below', value ->> 'closing'
FROM gone, json_each(record, '$.added') JOIN tasks t ON t.id = value ->> 'task' LEFT JOIN tasks c ON c.id = value ->> 'caller'
WHERE gone.id = :id AND (c.n IS NOT NULL OR value ->> 'caller' IS NULL) ON CONFLICT DO NOTHING;`
	undoesBackSQL = `
INSERT INTO undoes (task, undone, message) SELECT t.n, x.n, value ->> 'message'
FROM gone, json_each(record, '$.undoes') JOIN tasks t ON t.id = value ->> 'task' JOIN tasks x ON x.id = value ->> 'undone'
WHERE gone.id = :id ON CONFLICT DO NOTHING;`

	// One look at each table for all tasks: their IDs have no index there.
	attemptsBackSQL = `
UPDATE attempts SET task = t.n, feature = t.feature FROM tasks t
WHERE attempts.task IS NULL AND attempts.task_id = t.id AND t.id IN (SELECT value FROM json_each(:ids));`
	mergesBackSQL = `
UPDATE merges SET task = t.n FROM tasks t
WHERE merges.task IS NULL AND merges.task_id = t.id AND t.id IN (SELECT value FROM json_each(:ids));`
	requestsBackSQL = `
UPDATE requests SET task = t.n FROM tasks t
WHERE requests.task IS NULL AND requests.task_id = t.id AND t.id IN (SELECT value FROM json_each(:ids));`
	forgetGoneSQL = `DELETE FROM gone WHERE id IN (SELECT value FROM json_each(:ids));`
)

// KeepDeleted is how long what is left of a deleted task is kept: its line in a plan file, so that others have time to merge the
// deletion, and its record here, because they may bring the task back until then.
const KeepDeleted = 90 * 24 * time.Hour

// A record of an older version does not say when the task went.
const pruneGoneSQL = `DELETE FROM gone WHERE coalesce(record ->> 'gone_at', record ->> 'updated_at') < :before RETURNING 1;`

// PruneGone forgets tasks that went long ago and did not come back, and says how many.
func (g Plan) PruneGone() (int, error) {
	gone, err := db.All(g.tx, pruneGoneSQL, (*db.Row).Int, ":before", g.millis()-KeepDeleted.Milliseconds())
	return len(gone), err
}

// giveBack gives tasks that were put away, and exist again, what only the database knew of them.
func (a *applying) giveBack() {
	tx := a.graph.tx
	var ids []string
	for _, t := range a.tasks {
		if t.added && t.known {
			ids = append(ids, t.id)
			tx.Do(giveBackSQL, ":n", t.n)
			for _, query := range []string{logsBackSQL, reviewBackSQL, importedBackSQL} {
				tx.Do(query, ":n", t.n, ":id", t.id)
			}
		}
	}
	if len(ids) == 0 {
		return
	}
	for _, id := range ids { // both ends exist by now
		tx.Do(addedBackSQL, ":id", id)
		tx.Do(undoesBackSQL, ":id", id)
	}
	for _, query := range []string{attemptsBackSQL, mergesBackSQL, requestsBackSQL, forgetGoneSQL} {
		tx.Do(query, ":ids", db.JSON(ids))
	}
}
