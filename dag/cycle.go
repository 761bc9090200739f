package dag

import (
	"fmt"
	"slices"
	"strings"
)

// point is the start or the end of a task. A task's start needs the ends of its
// blockers and the start of its parent; its end needs its own start and the ends
// of its children. A cycle among points, and nothing else, is a deadlock.
type point struct {
	n   int64
	end bool
}

// CycleError is a deadlock that was refused. Steps describe it, each one
// being the reason why the task before cannot continue.
type CycleError struct {
	IDs   []string // the tasks on it, the first one again at the end
	Steps []string // how each leads to the next: one less than IDs
}

// The steps of a cycle.
const (
	StepWaits    = "waits for"
	StepContains = "contains"
	StepPartOf   = "is part of"
)

// maxNamed is how many tasks of a cycle are named: a line is for reading.
const maxNamed = 12

// Error describes the cycle in one line; of a long one, how it begins and how it ends.
func (e *CycleError) Error() string {
	var b strings.Builder
	b.WriteString("that would be a cycle: ")
	for i, id := range e.IDs {
		if left := len(e.IDs) - maxNamed; left > 0 && i >= maxNamed-2 && i < len(e.IDs)-2 {
			if i == maxNamed-2 {
				fmt.Fprintf(&b, " ... %d more ...", left)
			}
			continue
		}
		if i > 0 {
			if i > 1 {
				b.WriteString(", which")
			}
			b.WriteString(" " + e.Steps[i-1] + " ")
		}
		b.WriteString(id)
	}
	return b.String()
}

// Is lets errors.Is(err, ErrRefused) hold for cycles too.
func (e *CycleError) Is(target error) bool { return target == ErrRefused }

const (
	blockerNumbers   = `SELECT blocker FROM dependencies WHERE blocked = :n`
	dependentNumbers = `SELECT blocked FROM dependencies WHERE blocker = :n`
	childNumbers     = `SELECT n FROM tasks WHERE parent = :n`
	parentNumber     = `SELECT parent FROM tasks WHERE n = :n AND parent IS NOT NULL`
)

func (g *Graph) needs(p point) []point { return g.neighbours(p, true, blockerNumbers) }

func (g *Graph) neededBy(p point) []point { return g.neighbours(p, false, dependentNumbers) }

// neighbours lists what a point needs, or, seen from the other side, what needs it.
func (g *Graph) neighbours(p point, needs bool, dependencies string) []point {
	if p.end == needs {
		return append(g.points(childNumbers, p.n, needs), point{p.n, !needs})
	}
	return append(g.points(dependencies, p.n, needs), g.points(parentNumber, p.n, !needs)...)
}

func (g *Graph) points(query string, n int64, end bool) (list []point) {
	for r := range g.tx.Rows(query, ":n", n) {
		list = append(list, point{r.Int64(), end})
	}
	return list
}

// path searches a way on which from needs to, and returns it with both ends, or
// nil. It searches from both sides in turns and gives up when either side is
// exhausted, so that hanging a new task onto a large graph costs next to nothing.
func (g *Graph) path(from, to point) []point {
	down := newFrontier(from, g.needs)
	up := newFrontier(to, g.neededBy)
	if from == to {
		return []point{from}
	}
	for {
		for _, side := range [2][2]*frontier{{down, up}, {up, down}} {
			met, more := side[0].step(side[1])
			if met != nil {
				forward := down.trail(*met)
				slices.Reverse(forward)
				return append(forward, up.trail(*met)[1:]...)
			}
			if !more {
				return nil
			}
		}
	}
}

// frontier is one side of the search, breadth first.
type frontier struct {
	queue []point
	from  map[point]point
	next  func(point) []point
}

func newFrontier(start point, next func(point) []point) *frontier {
	return &frontier{queue: []point{start}, from: map[point]point{start: start}, next: next}
}

// step expands one point and reports the first one that the other side has too.
func (f *frontier) step(other *frontier) (met *point, more bool) {
	if len(f.queue) == 0 {
		return nil, false
	}
	p := f.queue[0]
	f.queue = f.queue[1:]
	for _, q := range f.next(p) {
		if _, seen := f.from[q]; seen {
			continue
		}
		f.from[q] = p
		if _, found := other.from[q]; found {
			return &q, true
		}
		f.queue = append(f.queue, q)
	}
	return nil, true
}

func (f *frontier) trail(p point) []point {
	trail := []point{p}
	for f.from[p] != p {
		p = f.from[p]
		trail = append(trail, p)
	}
	return trail
}

// refuseCycle fails the transaction if from already needs to, for an edge on which to would need from.
func (g *Graph) refuseCycle(from, to point) {
	if path := g.path(from, to); path != nil {
		g.tx.Fail(newCycleError(append([]point{to}, path...), g.nameOf))
	}
}

func (g *Graph) nameOf(n int64) string { return g.node(n).id }

func newCycleError(path []point, name func(n int64) string) *CycleError {
	e := &CycleError{}
	for i, p := range path {
		if i > 0 && path[i-1].n == p.n && i < len(path)-1 {
			continue // a task's end needs its own start: nothing to say
		}
		if i > 0 {
			if path[i-1].n == p.n && len(e.Steps) > 0 {
				break
			}
			e.Steps = append(e.Steps, relation(path[i-1], p))
		}
		e.IDs = append(e.IDs, name(p.n))
	}
	return e
}

func relation(from, to point) string {
	switch {
	case from.end && to.end:
		return StepContains
	case !from.end && !to.end:
		return StepPartOf
	default:
		return StepWaits
	}
}
