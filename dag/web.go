package dag

import "slices"

// refuseCycles looks for a deadlock among the tasks of a plan and, where it may lead through them, others.
func (a *applying) refuseCycles() {
	w, order := newWeb(), make([]int64, 0, len(a.tasks))
	r := &around{
		graph: a.graph.transaction, web: w,
		gone: func(n int64) bool { t := a.byN[n]; return t != nil && t.deleted },
		ours: func(n int64) bool { t := a.byN[n]; return t != nil && (t.spec != nil || t.deleted) },
	}
	hangs, leans, stored := map[int64]bool{}, false, []int64(nil)
	for _, t := range a.tasks {
		named := t.parent != nil && t.parent.spec != nil
		if t.deleted || t.spec == nil && !named {
			continue
		}
		if t.parent != nil {
			w.hang(t.n, t.parent.n)
		}
		if t.spec == nil { // a subtask of a group that the plan names
			r.exits, r.entries = append(r.exits, point{t.n, true}), append(r.entries, point{t.n, false})
			leans = true
			continue
		}
		order = append(order, t.n)
		if t.parent != nil && !named && !hangs[t.parent.n] {
			hangs[t.parent.n] = true
			r.exits, r.entries = append(r.exits, point{t.parent.n, false}), append(r.entries, point{t.parent.n, true})
		}
		for _, b := range t.after {
			if w.wait(t.n, b.n); b.spec == nil {
				leans = true
				r.exits = append(r.exits, point{b.n, true})
			}
		}
		if !t.added {
			stored = append(stored, t.n)
		}
	}
	if len(stored) > 0 {
		leans = true
		for _, n := range a.graph.numbers(waitForThemSQL, ":list", jsonNumbers(stored)) {
			r.entries = append(r.entries, point{n, false})
		}
	}
	if len(hangs) > 1 || leans { // no way leads from the start of a parent to its own end
		r.explore()
	}
	path := w.findCycle(order)
	if path == nil {
		return
	}
	line := 0
	for _, p := range path {
		if t := a.byN[p.n]; t != nil && t.spec != nil {
			line = t.spec.Line
			break
		}
	}
	a.faults = append(a.faults, SpecError{Line: line, Err: newCycleError(path, a.nameOf)})
}

func (a *applying) nameOf(n int64) string {
	if t := a.byN[n]; t != nil && t.spec != nil {
		return t.spec.name()
	}
	return a.graph.nameOf(n)
}

// around is what lies around the tasks of a plan: stored tasks that it does not name. A deadlock goes into them through an exit and
// comes back through an entry, so they are searched from both sides, and as soon as one side is exhausted, the web has every such way.
// Hanging a new task onto a large graph costs next to nothing.
type around struct {
	graph          *transaction
	web            *web
	ours           func(int64) bool // of the plan, which says itself what those need
	gone           func(int64) bool
	exits, entries []point
	one            bool // one way is enough
}

const (
	parentsOfSQL  = `SELECT n, parent FROM tasks WHERE n` + listed + ` AND parent IS NOT NULL;`
	childrenOfSQL = `SELECT n, parent FROM tasks WHERE parent` + listed + `;`
	blockersOfSQL = `SELECT blocked, blocker FROM dependencies WHERE blocked` + listed + `;`
	blockedBySQL  = `SELECT blocked, blocker FROM dependencies WHERE blocker` + listed + `;`
)

func (r *around) explore() {
	out, in := r.side(r.exits), r.side(r.entries)
	in.other, out.other = out.seen, in.seen
	for len(out.next) > 0 && len(in.next) > 0 && (!r.one || !out.met && !in.met) {
		if len(out.next) <= len(in.next) {
			starts, ends := out.step()
			r.edges(blockersOfSQL, starts, r.web.wait, func(_, blocker int64) { out.reach(point{blocker, true}) })
			r.edges(parentsOfSQL, starts, r.web.hang, func(_, parent int64) { out.reach(point{parent, false}) })
			r.edges(childrenOfSQL, ends, r.web.hang, func(child, _ int64) { out.reach(point{child, true}) })
			for _, n := range ends {
				out.reach(point{n, false})
			}
			continue
		}
		starts, ends := in.step()
		r.edges(childrenOfSQL, starts, r.web.hang, func(child, _ int64) { in.reach(point{child, false}) })
		r.edges(parentsOfSQL, ends, r.web.hang, func(_, parent int64) { in.reach(point{parent, true}) })
		r.edges(blockedBySQL, ends, r.web.wait, func(blocked, _ int64) { in.reach(point{blocked, false}) })
		for _, n := range starts {
			in.reach(point{n, true})
		}
	}
}

// edges adds what is stored to the web, but for what the plan says otherwise.
func (r *around) edges(query string, numbers []int64, add, reach func(from, to int64)) {
	if len(numbers) == 0 {
		return
	}
	for row := range r.graph.tx.Rows(query, ":list", jsonNumbers(numbers)) {
		if from, to := row.Int64(), row.Int64(); !r.ours(from) && !r.gone(to) {
			add(from, to)
			reach(from, to)
		}
	}
}

