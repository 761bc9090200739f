package dag

import (
	"cmp"
	"iter"
	"slices"

	"ralph/internal/db"
)

// Work that waits for a person has passed its gates. Tasks that wait for nothing else may begin on it: they stand on it, and land after
// it. A task stands on one task, which may stand on the next: a line that ends on the target.

// Standing is the word for finished work that waits until what it stands on has landed.
const Standing = "on held work"

const (
	// Held work that others may begin on: whether a person is to look at it, or it stands on other work.
	heldWork = ` t.unverified IS NOT NULL AND t.status = 'pending' AND (t.review = 1 OR t.stands_on IS NOT NULL) `
	// Whoever waits for a task waits for the groups that it is in, and so do the members of a group that waits.
	afterHeld = `
held (n) AS (SELECT t.n FROM tasks t INDEXED BY tasks_unverified WHERE` + heldWork + `),
up (n) AS (SELECT n FROM held UNION SELECT t.parent FROM up JOIN tasks t ON t.n = up.n WHERE t.parent IS NOT NULL),
down (n) AS (
    SELECT e.blocked FROM up JOIN dependencies e ON e.blocker = up.n
    UNION
    SELECT c.n FROM down JOIN tasks c ON c.parent = down.n
) ` + candidate + `down CROSS JOIN tasks t ON t.n = down.n
WHERE t.status = 'pending' AND t.children = 0 AND t.emptied = 0 AND (t.open_deps > 0 OR t.held) AND t.paused = 0 AND t.leaving IS NULL
    AND t.not_before = 0 AND t.review = 0 AND t.asks = 0 AND t.unverified IS NULL AND t.[when] IS NULL AND t.notify IS NULL AND t.doomed <= :doomed
    AND NOT EXISTS (SELECT 1 FROM dependencies e JOIN tasks b ON b.n = e.blocker
        WHERE e.blocked = t.n AND NOT b.satisfies AND b.children = 0 AND b.n NOT IN (SELECT n FROM held)) `
	readAheadSQL        = `WITH RECURSIVE ` + afterHeld + `AND (:feature = 0 OR t.feature = :feature)` + inOrder
	readAheadInScopeSQL = trees + `, ` + afterHeld + `AND t.n IN (SELECT n FROM sub)` + inOrder

	// What a task waits for: tasks that are not done, and groups that wait for something else than those.
	waitsForSQL = `
WITH RECURSIVE up (n) AS (
    SELECT :n UNION ALL SELECT t.parent FROM up JOIN tasks t ON t.n = up.n WHERE t.parent IS NOT NULL
), open (n) AS (
    SELECT b.n FROM up JOIN dependencies e ON e.blocked = up.n JOIN tasks b ON b.n = e.blocker WHERE NOT b.satisfies
    UNION
    SELECT c.n FROM open JOIN tasks c ON c.parent = open.n WHERE NOT c.satisfies
)
SELECT t.n FROM open CROSS JOIN tasks t ON t.n = open.n -- whatever the planner expects: there are few of them
WHERE t.children = 0 OR t.status <> 'pending' OR t.paused OR t.given_up OR NOT EXISTS (SELECT 1 FROM tasks c WHERE c.parent = t.n AND NOT c.satisfies)
UNION
SELECT t.n FROM up CROSS JOIN tasks t ON t.n = up.n WHERE t.status = 'blocked' OR t.paused OR t.given_up;`

	// The last entry of the work of a task, and what that stands on.
	lineSQL = `
SELECT coalesce(t.stands_on, 0), (SELECT max(merges.n) FROM merges WHERE merges.task = t.n` + since + `t.unverified)) FROM tasks t WHERE t.n = :n AND` + heldWork + `;`
)

// line is what a task that begins on the held work of another stands on, from the target up. It is empty if nothing may begin there.
func (g Queue) line(top int64, target string) (line []Merge, tasks []int64) {
	for n := top; n != 0; {
		below, entry := int64(0), int64(0)
		for r := range g.tx.Rows(lineSQL, ":n", n) {
			below, entry = r.Int64(), r.Int64()
		}
		m, err := g.Merge(entry)
		if err != nil || !m.BaseForOthers || m.Target != target || slices.Contains(tasks, n) {
			return nil, nil
		}
		line, tasks, n = append(line, m), append(tasks, n), below
	}
	slices.Reverse(line)
	return line, tasks
}

// ahead finds the first task that may begin on held work, and what that is.
func (p *picker) ahead(feature int64, roots string) {
	if p.opts.Ahead < 1 || p.opts.Target == "" || p.found.n != 0 {
		return
	}
	query, scope := readAheadSQL, []any{":feature", feature}
	if roots != "" {
		query, scope = readAheadInScopeSQL, []any{":n", roots}
	}
	var waiting []waiting
	for w := range p.read(p.g.tx.Rows(query, append(scope, ":doomed", p.opts.KeepGoing)...)) {
		waiting = append(waiting, w)
	}
	for _, w := range waiting {
		if on := p.g.foundation(w.n, p.opts); on != 0 && p.available(w) {
			p.found, p.found.standsOn = w, on
			return
		}
	}
}

