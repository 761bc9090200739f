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
func (g *Graph) rollUp(parent int64, from, child Status) error {
	if parent == 0 {
		return nil
	}
	p, err := g.node(parent)
	if err != nil {
		return err
	}
	open, failed, err := g.childrenOf(parent)
	if err != nil {
		return err
	}
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
		return nil
	}
	if err := g.move(p, to, ByRollUp); err != nil {
		return err
	}
	if failed && p.status == Done {
		return g.rollUp(parent, child, child) // a failed child came: it was open for a moment only
	}
	return nil
}

func (g *Graph) childrenOf(n int64) (open, failed bool, err error) {
	_, err = one(g, childrenSQL, func(r *row) bool { open, failed = r.bool(), r.bool(); return true }, ":n", n)
	return open, failed, err
}

// reopenAncestors makes every finished ancestor pending, however far up, so that
// a task that was reset is ready again.
func (g *Graph) reopenAncestors(parent int64) error {
	for parent != 0 {
		p, err := g.node(parent)
		if err != nil {
			return err
		}
		if !isOpen(p.status) {
			if err := g.move(p, Pending, ByRollUp); err != nil {
				return err
			}
		}
		parent = p.parent
	}
	return nil
}
