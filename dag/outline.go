package dag

import (
	"time"
)

// Outline is what a picture of the graph needs of a task: little enough to be read
// again whenever the graph changed, however large it is.
type Outline struct {
	N, Parent  int64 // the order of creation; the parent's, 0 at the top
	ID, Title  string
	Status     Status
	Children   int
	OpenDeps   int
	Held       bool
	Doomed     bool
	Paused     bool
	Leaving    bool // the agent that had it is being stopped
	Unverified bool // its work is finished and awaits its verdict
	NotBefore  time.Time
	WaitReason string
}

// Ready says whether a run would take the task at that time.
func (o Outline) Ready(now time.Time) bool {
	return o.Status == Pending && o.Children == 0 && o.OpenDeps == 0 && !o.Held && !o.Doomed &&
		!o.Paused && !o.Leaving && !o.NotBefore.After(now)
}

// A title of a megabyte is not needed on a screen.
const outlineColumns = `n, parent, id, substr(title, 1, 500), status, children, open_deps, held, doomed, paused, leaving IS NOT NULL, unverified IS NOT NULL, not_before, wait_reason`

const (
	outlineAllSQL     = `SELECT ` + outlineColumns + ` FROM tasks ORDER BY n;`
	outlineFeatureSQL = `SELECT ` + outlineColumns + ` FROM tasks WHERE feature = :feature ORDER BY n;`
	outlineTreeSQL    = subtree + `SELECT ` + outlineColumns + ` FROM tasks WHERE n IN (SELECT n FROM sub) ORDER BY n;`
)

// Outline lists the tasks of a scope, groups too, oldest first. A scope that is gone
// is empty.
func (g *Graph) Outline(scope Scope) ([]Outline, error) {
	return listScope(g, scope, outlineAllSQL, outlineFeatureSQL, outlineTreeSQL, func(r *row) Outline {
		return Outline{
			N: r.int64(), Parent: r.int64(), ID: r.text(), Title: r.text(), Status: Status(r.text()), Children: r.int(), OpenDeps: r.int(),
			Held: r.bool(), Doomed: r.bool() && !g.keeps, Paused: r.bool(), Leaving: r.bool(), Unverified: r.bool(), NotBefore: r.time(), WaitReason: r.text(),
		}
	})
}
