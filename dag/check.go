package dag

import (
	"fmt"
	"slices"

	"ralph/internal/db"
)

// Fault is a stored value that disagrees with what it is derived from.
type Fault struct {
	Task string // "" if it concerns no single task
	Text string
}

// truth computes the derived columns by recursion over the whole graph
// and without looking at any of them.
const truth = `
WITH RECURSIVE
waiting (n) AS (
    SELECT e.blocked FROM dependencies e JOIN tasks b ON b.n = e.blocker WHERE NOT b.satisfies
    UNION
    SELECT n FROM tasks WHERE status = 'blocked' OR paused OR given_up
),
d (n, held, doomed) AS (
    SELECT n, 0, 0 FROM tasks WHERE parent IS NULL
    UNION ALL
    SELECT c.n, d.held OR p.n IN waiting, d.doomed OR p.status = 'failed'
    FROM d JOIN tasks p ON p.n = d.n JOIN tasks c ON c.parent = p.n
),
derived (n, children, open_deps, held, doomed, asks) AS (
    SELECT d.n,
        (SELECT count(*) FROM tasks c WHERE c.parent = d.n),
        (SELECT count(*) FROM dependencies e JOIN tasks b ON b.n = e.blocker WHERE e.blocked = d.n AND NOT b.satisfies),
        d.held, d.doomed,
        (SELECT count(*) FROM requests q WHERE q.task = d.n AND q.state = 'open' AND q.parks)
    FROM d
) `

const (
	disagreeSQL = truth + `
SELECT t.id, t.children, x.children, t.open_deps, x.open_deps, t.held, x.held, t.doomed, x.doomed, t.asks, x.asks
FROM derived x JOIN tasks t ON t.n = x.n
WHERE t.children <> x.children OR t.open_deps <> x.open_deps OR t.held <> x.held OR t.doomed <> x.doomed OR t.asks <> x.asks
ORDER BY t.n;`
	recomputeSQL = truth + `
UPDATE tasks SET children = x.children, open_deps = x.open_deps, held = x.held, doomed = x.doomed, asks = x.asks
FROM derived x
WHERE tasks.n = +x.n AND (tasks.children <> x.children OR tasks.open_deps <> x.open_deps
    OR tasks.held <> x.held OR tasks.doomed <> x.doomed OR tasks.asks <> x.asks);`
	// The counts must agree with what is stored, right or wrong: triggers change them with it.
	countTasks = `
SELECT 0 AS feature, status, children > 0 AS grouped, coalesce(queue, -1) AS queue, count(*) AS tasks FROM tasks GROUP BY 2, 3, 4
UNION ALL
SELECT feature, status, children > 0, coalesce(queue, -1), count(*) FROM tasks WHERE feature IS NOT NULL GROUP BY 1, 2, 3, 4`
	miscountsSQL = `
SELECT status, sum(stored), sum(counted) FROM (
    SELECT feature, status, grouped, queue, tasks AS stored, 0 AS counted FROM counts
    UNION ALL
    SELECT feature, status, grouped, queue, 0, tasks FROM (` + countTasks + `)
) GROUP BY feature, status, grouped, queue HAVING sum(stored) <> sum(counted);`
	forgetCountsSQL = `DELETE FROM counts;`
	storeCountsSQL  = `INSERT INTO counts` + countTasks + `;`
	addUp           = `
SELECT scope, key, sum(attempts) AS attempts, sum(tokens_in) AS tokens_in, sum(tokens_cached) AS tokens_cached, sum(tokens_out) AS tokens_out,
    sum(cost_usd) AS cost_usd, sum(cost_estimated) AS cost_estimated, sum(cost_unknown) AS cost_unknown, sum(worked) AS worked FROM `
	missumsSQL = `
SELECT s.scope, s.key FROM (` + addUp + `(SELECT scope, key,` + amounts + `FROM spent UNION ALL
    SELECT scope, key, -attempts, -tokens_in, -tokens_cached, -tokens_out, -cost_usd, -cost_estimated, -cost_unknown, -worked FROM used_by) GROUP BY 1, 2) s
WHERE attempts OR tokens_in OR tokens_cached OR tokens_out OR cost_estimated OR cost_unknown OR worked OR abs(cost_usd) > 1e-6;`
	strayAttemptsSQL = `SELECT a.id FROM attempts a LEFT JOIN tasks t ON t.n = a.task WHERE a.feature IS NOT t.feature;`
	placeAttemptsSQL = `UPDATE attempts SET feature = (SELECT feature FROM tasks WHERE n = task);`
	forgetSumsSQL    = `DELETE FROM spent;`
	storeSumsSQL     = `INSERT INTO spent` + addUp + `used_by GROUP BY 1, 2;`

	// An entry is open as long as its attempt is, and held as long as its task names the attempt.
	strayMerges = ` FROM merges m LEFT JOIN attempts a ON a.id = m.attempt LEFT JOIN tasks t ON t.n = m.task
WHERE m.state IN ('testing', 'green') AND (t.n IS NULL OR coalesce(a.ended_at, a.n IS NULL)) OR m.state = 'held' AND t.unverified IS NULL`
	strayMergesSQL = `SELECT m.n, m.task_id, m.state` + strayMerges + `;`
	dropStraysSQL  = `
UPDATE merges SET state = 'dropped', ended_at = :now, reason = 'nobody had it' WHERE n IN (SELECT m.n` + strayMerges + `);`
	isHeld     = `EXISTS (SELECT 1 FROM merges m WHERE m.task = tasks.n AND m.state = 'held' AND NOT m.accepted)`
	misheldSQL = `SELECT id, review FROM tasks WHERE review <> ` + isHeld + `;`
	reholdSQL  = `UPDATE tasks SET review = ` + isHeld + ` WHERE review <> ` + isHeld + `;`
	orphan     = ` FROM locks WHERE NOT EXISTS (SELECT 1 FROM attempts a JOIN runs r ON r.n = a.run WHERE a.id = attempt AND r.ended_at IS NULL)`
	orphansSQL = `SELECT name, attempt` + orphan + `;`
	unlockSQL  = `DELETE` + orphan + `;`

	allNumbersSQL    = `SELECT n FROM tasks ORDER BY n;`
	orphanFeatureSQL = `
SELECT c.id, p.id FROM tasks c JOIN tasks p ON p.n = c.parent WHERE c.feature IS NOT p.feature;`
	falseDoneSQL = `
SELECT DISTINCT p.id, c.id, c.status FROM tasks p JOIN tasks c ON c.parent = p.n WHERE p.status = 'done' AND NOT c.satisfies;`
)

