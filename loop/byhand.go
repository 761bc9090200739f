package loop

import (
	"context"

	"ralph/dag"
)

// tellDoneByHand says which tasks became done by a command while the agent worked,
// where nothing keeps it from the database. That may have been a person, who knows;
// so it is said, and nobody is blamed.
func (a *attempt) tellDoneByHand(ctx context.Context) {
	if a.session == nil || a.session.Sandbox() == preventing {
		return
	}
	var ids []string
	err := a.opts.Store.View(ctx, func(g *dag.Graph) (err error) { ids, err = g.DoneByHand(a.began); return err })
	if err != nil {
		return // what it is about was stored; the next statement will say
	}
	for _, id := range ids {
		a.bus.warnOnce("by hand\x00"+id, id+" was made done by a command while an agent worked that nothing keeps from the database; no run has verified it: ralph task reset "+id+" has it done again")
	}
}
