package dag

import "slices"

// refuseCycles looks for a deadlock among the tasks of a batch and, where it may
// lead through them, the tasks that exist. It is the search of cycle.go over
// memory instead of tables: one pass over all points.
func (b *batch) refuseCycles([]Spec) error {
	w := newWeb()
	b.weave(w)
	order := make([]int64, len(b.tasks))
	for i := range b.tasks {
		order[i] = key(i)
	}
	path := w.findCycle(order)
	if path == nil || b.graph.tx.Err() != nil {
		return b.graph.tx.Err()
	}
	line := 0
	if i := slices.IndexFunc(path, func(p point) bool { return p.n < 0 }); i >= 0 {
		line = b.tasks[index(path[i].n)].spec.Line
	}
	return PlanError{{Line: line, Err: newCycleError(path, b.nameOf)}}
}

// FindCycle looks for a deadlock among tasks that nobody has stored, or returns nil. What they name and is not among them
// leads nowhere.
func FindCycle(specs []Spec) *CycleError {
	w, keys, order := newWeb(), make(map[string]int64, len(specs)), make([]int64, len(specs))
	for i, s := range specs {
		keys[s.Ref], order[i] = key(i), key(i)
	}
	for i, s := range specs {
		if parent, ok := keys[s.Parent]; ok {
			w.hang(key(i), parent)
		}
		for _, name := range s.After {
			if blocker, ok := keys[name]; ok {
				w.wait(key(i), blocker)
			}
		}
	}
	path := w.findCycle(order)
	if path == nil {
		return nil
	}
	return newCycleError(path, func(k int64) string { return specs[index(k)].name() })
}

// New tasks have no number yet: they go by negative keys.
func key(i int) int64   { return -1 - int64(i) }
func index(k int64) int { return int(-1 - k) }

func (b *batch) nameOf(k int64) string {
	if k < 0 {
		return b.tasks[index(k)].spec.name()
	}
	return b.graph.nameOf(k)
}

// weave puts the batch into a web. What exists can only lead back to the batch
// through a parent that exists, and not from that parent to itself, so it is
// loaded only if there is another way into it: a blocker or a second parent.
func (b *batch) weave(w *web) {
	hangs, leans := map[int64]bool{}, false
	for i := range b.tasks {
		t := &b.tasks[i]
		k := key(i)
		switch {
		case t.parent >= 0:
			w.hang(k, key(t.parent))
		case t.under != nil:
			w.hang(k, t.under.N)
			hangs[t.under.N] = true
		}
		for _, blocker := range t.after {
			w.wait(k, key(blocker))
		}
		for _, old := range t.afterOld {
			w.wait(k, old.N)
			leans = true
		}
	}
	if len(hangs) > 1 || len(hangs) == 1 && leans {
		b.graph.weave(w)
	}
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
