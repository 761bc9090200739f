package taskfile

import (
	"cmp"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"slices"

	"ralph/dag"
)

// Merge merges two versions of a plan file that come from the base, task by task and field by field. The order of the two does
// not matter. It says what it dropped, and refuses if both sides gave one ID to different tasks.
func Merge(base, a, b File) (merged File, dropped []string, err error) {
	switch { // an empty file says nothing: a plan whose tasks were deleted has their tombstones
	case len(a.lines) == 0 || a.Equal(base):
		return b, nil, nil
	case len(b.lines) == 0 || b.Equal(base):
		return a, nil, nil
	}
	m := merger{base: base.byRef(), sides: [2]map[string]record{a.byRef(), b.byRef()}}
	for _, place := range m.places(base, a, b) {
		r, ok, err := m.task(place)
		if err != nil {
			return File{}, nil, err
		}
		if ok {
			merged.lines = append(merged.lines, r)
		}
	}
	m.dropDead(&merged)
	m.breakCycles(&merged)
	m.keepGroups(&merged)
	return merged, m.dropped, nil
}

// keepGroups says of groups that have subtasks on both sides, and lost the last one only by the merge, that they are groups: nobody
// wrote them as work.
func (m *merger) keepGroups(f *File) {
	ours, theirs, has := parents(maps.Values(m.sides[0])), parents(maps.Values(m.sides[1])), parents(slices.Values(f.lines))
	for i := range f.lines {
		if r := &f.lines[i]; !r.dead() && ours[r.ref] && theirs[r.ref] && !has[r.ref] {
			r.set("group", true)
		}
	}
}

func parents(lines iter.Seq[record]) map[string]bool {
	all := map[string]bool{}
	for r := range lines {
		if !r.dead() {
			all[r.text("parent")] = true
		}
	}
	return all
}

// Mend makes several files of one plan fit together, as Merge does within one: git merges each alone. It drops relations to
// tasks that any of them says are deleted, and, of cycles, the newest edge that no base has.
func Mend(bases, files []File) (mended []File, dropped []string) {
	m := merger{base: map[string]record{}}
	for _, f := range bases {
		maps.Copy(m.base, f.byRef())
	}
	var all File
	for _, f := range files {
		all.lines = append(all.lines, f.lines...)
	}
	m.dropDead(&all)
	m.breakCycles(&all)
	for _, f := range files {
		n := len(f.lines)
		mended, all.lines = append(mended, File{all.lines[:n:n]}), all.lines[n:]
	}
	return mended, m.dropped
}

func (f File) byRef() map[string]record {
	all := make(map[string]record, len(f.lines))
	for _, r := range f.lines {
		all[r.ref] = r
	}
	return all
}

type merger struct {
	base    map[string]record
	sides   [2]map[string]record
	dropped []string
}

// places lists all tasks in the order of the merged file: as in the base, then what either side has added. Files grow at
// their end, so a line's own number is its place.
func (m *merger) places(base, a, b File) []string {
	place := map[string]int{}
	for _, f := range []File{a, b} {
		for i, r := range f.lines {
			if at, known := place[r.ref]; !known || i < at {
				place[r.ref] = i
			}
		}
	}
	for i, r := range base.lines {
		place[r.ref] = i
	}
	return slices.SortedFunc(maps.Keys(place), func(x, y string) int {
		return cmp.Or(cmp.Compare(place[x], place[y]), cmp.Compare(x, y))
	})
}

// task merges what is known of one task; false if it is gone.
func (m *merger) task(ref string) (record, bool, error) {
	base, was := m.base[ref]
	a, inA := m.sides[0][ref]
	b, inB := m.sides[1][ref]
	switch {
	case inA == inB && (!inA || a.equal(b)):
		return a, inA, nil
	case inA == was && (!inA || a.equal(base)):
		return b, inB, nil
	case inB == was && (!inB || b.equal(base)):
		return a, inA, nil
	// Both changed it. A line that is gone without a tombstone says less than any other.
	case !inA:
		return b, true, nil
	case !inB:
		return a, true, nil
	case a.dead() && b.dead():
		return latest(a, b), true, nil
	case a.dead() != b.dead():
		alive, dead := aliveFirst(a, b)
		if alive.rev() < dead.rev() {
			return dead, true, nil
		}
		return alive, true, nil
	case !was && a.text("title") != b.text("title"):
		return record{}, false, fmt.Errorf("%w: both sides added %s, as %q and as %q: give one of them another ref", dag.ErrRefused, ref, a.text("title"), b.text("title"))
	}
	return fields(base, a, b), true, nil
}

func latest(a, b record) record {
	if a.later(b) {
		return a
	}
	return b
}

func aliveFirst(a, b record) (alive, dead record) {
	if a.dead() {
		return b, a
	}
	return a, b
}

// together are keys that one side decides, with the status: half a result is none.
var together = []string{"satisfied", "retries", "verification", "missing"}

