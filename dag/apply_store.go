package dag

import (
	"slices"

	"ralph/internal/db"
)

const (
	// Most tasks of a plan are as they were: the statement finds those that are not.
	otherwise = `(` + detailColumns + `, retries, verification) IS NOT (` + detailValues + `, :retries, :verification)`
	applySQL  = `
UPDATE tasks SET (` + detailColumns + `, retries, verification) = (` + detailValues + `, :retries, :verification), updated_at = :now WHERE n = :n AND ` + otherwise + `;`
	placeSQL = `UPDATE tasks SET parent = :parent, feature = :feature, updated_at = :now WHERE n = :n;`
	// A task that is open again was reset elsewhere: what its attempts counted is over.
	standSQL = `
UPDATE tasks SET status = :status, given_up = :given_up, satisfied = :satisfied, finished_at = iif(:finished, coalesce(finished_at, :now), NULL), updated_at = :now,
    unverified = iif(status IN ('pending', 'blocked') AND :status IN ('pending', 'blocked'), unverified, NULL),
    not_before = iif(:finished, 0, not_before), wait_reason = iif(:finished, NULL, wait_reason),
    attempts = iif(:reset, 0, attempts), interruptions = iif(:reset, 0, interruptions),
    base = iif(:reset, NULL, base), started_at = iif(:reset, NULL, started_at)
WHERE n = :n;`
	changedAtSQL  = `UPDATE tasks SET updated_at = :now WHERE n = :n;`
	deleteTaskSQL = `DELETE FROM tasks WHERE n = :n;`
)

// store writes what changed, and then everything that is derived from it.
func (a *applying) store() {
	tx := a.graph.tx
	for _, t := range a.tasks {
		switch {
		case t.deleted:
			tx.Do(putAwaySQL, ":n", t.n, ":now", a.graph.millis())
			a.graph.auditTask(t.n, "deleted")
			a.done.Deleted = append(a.done.Deleted, t.id)
		case t.added:
			p := planned{spec: t.spec, n: t.n, status: t.status, givenUp: t.givenUp, children: make([]int, len(t.children))}
			t.spec.Satisfied = t.satisfied
			if err := a.graph.insert(&p, number(t.parent), t.feature); err != nil {
				return
			}
			a.done.Added = append(a.done.Added, t.id)
		default:
			if a.change(t) {
				a.done.Changed = append(a.done.Changed, t.id)
			}
		}
	}
	for _, t := range a.tasks { // blockers may be new
		a.wait(t)
	}
	a.relateAll()
	for _, t := range a.tasks { // nothing is below them now
		if t.deleted {
			tx.Do(deleteTaskSQL, ":n", t.n)
		}
	}
	a.giveBack()
	a.accept()
	tx.Do(recomputeSQL)
}

// number is 0 for no task.
func number(t *applied) int64 {
	if t == nil {
		return 0
	}
	return t.n
}

// change brings a stored task in line, and says whether that changed anything.
func (a *applying) change(t *applied) (changed bool) {
	tx, now := a.graph.tx, a.graph.millis()
	if t.spec != nil {
		tx.Do(applySQL, t.spec.columns(":n", t.n, ":now", now)...)
		changed = tx.Changes() > 0
	}
	if number(t.parent) != t.is.parent || t.feature != t.is.feature {
		tx.Do(placeSQL, ":n", t.n, ":parent", db.OrNull(number(t.parent)), ":feature", db.OrNull(t.feature), ":now", now)
		changed = true
	}
	if t.goesOn = t.is.goesOn; t.standing != t.is.standing {
		tx.Do(standSQL, ":n", t.n, ":status", string(t.status), ":given_up", t.givenUp, ":satisfied", t.satisfied, ":finished", !isOpen(t.status),
			":reset", isOpen(t.status) && !isOpen(t.is.status), ":now", now)
		changed = true
	}
	return changed || a.edged(t)
}

