package land

import (
	"context"
	"errors"
	"io/fs"
	"strings"
	"sync"

	"ralph/dag"
	"ralph/internal/event"
	"ralph/internal/hooks"
	"ralph/internal/merge"
	"ralph/internal/testing/failpoint"
	"ralph/loop/policy"
)

// Land moves the target to the candidate that was judged last, unless that waits for a person.
func (l *Lane) Land(ctx context.Context) (Outcome, error) {
	e := l.entry
	if l.aside(e) {
		return Held, nil
	}
	if l.on != "" {
		return l.behind(ctx)
	}
	if err := l.mayLand(ctx); err != nil {
		return "", err
	}
	if err := merge.Prove(ctx, l.Repo, e.Base, e.Work, e.Onto, e.Candidate); err != nil {
		return "", err
	}
	refs, err := l.refsToLand(ctx, e)
	if err != nil {
		return "", err
	}
	for {
		changed := l.Signal.Changed()
		err := l.update(ctx, func(g *dag.Graph) error {
			if len(refs) > 0 {
				if err := g.Queue.Refs(l.claim, e.N, refs); err != nil {
					return err
				}
			}
			return g.Queue.Landing(l.claim, e.N, "")
		})
		if err == nil {
			l.entry.Refs = refs
			failpoint.Hit("before-land")
			return l.move(ctx)
		}
		if !errors.Is(err, dag.ErrLanding) {
			return "", err
		}
		if err := l.wait(ctx, changed, 1); err != nil {
			return "", err
		}
	}
}

// mayLand asks hooks whether work may land. If not, it leaves the queue.
func (l *Lane) mayLand(ctx context.Context) error {
	t, e := l.claim.Task, l.entry
	out := l.Hook(ctx, hooks.Payload{
		Point: hooks.MergeBefore, Task: t.ID, Title: t.Title, Attempt: l.claim.Attempt, Dir: l.slot.Dir(),
		Merge: &hooks.Merge{Target: l.Target, Onto: e.Onto, Commit: e.Candidate},
	})
	if !out.Blocked() {
		return nil
	}
	if err := l.giveBack(ctx, out.Refusal()); err != nil {
		return err
	}
	return policy.Refused{Reason: out.Refusal()}
}

// move moves the target.
func (l *Lane) move(ctx context.Context) (Outcome, error) {
	e, said := l.entry, ""
	for polls := 1; ; polls = min(polls+1, patience) {
		changed := l.Signal.Changed()
		var waits error
		advance := func() (err error) {
			waits, err = merge.Land(ctx, l.Repo, l.Target, e.Onto, e.Candidate, polls == patience)
			return err
		}
		var err error
		if l.Here() {
			err = l.landHere(ctx, advance)
		} else {
			err = advance()
		}
		if err == nil {
			failpoint.Hit("before-refs-made")
			l.writeRefs(ctx)
			failpoint.Hit("after-move")
			l.stuck.again("")
			l.landed(l.waits(waits))
			return Landed, nil
		}
		reason := strings.TrimPrefix(err.Error(), "land on "+l.Target+": ")
		switch {
		case errors.Is(err, merge.ErrMoved): // it has not landed, and others may
			l.state = merge.Building
			return Moved, l.update(ctx, func(g *dag.Graph) error { return g.Queue.Built(l.claim, e.N, e.Onto, e.Onto) })
		case !errors.Is(err, merge.ErrLocked):
			// No other work could land either. Trying again would judge the same work again, and pay for it.
			if l.stuck.again(reason) || errors.Is(err, fs.ErrPermission) {
				err = policy.Halted{Reason: "nothing can land on " + l.name() + ": " + reason}
			}
			if err = l.withdraw(ctx, err, reason); err == nil {
				l.warn(l.claim.Task.ID, reason)
			}
			return Landed, err
		case said != reason && polls > 1: // most locks are gone in a moment
			said = reason
			if err := l.update(ctx, func(g *dag.Graph) error { return g.Queue.Landing(l.claim, e.N, said) }); err != nil {
				return "", err
			}
			l.emit(event.MergeWaiting, said)
			changed = l.Signal.Changed() // we woke ourselves
		}
		if err := l.wait(ctx, changed, polls); err != nil {
			return Landed, l.withdraw(ctx, err, "the run ended before it could land")
		}
	}
}

// stuck is why the last landing failed, "" if it did not.
type stuck struct {
	sync.Mutex
	reason string
}

// again reports whether the landing before failed for the same reason.
func (s *stuck) again(reason string) bool {
	s.Lock()
	defer s.Unlock()
	before := s.reason
	s.reason = reason
	return reason != "" && reason == before
}

// landed tells that the work has landed, on the branch or beyond it.
func (l *Lane) landed(waits *event.Waits) {
	l.moved(l.entry.Candidate, waits)
	reason := ""
	if waits != nil {
		reason = waits.Reason
	}
	l.emit(event.MergeLanded, reason)
	if err := l.room.Trust(); err != nil { // then it is cleaned, which only takes time
		l.WarnOnce("room", "a room of work that landed is cleaned: "+err.Error())
	}
}

// withdraw takes work out of the queue that was landing, and returns why, unless it has landed after all: git may
// have moved the target and failed then. If even that cannot be known, the entry stays for recovery.
func (l *Lane) withdraw(ctx context.Context, cause error, reason string) error {
	e, ctx := l.entry, context.WithoutCancel(ctx)
	left, err := merge.Unfinish(ctx, l.Repo, l.Target, e.Onto, e.Candidate)
	switch {
	case err != nil:
		return errors.Join(cause, err)
	case left.Landed:
		l.stuck.again("")
		l.writeRefs(ctx)
		l.emit(event.MergeLanded, "")
		return nil
	}
	return errors.Join(cause, l.giveBack(ctx, reason))
}
