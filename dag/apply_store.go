package dag

import (
	"slices"

	"ralph/internal/db"
)

const (
	// Most tasks of a plan are as they were: the statement finds those that are not.
	otherwise = `({details}, retries, verification) IS NOT ({values}, :retries, :verification)`
	applySQL  = `
UPDATE tasks SET ({details}, retries, verification) = ({values}, :retries, :verification), updated_at = :now WHERE n = :n AND ` + otherwise + `;`
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
	emptiedSQL    = `UPDATE tasks SET emptied = 1 WHERE n = :n;`
	insertSQL     = `
INSERT INTO tasks (n, id, status, parent, feature, {details},
    retries, verification, satisfied, created_at, updated_at, finished_at, children, open_deps, held, doomed, given_up)
VALUES (:n, :id, :status, :parent, :feature, {values},
    :retries, :verification, :satisfied, :now, :now, :finished, :children, :open_deps, :held, :doomed, :given_up)
ON CONFLICT (id) DO NOTHING;`
)

// store writes what changed, and then everything that follows from it.
func (a *applying) store() {
	tx := a.graph.tx
	for _, t := range a.tasks {
		switch {
		case t.deleted:
			tx.Do(putAwaySQL, ":n", t.n, ":now", a.graph.millis())
			a.graph.auditTask(t.n, "deleted")
			a.done.Deleted, a.stale = append(a.done.Deleted, t.id), true
		case t.added:
			if a.err = a.graph.insert(t); a.err != nil {
				return
			}
			a.done.Added, a.stale = append(a.done.Added, t.id), a.stale || t.known || t.parent != nil && !t.parent.added && t.parent.spec != nil
		case a.change(t):
			a.done.Changed = append(a.done.Changed, t.id)
		}
	}
	if a.Key == Fresh {
		a.done.IDs = a.done.Added
	}
	for _, t := range a.tasks { // both ends exist by now
		a.wait(t)
		if t.moves() && (t.parent == nil || !t.parent.moves()) {
			tx.Do(setFeatureSQL, ":n", t.n, ":feature", db.OrNull(t.feature))
		}
	}
	a.relateAll()
	for _, t := range a.tasks { // nothing is below them now
		if t.deleted {
			tx.Do(deleteTaskSQL, ":n", t.n)
		}
	}
	a.giveBack()
	a.accept()
	a.settle()
}

// moves reports whether a stored task goes to another feature, with all below it.
func (t *applied) moves() bool { return !t.added && !t.deleted && t.feature != t.is.feature }

// insert stores a new task in its place. An ID that is taken becomes another.
func (g Plan) insert(t *applied) (err error) {
	s, wish, finished := t.spec, "", any(nil)
	if !t.status.Open() {
		finished = g.millis()
	}
	if IsTaskID(s.Ref) {
		wish = s.Ref
	}
	t.id, err = g.WithFreeID("t-", wish, func(id string) error {
		return g.tx.Exec(statement(insertSQL), s.columns(":n", t.n, ":id", id, ":status", string(t.status), ":parent", db.OrNull(t.up), ":feature", db.OrNull(t.feature),
			":satisfied", t.satisfied && t.status == Cancelled, ":now", g.millis(), ":finished", finished,
			":children", len(t.children), ":open_deps", t.openDeps, ":held", t.held, ":doomed", t.doomed, ":given_up", t.givenUp)...)
	})
	return err
}

// change brings a stored task in line, and says whether that changed anything.
func (a *applying) change(t *applied) (changed bool) {
	tx, now := a.graph.tx, a.graph.millis()
	if t.spec != nil {
		tx.Do(statement(applySQL), t.spec.columns(":n", t.n, ":now", now)...)
		changed = tx.Changes() > 0
	}
	if t.up != t.is.parent || t.feature != t.is.feature {
		tx.Do(placeSQL, ":n", t.n, ":parent", db.OrNull(t.up), ":feature", db.OrNull(t.feature), ":now", now)
		changed, a.stale = true, true
	}
	if t.standing != t.is.standing {
		tx.Do(standSQL, ":n", t.n, ":status", string(t.status), ":given_up", t.givenUp, ":satisfied", t.satisfied, ":finished", !t.status.Open(),
			":reset", t.status.Open() && !t.is.status.Open(), ":now", now)
		changed, a.stale = true, true
	}
	if t.edged() {
		changed, a.stale = true, true
	}
	return changed
}

// edged says that a task waits for others than it did.
func (t *applied) edged() bool {
	now, was := numbersOf(t.after), slices.Clone(t.is.after)
	slices.Sort(now)
	slices.Sort(was)
	return !slices.Equal(now, was)
}