// edged says that a task waits for others than it did.
func (a *applying) edged(t *applied) bool {
	now, was := numbersOf(t.after), slices.Clone(t.is.after)
	slices.Sort(now)
	slices.Sort(was)
	return !slices.Equal(now, was)
}

// wait brings what a task waits for in line.
func (a *applying) wait(t *applied) {
	if t.deleted || !a.edged(t) { // the edges of a deleted one go with it
		return
	}
	tx := a.graph.tx
	wanted := numbersOf(t.after)
	for _, n := range t.is.after {
		if !slices.Contains(wanted, n) {
			tx.Do(unlinkSQL, ":blocker", n, ":blocked", t.n)
		}
	}
	for _, n := range wanted {
		tx.Do(linkSQL, ":blocker", n, ":blocked", t.n)
	}
	if !t.added {
		tx.Do(changedAtSQL, ":n", t.n, ":now", a.graph.millis())
	}
}

// columns are the values of all that a plan says about a task alone.
func (s *Spec) columns(more ...any) []any {
	return s.detailArgs(append(more, ":retries", s.Retries, ":verification", db.OrNull(s.Verification))...)
}

const (
	relatedPairsSQL = `SELECT a, b FROM related;`
	addUnmetSQL     = `INSERT INTO unmet (task, other) VALUES (:task, :other);`
	metSQL          = `DELETE FROM unmet WHERE task = :task AND other = :other;`
)

// relateAll brings relations in line. The line of the smaller ID tells of them, whatever feature the other task is of. Those to tasks that
// are not here are remembered: their lines stay as they are until the task comes, or comes back.
func (a *applying) relateAll() {
	wanted, missing := map[[2]int64]bool{}, map[Unmet]bool{}
	relate := func(t *applied, ref string) {
		switch other := a.byID[ref]; {
		case other == nil || other.deleted:
			missing[Unmet{t.n, t.id, ref}] = true
		default:
			wanted[[2]int64{min(t.n, other.n), max(t.n, other.n)}] = true
		}
	}
	for _, t := range a.tasks {
		for _, ref := range t.related {
			if !t.deleted && ref != t.id && IsTaskID(ref) {
				relate(t, ref)
			}
		}
	}
	known, _ := a.graph.Unmet() // the transaction keeps its first error
	for _, u := range known {
		if t := a.byN[u.N]; !t.told && !t.deleted {
			relate(t, u.Other)
		}
	}
	var gone [][2]int64
	for r := range a.graph.tx.Rows(relatedPairsSQL) {
		pair := [2]int64{r.Int64(), r.Int64()}
		owner, other := a.byN[pair[0]], a.byN[pair[1]]
		if owner.id > other.id {
			owner, other = other, owner
		}
		switch {
		case other.deleted && !owner.deleted && !owner.told:
			relate(owner, other.id)
		case !wanted[pair] && owner.told:
			gone = append(gone, pair)
		}
		delete(wanted, pair)
	}
	for _, pair := range gone {
		a.graph.tx.Do(unrelateSQL, ":a", pair[0], ":b", pair[1])
		a.touch(pair)
	}
	for pair := range wanted {
		a.graph.tx.Do(relateSQL, ":a", pair[0], ":b", pair[1])
		a.touch(pair)
	}
	for _, u := range known {
		if !missing[u] {
			a.graph.tx.Do(metSQL, ":task", u.N, ":other", u.Other)
		}
		delete(missing, u)
	}
	for u := range missing {
		a.graph.tx.Do(addUnmetSQL, ":task", u.N, ":other", u.Other)
	}
}

// touch counts both of two tasks among those that changed.
func (a *applying) touch(pair [2]int64) {
	for _, n := range pair {
		if t := a.byN[n]; !t.added && !slices.Contains(a.done.Changed, t.id) {
			a.done.Changed = append(a.done.Changed, t.id)
		}
	}
}

func numbersOf(list []*applied) []int64 {
	numbers := make([]int64, len(list))
	for i, t := range list {
		numbers[i] = t.n
	}
	return numbers
}
