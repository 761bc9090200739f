package land

import (
	"context"
	"errors"
	"fmt"

	"ralph/dag"
	"ralph/internal/git"
	"ralph/internal/merge"
	"ralph/internal/seq"
	"ralph/loop/policy"
)

// baseAhead is the commit that an attempt begins with which stands on held work: that work as it was judged, if it has all that landed
// since, or else made anew on what has. It is "" if the attempt stands on nothing.
func (l *Lander) baseAhead(ctx context.Context, claim dag.Claim) (string, error) {
	if claim.Task.StandsOn == "" {
		return "", nil
	}
	line, err := l.line(ctx, claim)
	if err != nil {
		return "", err
	}
	at, err := l.Tip(ctx)
	if err != nil {
		return "", err
	}
	there, err := merge.Existing(ctx, l.Repo, seq.Map(line, func(m dag.Merge) string { return m.Candidate }))
	if err != nil {
		return "", err
	}
	if len(line) == 0 || len(there) < len(line) {
		return "", l.baseFails(ctx, claim, "the held work of "+claim.Task.StandsOn+" is gone")
	}
	top := line[len(line)-1].Candidate
	if has, err := l.Repo.IsAncestor(ctx, at, top); err != nil || has {
		return top, err
	}
	for _, m := range line {
		said, err := l.Repo.Git(ctx, git.Call{}, "show", "-s", "--no-show-signature", "--format=%B", m.Candidate)
		if err != nil {
			return "", err
		}
		built, err := merge.Build(ctx, l.Repo, at, m.Onto, m.Candidate, said)
		if err != nil {
			return "", err
		}
		if len(built.Files) > 0 {
			return "", l.baseFails(ctx, claim, fmt.Sprintf("the held work of %s conflicts with what has landed", m.Task))
		}
		at = built.Candidate
	}
	return at, nil
}

// line is the held work that a claim stands on, from the target up.
func (l *Lander) line(ctx context.Context, claim dag.Claim) (line []dag.Merge, err error) {
	err = l.Store.View(ctx, func(g *dag.Graph) (err error) { line, err = g.Queue.Line(claim.Task, l.Target); return err })
	return line, err
}

// baseFails keeps further tasks from the held work that a claim stands on, and is a policy.BrokenBase: that work is to land first.
func (l *Lander) baseFails(ctx context.Context, claim dag.Claim, why string) error {
	line, err := l.line(ctx, claim)
	if err == nil {
		err = l.Store.Update(context.WithoutCancel(ctx), func(g *dag.Graph) error { return g.Queue.RefuseOn(line) })
	}
	if err != nil {
		return err
	}
	return policy.BrokenBase{Reason: why + ": its task begins when that has landed"}
}

// BaseFails gives the task back if it stands on held work: what is wrong without its own work is not its fault. It is nil otherwise.
func (l *Lane) BaseFails(ctx context.Context, why string) error {
	if stands, err := l.stands(ctx); err != nil || !stands {
		return err
	}
	return l.baseFails(ctx, l.claim, "with the held work of "+l.claim.Task.StandsOn+" below it, "+why)
}

// BaseFails is nil: the work lies on what has landed.
func (w *Workspace) BaseFails(context.Context, string) error { return nil }

// stands reports whether the work still stands on held work: once that has landed, it lands on the target like any other.
func (l *Lane) stands(ctx context.Context) (bool, error) {
	if l.on == "" {
		return false, nil
	}
	var t dag.Task
	err := l.Store.View(ctx, func(g *dag.Graph) (err error) { t, err = g.Tasks.Get(l.claim.Task.ID); return err })
	if errors.Is(err, dag.ErrNotFound) { // its claim is lost, which is said elsewhere
		return true, nil
	}
	if err == nil && t.StandsOn == "" {
		l.on = ""
	}
	return l.on != "", err
}

// end is what the work is to lie on: the tip of the target, or held work as long as it stands on that.
func (l *Lane) end(ctx context.Context) (string, error) {
	on := l.on
	if stands, err := l.stands(ctx); err != nil || stands {
		return on, err
	}
	return l.Tip(ctx)
}

// behind is what becomes of accepted work that stands on held work: it lands after that. If that has landed meanwhile, it is judged there.
func (l *Lane) behind(ctx context.Context) (Outcome, error) {
	if stands, err := l.stands(ctx); err != nil || stands {
		return Behind, err
	}
	l.state = merge.Building
	return Moved, l.update(ctx, func(g *dag.Graph) error { return g.Queue.Built(l.claim, l.entry.N, l.entry.Onto, l.entry.Onto) })
}
