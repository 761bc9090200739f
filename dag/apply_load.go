package dag

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"ralph/internal/db"
)

const (
	lastSQL        = `SELECT coalesce(max(n), 0) FROM tasks;`
	takenNumberSQL = `SELECT 1 FROM tasks WHERE n = :n;`

	// Lists are JSON, so that many tasks cost one statement, and few no scan.
	listed  = ` IN (SELECT value FROM json_each(:list))`
	loadSQL = `
SELECT n, id, parent, feature, children, status, given_up, satisfied, on_fail IS NOT NULL, held OR ` + holds + `, doomed OR status = 'failed', satisfies,
    unverified IS NOT NULL OR leaving IS NOT NULL OR review FROM tasks p WHERE `
	loadNamedSQL    = loadSQL + `id` + listed + `;`
	loadNumbersSQL  = loadSQL + `n` + listed + `;`
	loadChildrenSQL = loadSQL + `parent` + listed + `;`
	waitForThemSQL  = `SELECT blocked FROM dependencies WHERE blocker` + listed + `;`
	// What is to land, or asks, or is about to be taken back.
	businessSQL = `
SELECT task FROM merges WHERE state IN ('testing', 'green', 'held', 'landing') AND task IS NOT NULL
UNION SELECT task FROM requests WHERE state = 'open' AND task IS NOT NULL
UNION SELECT u.undone FROM undoes u JOIN tasks t ON t.n = u.task WHERE t.status <> 'done';`
	// Runs add reviews; no plan has them, nor what waits for them.
	plannedEdgesSQL = `SELECT blocked, blocker FROM dependencies WHERE blocked` + listed + ` AND blocker NOT IN (SELECT task FROM reviews WHERE round > 0);`
)

// identify finds the tasks of files, and chooses the IDs of those that are new, so that every ref is an ID.
func (a *applying) identify() {
	if a.Key != ByOrigin {
		return
	}
	g, origins, ids, known := a.graph, a.Origins, make([]string, len(a.Specs)), make([]bool, len(a.Specs))
	if origins == nil {
		origins, a.err = g.Origins()
	}
	newID := g.StableIDs()
	for i, s := range a.Specs {
		if s.Origin != "" {
			ids[i] = origins[s.Origin]
		}
		if ids[i] == "" && IsTaskID(s.Ref) {
			t, _ := g.nodeByID(s.Ref)
			ids[i] = t.id
		}
		if known[i] = ids[i] != ""; !known[i] && a.err == nil {
			ids[i], a.err = newID(append(slices.Clip(a.Seed), cmp.Or(s.Origin, fmt.Sprintf("%s %d", s.Title, i)))...)
		}
	}
	a.done.IDs = ids
	specs := WithIDs(a.Specs, ids)
	a.Specs = a.Specs[:0]
	for i, s := range specs {
		say := !known[i]
		if a.Said != nil && a.err == nil {
			s, say, a.err = a.Said(s, known[i])
		}
		if say {
			a.Specs = append(a.Specs, s)
		}
	}
}

// WithIDs has the tasks of a plan refer to each other by their IDs.
func WithIDs(specs []Spec, ids []string) []Spec {
	refs := make(map[string]string, len(specs))
	for i, s := range specs {
		if s.Ref != "" {
			refs[s.Ref] = ids[i]
		}
	}
	of := func(ref string) string { return cmp.Or(refs[ref], ref) }
	all := func(list []string) (named []string) {
		for _, ref := range list {
			named = append(named, of(ref))
		}
		return named
	}
	specs = slices.Clone(specs)
	for i := range specs {
		s := &specs[i]
		s.Ref, s.Parent, s.After, s.Related = ids[i], of(s.Parent), all(s.After), all(s.Related)
	}
	return specs
}

