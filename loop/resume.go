package loop

import (
	"context"

	"ralph/dag"
	"ralph/event"
)

// Earlier is the session in which an attempt at the same task was interrupted.
type Earlier struct {
	Agent   string // the only one that knows it
	Session string
	CostUSD float64 // what it was last said to have cost
}

// earlier finds a session to go on with, if that is wanted. That there is none, or
// that it cannot be read, is no reason not to begin anew.
func (a *attempt) earlier(ctx context.Context) *Earlier {
	if !a.opts.Resume {
		return nil
	}
	var attempts []dag.Attempt
	err := a.opts.Store.View(ctx, func(g *dag.Graph) (err error) {
		attempts, err = g.Attempts(a.claim.Task)
		return err
	})
	if err != nil {
		return nil
	}
	return earlierSession(a.claim.Task, attempts)
}

// earlierSession is that of the last attempt, if it was interrupted: whatever
// else came of an attempt, its session has nothing to be gone on with. What was
// before a person reset the task does not count.
func earlierSession(t dag.Task, attempts []dag.Attempt) *Earlier {
	var last dag.Attempt
	for _, at := range attempts {
		if !at.EndedAt.IsZero() && !at.StartedAt.Before(t.StartedAt) {
			last = at
		}
	}
	if last.Outcome != event.AttemptInterrupted || last.Session == "" {
		return nil
	}
	e := &Earlier{Agent: last.Agent, Session: last.Session}
	for _, at := range attempts { // one that was killed could not say what it cost
		if at.Session == last.Session && at.SessionUSD != nil {
			e.CostUSD = *at.SessionUSD
		}
	}
	return e
}
