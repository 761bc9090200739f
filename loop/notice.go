package loop

import (
	"context"
	"errors"
	"fmt"

	"ralph/dag"
	"ralph/internal/budget"
	"ralph/internal/inbox"
)

// notify tells the agent of an attempt what the run has noticed, once for each subject. It reads that in its turn by a
// tool, or with the next prompt; it gets no turn of its own for it.
func (s shared) notify(ctx context.Context, c dag.Claim, subject, text string) {
	if !s.bus.first("notice\x00" + c.Attempt + "\x00" + subject) {
		return
	}
	err := s.opts.Graph.Store.Update(ctx, func(g *dag.Graph) error { return inbox.Notice(g, c, text) })
	if err != nil && ctx.Err() == nil && !errors.Is(err, dag.ErrLost) {
		s.bus.warnOnce("messages", "an agent could not be told something: "+err.Error())
	}
}

// notifyNear tells an agent that a budget is nearly used up.
func (s shared) notifyNear(ctx context.Context, c dag.Claim, near []budget.Finding) {
	for _, f := range near {
		s.notify(ctx, c, "budget\x00"+f.Key(), nearText(f)+". Finish what you have begun, and note in the journal what is left to do.")
	}
}

// notifyReopened tells an agent which tasks that its own waits for are not done any more.
func (s shared) notifyReopened(ctx context.Context, c dag.Claim, blockers []dag.Task) {
	for _, t := range blockers {
		s.notify(ctx, c, "reopened\x00"+t.ID, fmt.Sprintf("%s (%s) was reopened: your task waits for it, and what it made may change.", t.ID, t.Title))
	}
}