// settle works out what is derived of tasks that were stored before, and has groups that the plan does not name follow what they hold.
func (a *applying) settle() {
	gained, news := map[int64]int{}, map[int64]Status{}
	var groups []int64
	for _, t := range a.tasks {
		if t.spec == nil || !a.byN[t.up].follows() {
			continue
		}
		if !t.added && t.up == t.is.parent {
			continue
		}
		if gained[t.up]++; gained[t.up] == 1 {
			groups, news[t.up] = append(groups, t.up), Done
		}
		if t.status.Open() {
			news[t.up] = Pending
		}
	}
	for _, n := range groups {
		a.graph.tx.Do(addChildrenSQL, ":n", n, ":count", gained[n], ":now", a.graph.millis())
	}
	if a.stale {
		a.graph.tx.Do(recomputeSQL)
	}
	for _, t := range a.tasks {
		switch {
		case t.added, t.follows():
		case t.leaves():
			a.left(t.is.parent, t.is.status)
		case a.byN[t.up].follows() && t.standing != t.is.standing:
			a.graph.rollUp(t.up, t.is.status, t.status)
		}
	}
	for _, n := range groups {
		a.graph.rollUp(n, "", news[n])
	}
	for _, t := range a.tasks { // stored ones that are named are listed
		if group := t.is.children+len(t.children) > 0; !group || t.added || !t.follows() {
			continue
		}
		if a.graph.node(t.n).status != t.is.status {
			a.done.Changed = append(a.done.Changed, t.id)
		}
	}
}

// left brings a group that the plan does not name in line after a task with that status left it.
func (a *applying) left(group int64, status Status) {
	switch {
	case !a.byN[group].follows():
	case a.graph.node(group).children == 0:
		a.graph.tx.Do(emptiedSQL, ":n", group)
	default:
		a.graph.catchUp(group, status)
	}
}

// wait brings what a task waits for in line.
func (a *applying) wait(t *applied) {
	if t.deleted || !t.edged() { // the edges of a deleted one go with it
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
	relatedPairsSQL = `SELECT a, b FROM related WHERE a` + listed + ` UNION SELECT a, b FROM related WHERE b` + listed + `;`
	addUnmetSQL     = `INSERT INTO unmet (task, other) VALUES (:task, :other);`
	metSQL          = `DELETE FROM unmet WHERE task = :task AND other = :other;`
)

// relateAll brings relations in line. The line of the smaller ID tells of them, whatever feature the other task is of. Those to tasks that
// are not here are remembered: their lines stay as they are until the task comes, or comes back.
func (a *applying) relateAll() {
	wanted, missing := map[[2]int64]bool{}, map[Unmet]bool{}
	relate := func(t *applied, ref string) {
		switch other := a.named(ref); {
		case other == nil || other.deleted:
			missing[Unmet{t.n, t.id, ref}] = true
		default:
			wanted[[2]int64{min(t.n, other.n), max(t.n, other.n)}] = true
		}
	}
	var stored []int64
	for _, t := range a.tasks {
		if !t.added && (t.told || t.deleted) {
			stored = append(stored, t.n)
		}
		for _, ref := range t.related {
			if !t.deleted && a.named(ref) != t && (a.Key == Fresh || IsTaskID(ref)) {
				relate(t, ref)
			}
		}
	}
	known := a.unmet()
	for _, u := range known {
		if t := a.byN[u.N]; !t.told && !t.deleted {
			relate(t, u.Other)
		}
	}
	for _, pair := range a.relatedTo(stored) {
		owner, other := a.byN[pair[0]], a.byN[pair[1]]
		if owner.id > other.id {
			owner, other = other, owner
		}
		switch {
		case other.deleted && !owner.deleted && !owner.told:
			relate(owner, other.id)
		case !wanted[pair] && owner.told:
			a.graph.tx.Do(unrelateSQL, ":a", pair[0], ":b", pair[1])
			a.touch(pair)
		}
		delete(wanted, pair)
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

// unmet lists the relations to tasks that were not here, as far as the plan has to do with either.
func (a *applying) unmet() []Unmet {
	if a.Key == Fresh {
		return nil
	}
	all, _ := a.graph.Unmet() // the transaction keeps its first error
	var others []string
	for _, u := range all {
		others = append(others, u.Other)
	}
	a.loadNamed(others)
	all = slices.DeleteFunc(all, func(u Unmet) bool { return a.byN[u.N] == nil && a.byID[u.Other] == nil })
	for _, u := range all {
		a.need(u.N)
	}
	return all
}

// relatedTo lists what stored tasks are related to.
func (a *applying) relatedTo(stored []int64) (pairs [][2]int64) {
	if len(stored) == 0 {
		return nil
	}
	for r := range a.graph.tx.Rows(relatedPairsSQL, ":list", jsonNumbers(stored)) {
		pairs = append(pairs, [2]int64{r.Int64(), r.Int64()})
	}
	for _, pair := range pairs {
		a.need(pair[:]...)
	}
	return pairs
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