// Verify compares everything that is derived with what it is derived from.
func (g *Graph) Verify() ([]Fault, error) {
	var faults []Fault
	for r := range g.tx.Rows(disagreeSQL) {
		id := r.Text()
		for _, name := range []string{"children", "open_deps", "held", "doomed", "asks"} {
			if is, should := r.Int(), r.Int(); is != should {
				faults = append(faults, Fault{Task: id, Text: fmt.Sprintf("%s is %d and should be %d", name, is, should)})
			}
		}
	}
	orphans, _ := db.All(g.tx, orphanFeatureSQL, func(r *db.Row) Fault {
		return Fault{Task: r.Text(), Text: "its feature differs from that of its parent " + r.Text()}
	})
	notDone, _ := db.All(g.tx, falseDoneSQL, func(r *db.Row) Fault {
		return Fault{Task: r.Text(), Text: fmt.Sprintf("it is done, but its subtask %s is %s", r.Text(), r.Text())}
	})
	miscounts, _ := db.All(g.tx, miscountsSQL, func(r *db.Row) Fault {
		return Fault{Text: fmt.Sprintf("a count of %s tasks is %d and should be %d", r.Text(), r.Int(), r.Int())}
	})
	missums, _ := db.All(g.tx, missumsSQL, func(r *db.Row) Fault {
		return Fault{Text: fmt.Sprintf("what was used by %s %d is not what its attempts used", r.Text(), r.Int())}
	})
	strays, _ := db.All(g.tx, strayAttemptsSQL, func(r *db.Row) Fault { return Fault{Text: "the feature of " + r.Text() + " is not that of its task"} })
	faults = slices.Concat(faults, orphans, notDone, miscounts, missums, strays, g.verifyQueue())
	w := newWeb()
	g.weave(w)
	if path := w.findCycle(g.numbers(allNumbersSQL)); path != nil {
		faults = append(faults, Fault{Text: newCycleError(path, g.nameOf).Error()})
	}
	return faults, g.tx.Err()
}

// verifyQueue looks at what attempts hold: entries of the queue and locks.
func (g *Graph) verifyQueue() []Fault {
	strays, _ := db.All(g.tx, strayMergesSQL, func(r *db.Row) Fault {
		n, id, state := r.Int(), r.Text(), r.Text()
		return Fault{Task: id, Text: fmt.Sprintf("entry %d of the queue is %s, but nobody has it", n, state)}
	})
	misheld, _ := db.All(g.tx, misheldSQL, func(r *db.Row) Fault {
		return Fault{Task: r.Text(), Text: fmt.Sprintf("review is %d, which is not what the queue says", r.Int())}
	})
	orphans, _ := db.All(g.tx, orphansSQL, func(r *db.Row) Fault {
		return Fault{Text: fmt.Sprintf("the lock %s is held by %s, whose run has ended", r.Text(), r.Text())}
	})
	fallen, _ := db.All(g.tx, strayStandingSQL, func(r *db.Row) Fault {
		return Fault{Task: r.Text(), Text: "it stands on held work that is gone; any command that changes the plan frees it"}
	})
	return slices.Concat(strays, misheld, orphans, fallen)
}

// Recompute fixes the derived columns, the counts and what attempts hold, and returns how many tasks and how
// many others were wrong.
func (g *Graph) Recompute() (tasks, counts int, err error) {
	for _, query := range []string{strayMergesSQL, orphansSQL, miscountsSQL, missumsSQL, strayAttemptsSQL} {
		wrong, _ := db.All(g.tx, query, (*db.Row).Text)
		counts += len(wrong)
	}
	g.tx.Do(dropStraysSQL, ":now", g.millis())
	for _, statement := range []string{unlockSQL, forgetCountsSQL, storeCountsSQL, placeAttemptsSQL, forgetSumsSQL, storeSumsSQL} {
		g.tx.Do(statement)
	}
	g.tx.Do(reholdSQL)
	tasks = g.tx.Changes()
	err = g.tx.Exec(recomputeSQL)
	return tasks + g.tx.Changes(), counts, err
}

const (
	integritySQL = `PRAGMA integrity_check(20);`
	foreignSQL   = `PRAGMA foreign_key_check;`
)

// Integrity is what SQLite itself finds wrong with the file.
func (g *Graph) Integrity() ([]Fault, error) {
	faults, _ := db.All(g.tx, integritySQL, func(r *db.Row) Fault { return Fault{Text: r.Text()} })
	faults = slices.DeleteFunc(faults, func(f Fault) bool { return f.Text == "ok" })
	gone, err := db.All(g.tx, foreignSQL, func(r *db.Row) Fault {
		table, row, other := r.Text(), r.Int64(), r.Text()
		return Fault{Text: fmt.Sprintf("row %d of %s refers to a row of %s that is gone", row, table, other)}
	})
	return append(faults, gone...), err
}
