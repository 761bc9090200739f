package dag

import "ralph/internal/db"

// childrenSQL looks at the children's statuses through the index alone: the cost
// does not grow with their number. A list after IN would be built again each time.
const childrenSQL = `SELECT
    EXISTS (SELECT 1 FROM tasks WHERE parent = :n AND status = 'pending')
    OR EXISTS (SELECT 1 FROM tasks WHERE parent = :n AND status = 'in_progress')
    OR EXISTS (SELECT 1 FROM tasks WHERE parent = :n AND status = 'blocked'),
    EXISTS (SELECT 1 FROM tasks WHERE parent = :n AND status = 'failed' AND on_fail IS NULL),
    EXISTS (SELECT 1 FROM tasks WHERE parent = :n AND status = 'done')
    OR EXISTS (SELECT 1 FROM tasks WHERE parent = :n AND status = 'failed' AND on_fail IS NOT NULL),
    NOT EXISTS (SELECT 1 FROM tasks WHERE parent = :n AND status = 'cancelled' AND NOT satisfied);`

// below says how the children of a task stand.
type below struct {
	open, failed bool // one is
	done         bool // one is, or failed without harm
	satisfied    bool // nobody has to wait for those that are cancelled
}

// ended is what a parent is whose children all ended without harm. Who waits for it waits for all that is below it, so one
// with a child that is cancelled, and not satisfied, is not done.
func (b below) ended() Status {
	if b.done && b.satisfied {
		return Done
	}
	return Cancelled
}

// add counts a child.
func (b *below) add(s Status, goesOn, satisfied bool) {
	b.open = b.open || s.Open()
	b.failed = b.failed || s == Failed && !goesOn
	b.done = b.done || s == Done || s == Failed && goesOn
	b.satisfied = b.satisfied && (s != Cancelled || satisfied)
}

// group is what a group is that a plan calls that. One that failed although none of its children did was given up by
// a person.
func (b below) group(said Status) (status Status, satisfied, givenUp bool) {
	if said == Cancelled {
		said = Pending // unless that is what follows
	}
	switch {
	case !b.open && !b.failed && said != Blocked:
		said = b.ended()
	case !b.open && said == Pending:
		said = Failed
	}
	return said, said == Cancelled && b.satisfied, said == Failed && !b.failed
}

// rollUp brings a parent in line after one of its children went from one status
// to another; from is empty for a child that is new to it. A parent of 0 is no
// parent.
//
//   - all children done or cancelled: the parent is done, or cancelled if none is done or one that is cancelled is not satisfied
//   - a child failed, or the last open one ended beside a failed one: it failed
//   - a child was reopened or added: a finished parent is open again
//
// A child that was open before and still is, such as one that was released,
// reopens nothing.
func (g *transaction) rollUp(parent int64, from, child Status) {
	if parent == 0 {
		return
	}
	p := g.node(parent)
	b := g.childrenOf(parent)
	reopened := child.Open() && (from == "" || !from.Open())
	to := p.status
	switch {
	case !b.open && !b.failed && p.status != Blocked:
		to = b.ended()
	case p.status == Pending && b.failed && (child == Failed || !b.open):
		to = Failed
	case reopened && !p.status.Open(), b.failed && (p.status == Done || p.status == Cancelled):
		to = Pending
	}
	if to == Cancelled && p.status == Cancelled {
		g.satisfy(p, b.satisfied)
	} else if to == Cancelled {
		g.tx.Do(satisfySQL, ":n", parent, ":satisfied", b.satisfied)
	}
	if to == p.status {
		return
	}
	g.move(p, to, ByRollUp)
	if b.failed && !p.status.Open() && to == Pending {
		g.rollUp(parent, child, child) // a failed child came: it was open for a moment only
	}
}

func (g *transaction) childrenOf(n int64) below {
	b, _ := db.One(g.tx, childrenSQL, func(r *db.Row) below { return below{r.Bool(), r.Bool(), r.Bool(), r.Bool()} }, ":n", n)
	return b
}

// reopenAncestors makes every finished ancestor pending, however far up, so that
// a task that was reset is ready again.
func (g *transaction) reopenAncestors(parent int64) {
	for parent != 0 {
		p := g.node(parent)
		if !p.status.Open() {
			g.move(p, Pending, ByRollUp)
		}
		parent = p.parent
	}
}