// load reads where the tasks stand that a plan names.
func (a *applying) load() {
	own := make(map[string]bool, len(a.Specs))
	if a.Key == Fresh { // such a ref is a new task, whatever has that ID
		for i := range a.Specs {
			own[a.Specs[i].Ref] = true
		}
	}
	own[""] = true
	var names []string
	name := func(list ...string) {
		for _, ref := range list {
			if !own[ref] {
				own[ref] = true
				names = append(names, ref)
			}
		}
	}
	for i := range a.Specs {
		s := &a.Specs[i]
		name(s.Ref, s.Parent)
		name(s.After...)
		name(s.Related...)
	}
	name(a.Deleted...)
	a.loadNamed(names)
}

func (a *applying) loadNamed(ids []string) {
	if len(ids) > 0 {
		a.read(loadNamedSQL, db.JSON(ids))
	}
}

func (a *applying) read(query, list string) {
	for r := range a.graph.tx.Rows(query, ":list", list) {
		t := &applied{n: r.Int64()}
		if a.byN[t.n] != nil {
			continue
		}
		t.id = r.Text()
		t.is = placed{parent: r.Int64(), feature: r.Int64(), children: r.Int()}
		t.is.standing = standing{Status(r.Text()), r.Bool(), r.Bool(), r.Bool()}
		t.is.holds, t.is.dooms, t.is.satisfies, t.open = r.Bool(), r.Bool(), r.Bool(), r.Bool()
		t.standing, t.feature = t.is.standing, t.is.feature
		a.tasks, a.byID[t.id], a.byN[t.n] = append(a.tasks, t), t, t
	}
}

// need loads tasks that are not loaded yet.
func (a *applying) need(numbers ...int64) {
	missing := slices.DeleteFunc(numbers, func(n int64) bool { return n == 0 || a.byN[n] != nil })
	if len(missing) > 0 {
		a.read(loadNumbersSQL, jsonNumbers(missing))
	}
}

// surround reads what the change of a stored task leads to: its subtasks, its ancestors, its blockers, and what waits for one that goes.
func (a *applying) surround() {
	var groups, gone, edges []int64
	for _, t := range a.tasks {
		if t.added || t.spec == nil && !t.deleted {
			continue
		}
		edges = append(edges, t.n)
		if t.is.children > 0 {
			groups = append(groups, t.n)
		}
		if t.deleted {
			gone = append(gone, t.n)
		}
	}
	if len(groups) > 0 {
		a.read(loadChildrenSQL, jsonNumbers(groups))
	}
	if len(gone) > 0 {
		waiting := a.graph.numbers(waitForThemSQL, ":list", jsonNumbers(gone))
		edges = append(edges, waiting...)
		a.need(waiting...)
		for r := range a.graph.tx.Rows(businessSQL) {
			if t := a.byN[r.Int64()]; t != nil {
				t.open = true
			}
		}
	}
	if a.Key == Fresh {
		return
	}
	var blockers []int64
	slices.Sort(edges)
	for r := range a.graph.tx.Rows(plannedEdgesSQL, ":list", jsonNumbers(slices.Compact(edges))) {
		t, blocker := a.byN[r.Int64()], r.Int64()
		t.is.after, blockers = append(t.is.after, blocker), append(blockers, blocker)
	}
	a.need(blockers...)
	for from := 0; from < len(a.tasks); {
		var parents []int64
		for _, t := range a.tasks[from:] {
			parents = append(parents, t.is.parent)
		}
		from = len(a.tasks)
		a.need(parents...)
	}
	rank := func(t *applied) int64 { // the new ones come last, as the plan has them
		if t.added {
			return math.MaxInt64
		}
		return t.n
	}
	slices.SortStableFunc(a.tasks, func(x, y *applied) int { return cmp.Compare(rank(x), rank(y)) })
}

// jsonNumbers is what json_each makes rows of.
func jsonNumbers(list []int64) string {
	text := []byte{'['}
	for i, n := range list {
		if i > 0 {
			text = append(text, ',')
		}
		text = fmt.Append(text, n)
	}
	return string(append(text, ']'))
}