// foundation is the task on whose work another may begin: the highest of a line in which is all that it waits for; 0 if there is none.
func (g Queue) foundation(n int64, opts ClaimOptions) (on int64) {
	waits := g.numbers(waitsForSQL, ":n", n)
	var highest []int64
	for _, other := range waits {
		_, line := g.line(other, opts.Target)
		if len(line) > len(highest) {
			highest = line
		}
	}
	apart := func(other int64) bool { return !slices.Contains(highest, other) }
	if len(highest) == 0 || len(highest) > opts.Ahead || slices.ContainsFunc(waits, apart) {
		return 0
	}
	return highest[0]
}

// read turns the rows of candidates into what is looked at.
func (p *picker) read(rows iter.Seq[*db.Row]) iter.Seq[waiting] {
	return func(yield func(waiting) bool) {
		for r := range rows {
			w := waiting{n: r.Int64(), id: r.Text(), feature: r.Int64(), agent: cmp.Or(r.Text(), p.opts.Skip.Agent), lockset: r.Text()}
			w.locks, w.finished = lockNames(db.List[string](r), db.List[string](r)), r.Bool()
			if !yield(w) {
				return
			}
		}
	}
}

// Line lists the entries of the held work that a task stands on, from the target up; none if it stands on nothing.
func (g Queue) Line(t Task, target string) ([]Merge, error) {
	line, _ := g.line(g.number(standsOnSQL, ":n", t.N), target)
	return line, g.tx.Err()
}

const (
	behindSQL        = `SELECT unverified FROM tasks INDEXED BY tasks_standing WHERE stands_on IS NOT NULL AND unverified IS NOT NULL;`
	standsOnSQL      = `SELECT coalesce(stands_on, 0) FROM tasks WHERE n = :n;`
	baseForOthersSQL = `UPDATE merges SET sound = :sound WHERE n = :n;`
)

// AllowOn has tasks begin on an entry before it lands: nothing is in doubt of it but whether a person wants it.
func (g Queue) AllowOn(c Claim, n int64) error {
	if err := g.Holds(c); err != nil {
		return err
	}
	return g.tx.Exec(baseForOthersSQL, ":n", n, ":sound", true)
}

// RefuseOn has no further task begin on these entries before they land.
func (g Queue) RefuseOn(line []Merge) error {
	for _, m := range line {
		g.tx.Do(baseForOthersSQL, ":n", m.N, ":sound", false)
	}
	return g.tx.Err()
}

const (
	// What stands on work that has landed, or has no work itself any more, stands on nothing. What stands on work that is gone falls.
	fallenSQL = `
SELECT t.n, coalesce(b.id, ''), t.status = 'in_progress' OR t.status IN ('pending', 'blocked') AND t.unverified IS NOT NULL,
    coalesce(b.unverified IS NOT NULL AND b.status IN ('pending', 'blocked', 'in_progress'), 0), coalesce(b.status = 'done', 0)
FROM tasks t INDEXED BY tasks_standing LEFT JOIN tasks b ON b.n = t.stands_on WHERE t.stands_on IS NOT NULL;`
	strayStandingSQL = `
SELECT t.id FROM tasks t LEFT JOIN tasks b ON b.n = t.stands_on WHERE t.stands_on IS NOT NULL
    AND (coalesce(b.unverified, '') = '' OR b.status NOT IN ('pending', 'blocked', 'in_progress') OR t.status <> 'in_progress' AND t.unverified IS NULL);`
	standsSQL = `UPDATE tasks SET stands_on = NULL, base = iif(unverified IS NULL AND status = 'pending', NULL, base) WHERE n = :n;`
	fallSQL   = `
UPDATE tasks SET stands_on = NULL, unverified = NULL, base = NULL, started_at = NULL, updated_at = :now WHERE n = :n;`
	fellSQL = `UPDATE attempts SET reason = :reason WHERE id = (SELECT leaving FROM tasks WHERE n = :n);`
)

// Fallen is why an attempt ended, and finished work is gone, that stood on work which was not accepted.
const Fallen = "the work that it stood on was not accepted"

// stander is a task that stands on held work.
type stander struct {
	n                 int64
	on                string // the task whose work that is; "" if it was deleted
	works, safe, done bool   // the task has work; that work is there; that task is done
}

// Fall has what stands on work begin anew if that is gone, frees it if that has landed, and returns the tasks that fell. Every transaction
// ends with it, so that no verb can forget to.
func (g Queue) Fall() (fallen []string, err error) {
	for again := true; again; {
		again = false
		list, err := db.All(g.tx, fallenSQL, func(r *db.Row) stander {
			return stander{r.Int64(), r.Text(), r.Bool(), r.Bool(), r.Bool()}
		})
		if err != nil {
			return nil, err
		}
		for _, s := range list {
			switch {
			case s.works && s.safe:
			case !s.works, s.done:
				g.tx.Do(standsSQL, ":n", s.n)
			default:
				fallen, again = append(fallen, g.fall(s.n, s.on)), true // others may stand on it
			}
		}
	}
	return fallen, g.tx.Err()
}

// fall has a task begin anew without the work that it stood on. It is charged nothing.
func (g Queue) fall(n int64, on string) (id string) {
	t := g.node(n)
	if t.status == InProgress {
		g.move(t, Pending, ByReset)
		g.tx.Do(fellSQL, ":n", n, ":reason", Fallen)
	}
	g.tx.Do(fallSQL, ":n", n, ":now", g.millis())
	g.log(n, LogSystem, "it stood on the work of "+cmp.Or(on, "a task that was deleted")+", which was not accepted: it begins anew without it")
	return t.id
}
