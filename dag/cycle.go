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

// CycleError is a deadlock that was refused. Steps tell it in words, each one
// being the reason why the task before cannot go on.
type CycleError struct {
	IDs   []string // the tasks on it, the first one again at the end
	Steps []string // "waits for", "contains", "is part of": one less than IDs
}

// maxNamed is how many tasks of a cycle are named: a line is for reading.
const maxNamed = 12

// Error tells the cycle in one line; of a long one, how it begins and how it ends.
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
	blockerNumbersSQL   = `SELECT blocker FROM dependencies WHERE blocked = :n;`
	dependentNumbersSQL = `SELECT blocked FROM dependencies WHERE blocker = :n;`
	childNumbersSQL     = `SELECT n FROM tasks WHERE parent = :n;`
	parentNumberSQL     = `SELECT parent FROM tasks WHERE n = :n AND parent IS NOT NULL;`
)

func (g *Graph) needs(p point) ([]point, error) { return g.neighbours(p, true, blockerNumbersSQL) }

func (g *Graph) neededBy(p point) ([]point, error) {
	return g.neighbours(p, false, dependentNumbersSQL)
}

// neighbours lists what a point needs, or, seen from the other side, what needs it.
func (g *Graph) neighbours(p point, needs bool, dependencies string) ([]point, error) {
	if p.end == needs {
		next, err := g.points(childNumbersSQL, p.n, needs)
		return append(next, point{p.n, !needs}), err
	}
	next, err := g.points(dependencies, p.n, needs)
	if err != nil {
		return nil, err
	}
	up, err := g.points(parentNumberSQL, p.n, !needs)
	return append(next, up...), err
}

func (g *Graph) points(query string, n int64, end bool) ([]point, error) {
	ns, err := g.numbers(query, ":n", n)
	points := make([]point, len(ns))
	for i, n := range ns {
		points[i] = point{n, end}
	}
	return points, err
}

// path searches a way on which from needs to, and returns it with both ends, or
// nil. It searches from both sides in turns and gives up when either side is
// exhausted, so that hanging a new task onto a large graph costs next to nothing.
func (g *Graph) path(from, to point) ([]point, error) {
	down := newFrontier(from, g.needs)
	up := newFrontier(to, g.neededBy)
	if from == to {
		return []point{from}, nil
	}
	for {
		for _, side := range [2][2]*frontier{{down, up}, {up, down}} {
			met, more, err := side[0].step(side[1])
			if err != nil {
				return nil, err
			}
			if met != nil {
				forward := down.trail(*met)
				slices.Reverse(forward)
				return append(forward, up.trail(*met)[1:]...), nil
			}
			if !more {
				return nil, nil
			}
		}
	}
}

// frontier is one side of the search, breadth first.
type frontier struct {
	queue []point
	from  map[point]point
	next  func(point) ([]point, error)
}

func newFrontier(start point, next func(point) ([]point, error)) *frontier {
	return &frontier{queue: []point{start}, from: map[point]point{start: start}, next: next}
}

// step expands one point and reports the first one that the other side has too.
func (f *frontier) step(other *frontier) (met *point, more bool, err error) {
	if len(f.queue) == 0 {
		return nil, false, nil
	}
	p := f.queue[0]
	f.queue = f.queue[1:]
	next, err := f.next(p)
	if err != nil {
		return nil, false, err
	}
	for _, q := range next {
		if _, seen := f.from[q]; seen {
			continue
		}
		f.from[q] = p
		if _, found := other.from[q]; found {
			return &q, true, nil
		}
		f.queue = append(f.queue, q)
	}
	return nil, true, nil
}

func (f *frontier) trail(p point) []point {
	trail := []point{p}
	for f.from[p] != p {
		p = f.from[p]
		trail = append(trail, p)
	}
	return trail
}

// refuseCycle refuses an edge on which to would need from if from already needs to.
func (g *Graph) refuseCycle(from, to point) error {
	path, err := g.path(from, to)
	if err != nil || path == nil {
		return err
	}
	return g.cycle(append([]point{to}, path...))
}

func (g *Graph) cycle(path []point) error {
	return newCycleError(path, func(n int64) (string, error) { t, err := g.node(n); return t.id, err })
}

func newCycleError(path []point, name func(n int64) (string, error)) error {
	e := &CycleError{}
	for i, p := range path {
		if i > 0 && path[i-1].n == p.n && i < len(path)-1 {
			continue // a task's end needs its own start: nothing to tell
		}
		if i > 0 {
			if path[i-1].n == p.n && len(e.Steps) > 0 {
				break
			}
			e.Steps = append(e.Steps, relation(path[i-1], p))
		}
		id, err := name(p.n)
		if err != nil {
			return err
		}
		e.IDs = append(e.IDs, id)
	}
	return e
}

func relation(from, to point) string {
	switch {
	case from.end && to.end:
		return "contains"
	case !from.end && !to.end:
		return "is part of"
	default:
		return "waits for"
	}
}