// side is one side of the search, breadth first.
type side struct {
	next        []point
	seen, other map[point]bool // by this side, and by the other
	met         bool
	stop        func(int64) bool
}

func (r *around) side(from []point) *side {
	s := &side{seen: map[point]bool{}, stop: r.ours}
	for _, p := range from {
		s.reach(p)
	}
	return s
}

func (s *side) reach(p point) {
	if !s.seen[p] && !s.stop(p.n) {
		s.seen[p], s.met = true, s.met || s.other[p]
		s.next = append(s.next, p)
	}
}

// step takes all points that were reached, the starts of tasks and their ends apart.
func (s *side) step() (starts, ends []int64) {
	for _, p := range s.next {
		if p.end {
			ends = append(ends, p.n)
		} else {
			starts = append(starts, p.n)
		}
	}
	s.next = nil
	return starts, ends
}

// FindCycle looks for a deadlock among tasks that are not stored yet, or returns nil. What they name and is not among them
// leads nowhere.
func FindCycle(specs []Spec) *CycleError {
	w, numbers, order := newWeb(), make(map[string]int64, len(specs)), make([]int64, len(specs))
	for i, s := range specs {
		numbers[s.Ref], order[i] = int64(i), int64(i)
	}
	for i, s := range specs {
		if parent, ok := numbers[s.Parent]; ok {
			w.hang(int64(i), parent)
		}
		for _, name := range s.After {
			if blocker, ok := numbers[name]; ok {
				w.wait(int64(i), blocker)
			}
		}
	}
	path := w.findCycle(order)
	if path == nil {
		return nil
	}
	return newCycleError(path, func(n int64) string { return specs[n].name() })
}

const (
	parentsSQL = `SELECT n, parent FROM tasks WHERE parent IS NOT NULL;`
	edgesSQL   = `SELECT blocked, blocker FROM dependencies;`
)

func (g *Graph) weave(w *web) {
	for r := range g.tx.Rows(parentsSQL) {
		w.hang(r.Int64(), r.Int64())
	}
	for r := range g.tx.Rows(edgesSQL) {
		w.wait(r.Int64(), r.Int64())
	}
}

// web is hierarchy and dependencies in memory.
type web struct {
	parent   map[int64]int64
	blockers map[int64][]int64
	children map[int64][]int64
}

func newWeb() *web {
	return &web{parent: map[int64]int64{}, blockers: map[int64][]int64{}, children: map[int64][]int64{}}
}

func (w *web) wait(blocked, blocker int64) {
	w.blockers[blocked] = append(w.blockers[blocked], blocker)
}

func (w *web) hang(child, parent int64) {
	w.parent[child] = parent
	w.children[parent] = append(w.children[parent], child)
}

// next returns the i-th point that p needs, or false.
func (w *web) next(p point, i int) (point, bool) {
	if p.end {
		if children := w.children[p.n]; i < len(children) {
			return point{children[i], true}, true
		} else if i == len(children) {
			return point{p.n, false}, true
		}
		return point{}, false
	}
	blockers := w.blockers[p.n]
	if i < len(blockers) {
		return point{blockers[i], true}, true
	}
	parent, has := w.parent[p.n]
	return point{parent, false}, has && i == len(blockers)
}

// way returns the shortest path of points, each needing the next, or nil.
func (w *web) way(from, to point) (path []point) {
	before := map[point]point{from: from}
	for queue := []point{from}; len(queue) > 0; queue = queue[1:] {
		if queue[0] == to {
			for p := to; ; p = before[p] {
				if path = append(path, p); p == from {
					slices.Reverse(path)
					return path
				}
			}
		}
		for i := 0; ; i++ {
			next, ok := w.next(queue[0], i)
			if !ok {
				break
			}
			if _, seen := before[next]; !seen {
				before[next] = queue[0]
				queue = append(queue, next)
			}
		}
	}
	return nil
}

// findCycle returns a closed path of points, each needing the next, or nil. It
// keeps its own stack, because chains may be as long as the graph is large.
func (w *web) findCycle(from []int64) []point {
	const open, closed = 1, 2
	state := make(map[point]byte, 2*len(from))
	type visit struct {
		p point
		i int
	}
	for _, n := range from {
		stack := []visit{{p: point{n, true}}}
		for len(stack) > 0 {
			top := &stack[len(stack)-1]
			if top.i == 0 {
				if state[top.p] == closed {
					stack = stack[:len(stack)-1]
					continue
				}
				state[top.p] = open
			}
			next, ok := w.next(top.p, top.i)
			if !ok {
				state[top.p] = closed
				stack = stack[:len(stack)-1]
				continue
			}
			top.i++
			switch state[next] {
			case closed:
			case open:
				var path []point
				for i := len(stack) - 1; ; i-- {
					path = append(path, stack[i].p)
					if stack[i].p == next {
						break
					}
				}
				slices.Reverse(path)
				return append(path, next)
			default:
				stack = append(stack, visit{p: next})
			}
		}
	}
	return nil
}
