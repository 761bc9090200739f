package loop

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"ralph/budget"
	"ralph/dag"
	"ralph/inbox"
	"ralph/internal/git"
	"ralph/internal/human"
	"ralph/internal/seq"
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

// notifyMoved tells an agent that its target has moved, and which of the files that it changed were changed there. That
// is said once as long as the slot stays where it is: prompts that follow the target say what landed.
func (l *lane) notifyMoved(ctx context.Context, now, work string) error {
	base, repo := l.slot.Base(), l.opts.Landing.Repo
	m, err := l.since(ctx, base, now, nil)
	if err != nil || len(m.Landed) == 0 {
		return err
	}
	branch := human.Branch(l.opts.Landing.Target)
	l.notify(ctx, l.claim, "moved\x00"+base, fmt.Sprintf("%s has moved: %s. Your folder follows when your turn ends.", branch, human.List(m.By(), 5)))
	mine, err1 := repo.DiffTrees(ctx, base, work)
	theirs, err2 := repo.DiffTrees(ctx, base, now)
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	landed := seq.Set(theirs, func(d git.Diff) string { return d.Path })
	var both []string
	for _, d := range mine {
		if landed[d.Path] && len(both) < maxLanded {
			both = append(both, d.Path)
		}
	}
	if len(both) == 0 {
		return nil
	}
	if m, err = l.since(ctx, base, now, both); err == nil {
		l.notify(ctx, l.claim, "files\x00"+strings.Join(both, "\x00"), fmt.Sprintf("You changed %s, and so did %s, which has landed on %s.",
			human.List(m.Files, 10), human.List(m.By(), 5), branch))
	}
	return err
}