// fields merges two versions of a task that differ from each other and from the base.
func fields(base, a, b record) record {
	merged := record{ref: a.ref, fields: map[string]json.RawMessage{}}
	later, earlier := a, b
	if b.later(a) {
		later, earlier = b, a
	}
	take := func(key string, from record) {
		if raw := from.fields[key]; raw != nil {
			merged.fields[key] = raw
		}
	}
	keys := maps.Clone(a.fields)
	maps.Copy(keys, b.fields)
	for key := range keys {
		switch {
		case key == keyRev, key == keyUpdated, key == "status", slices.Contains(together, key):
		case string(earlier.fields[key]) == string(base.fields[key]):
			take(key, later)
		case string(later.fields[key]) == string(base.fields[key]):
			take(key, earlier)
		case slices.Contains(listKeys, key):
			merged.fields[key] = encoded(sets(base.list(key), earlier.list(key), later.list(key)))
		default:
			take(key, later)
		}
	}
	decides := statusSide(base, earlier, later)
	for _, key := range append([]string{"status"}, together...) {
		take(key, decides)
	}
	take(keyRev, later)
	take(keyUpdated, later)
	if string(earlier.fields[keyUpdated]) > string(later.fields[keyUpdated]) {
		take(keyUpdated, earlier)
	}
	return merged
}

// statusSide says whose status counts. Work that is done stays so, unless somebody reset the task later.
func statusSide(base, earlier, later record) record {
	status := func(r record) string { return cmp.Or(r.text("status"), string(dag.Pending)) }
	same := func(r record) bool {
		return !slices.ContainsFunc(append([]string{"status"}, together...), func(key string) bool { return string(r.fields[key]) != string(base.fields[key]) })
	}
	switch {
	case same(earlier):
		return later
	case same(later):
		return earlier
	case status(earlier) == string(dag.Done) && status(later) != string(dag.Done) && (later.rev() == earlier.rev() || status(later) != string(dag.Pending)):
		return earlier
	}
	return later
}

// sets keeps what neither side removed, in the order of the base, and then what either has added.
func sets(base, earlier, later []string) []string {
	merged := []string{}
	for _, s := range base {
		if slices.Contains(earlier, s) && slices.Contains(later, s) {
			merged = append(merged, s)
		}
	}
	for _, s := range slices.Concat(earlier, later) {
		if !slices.Contains(base, s) && !slices.Contains(merged, s) {
			merged = append(merged, s)
		}
	}
	return merged
}

// dropDead drops relations to tasks that one side deleted while the other made them.
func (m *merger) dropDead(f *File) {
	dead := map[string]bool{}
	for ref := range m.base {
		dead[ref] = true // also one whose line is gone without a tombstone
	}
	for _, r := range f.lines {
		dead[r.ref] = true
	}
	for _, r := range f.lines {
		if !r.dead() { // of several files, one may have it and another its tombstone
			dead[r.ref] = false
		}
	}
	for i := range f.lines {
		r := &f.lines[i]
		if r.dead() {
			continue
		}
		if parent := r.text("parent"); dead[parent] {
			r.set("parent", nil)
			m.dropped = append(m.dropped, fmt.Sprintf("%s is no part of %s, which was deleted", r.ref, parent))
		}
		for _, id := range r.list("after") {
			if dead[id] {
				r.remove("after", id)
				m.dropped = append(m.dropped, fmt.Sprintf("%s does not wait for %s, which was deleted", r.ref, id))
			}
		}
		for _, id := range r.list("related") {
			if dead[id] {
				r.remove("related", id)
			}
		}
	}
}

// breakCycles drops what only the merge brought together: of each cycle, the newest edge that the base does not have.
func (m *merger) breakCycles(f *File) {
	at, specs, spec := map[string]int{}, f.Specs(), map[string]*dag.Spec{}
	for i, r := range f.lines {
		if !r.dead() {
			at[r.ref] = i
		}
	}
	for i := range specs {
		spec[specs[i].Ref] = &specs[i]
	}
	for {
		cycle := dag.FindCycle(specs)
		if cycle == nil {
			return
		}
		newest, found := edge{}, false
		for _, e := range edges(cycle) {
			if i, ok := at[e.of]; ok && !e.in(m.base) && (!found || f.lines[i].later(f.lines[at[newest.of]])) {
				newest, found = e, true
			}
		}
		if !found {
			return // the base has it: whoever imports the file refuses it
		}
		r := &f.lines[at[newest.of]]
		if newest.parent {
			var before any
			if parent := m.base[newest.of].text("parent"); parent != "" {
				before = parent
			}
			r.set("parent", before)
			spec[newest.of].Parent = m.base[newest.of].text("parent")
			m.dropped = append(m.dropped, fmt.Sprintf("%s is not made a part of %s", newest.of, newest.to))
		} else {
			r.remove("after", newest.to)
			spec[newest.of].After = r.list("after")
			m.dropped = append(m.dropped, fmt.Sprintf("%s does not wait for %s", newest.of, newest.to))
		}
	}
}

type edge struct {
	of, to string
	parent bool
}

func (e edge) in(base map[string]record) bool {
	r := base[e.of]
	if e.parent {
		return r.text("parent") == e.to
	}
	return slices.Contains(r.list("after"), e.to)
}

// edges are the relations that a cycle consists of.
func edges(c *dag.CycleError) (list []edge) {
	for i, step := range c.Steps {
		from, to := c.IDs[i], c.IDs[i+1]
		switch step {
		case dag.StepWaits:
			list = append(list, edge{of: from, to: to})
		case dag.StepPartOf:
			list = append(list, edge{of: from, to: to, parent: true})
		case dag.StepContains:
			list = append(list, edge{of: to, to: from, parent: true})
		}
	}
	return list
}
