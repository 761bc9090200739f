package loop

import (
	"context"

	"ralph/event"
	"ralph/loop/recovery"
)

func (r *Runner) recover(ctx context.Context) (recovery.Recovery, error) {
	if r.opts.Life == nil {
		return recovery.Recovery{}, nil
	}
	rec := r.recoverer()
	rec.Dirty = recovery.WorkingTree{Dir: r.opts.Dir, Objects: r.opts.Objects, OwnFiles: r.own(ctx), OnDirty: r.opts.Recovery.OnDirty}
	return rec.Recover(ctx)
}

func (r *Runner) recoverer() recovery.Recoverer {
	return recovery.Recoverer{Store: r.opts.Store, Life: r.opts.Life, Sweep: r.opts.Sweep, Rules: r.opts.Recovery, Now: r.opts.Now}
}

// emitRecovery emits an event for each reclaimed task, and the summary.
func (r *Runner) emitRecovery(rec recovery.Recovery) {
	for _, t := range rec.Tasks {
		r.bus.emit(event.Event{Type: event.Recovered, Task: t.Task, Title: t.Title, Attempt: t.Attempt, Outcome: string(t.Action), Reason: t.Reason})
	}
	sum := rec.Summary()
	r.bus.emit(event.Event{Type: event.RecoveryDone, Recovery: &sum, Reason: sum.String()})
}
