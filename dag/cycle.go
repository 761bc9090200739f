package dag

import (
	"fmt"
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

// Error describes the cycle in one line; of a long one, how it begins and how it ends.
func (e *CycleError) Error() string {
	var b strings.Builder
	b.WriteString("that would be a cycle: ")
	const first, last = 10, 2
	for i, id := range e.IDs {
		if left := len(e.IDs) - first - last; i >= first && i < first+left {
			if i == first {
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

// path searches a way on which from needs to, and returns it with both ends, or nil.
func (g Plan) path(from, to point) []point {
	none := func(int64) bool { return false }
	r := &around{graph: g.transaction, web: newWeb(), ours: none, gone: none, exits: []point{from}, entries: []point{to}, one: true}
	r.explore()
	return r.web.way(from, to)
}

// refuseCycle fails the transaction if from already needs to, for an edge on which to would need from.
func (g Plan) refuseCycle(from, to point) {
	if path := g.path(from, to); path != nil {
		g.tx.Fail(newCycleError(append([]point{to}, path...), g.nameOf))
	}
}

func (g *transaction) nameOf(n int64) string { return g.node(n).id }

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
