package dag

// childrenSQL looks at the children's statuses through the index alone: the cost
// does not grow with their number. A list after IN would be built again each time.
const childrenSQL = `SELECT
    EXISTS (SELECT 1 FROM tasks WHERE parent = :n AND status = 'pending')
    OR EXISTS (SELECT 1 FROM tasks WHERE parent = :n AND status = 'in_progress')
    OR EXISTS (SELECT 1 FROM tasks WHERE parent = :n AND status = 'blocked'),
    EXISTS (SELECT 1 FROM tasks WHERE parent = :n AND status = 'failed');`

// rollUp brings a parent in line after one of its children went from one status
// to another; from is empty for a child that is new to it. A parent of 0 is no
// parent.
//
//   - all children done: the parent is done
//   - a child failed, or the last open one ended beside a failed one: it failed
//   - a child was reopened or added: a finished parent is open again
//
// A child that was open before and still is, such as one that was released,
// reopens nothing.
func (g *Graph) rollUp(parent int64, from, child Status) {
	if parent == 0 {
		return
	}
	p := g.node(parent)
	open, failed := g.childrenOf(parent)
	reopened := isOpen(child) && (from == "" || !isOpen(from))
	to := p.status
	switch {
	case !open && !failed && (p.status == Pending || p.status == Failed):
		to = Done
	case p.status == Pending && failed && (child == Failed || !open):
		to = Failed
	case reopened && !isOpen(p.status), failed && p.status == Done:
		to = Pending
	}
	if to == p.status {
		return
	}
	g.move(p, to, ByRollUp)
	if failed && p.status == Done {
		g.rollUp(parent, child, child) // a failed child came: it was open for a moment only
	}
}

func (g *Graph) childrenOf(n int64) (open, failed bool) {
	for r := range g.tx.Rows(childrenSQL, ":n", n) {
		open, failed = r.Bool(), r.Bool()
	}
	return open, failed
}

// reopenAncestors makes every finished ancestor pending, however far up, so that
// a task that was reset is ready again.
func (g *Graph) reopenAncestors(parent int64) {
	for parent != 0 {
		p := g.node(parent)
		if !isOpen(p.status) {
			g.move(p, Pending, ByRollUp)
		}
		parent = p.parent
	}
}
