package loop

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"ralph/acp"
)

// restarts are the waits before each new try to start an agent: a minute together.
func restarts() []time.Duration {
	return []time.Duration{2 * time.Second, 4 * time.Second, 8 * time.Second, 16 * time.Second, 30 * time.Second}
}

// start opens a session. An agent that has answered in this run and cannot be started
// now is most likely being updated, or the machine is short of processes: it is worth
// another try before the run does without it.
func (a *attempt) start(ctx context.Context, op Opening) (Session, error) {
	agent := a.worker
	if op.Judge {
		agent = a.judgeName()
	}
	a.facts.Session.Restarted = false
	s, err := a.opts.Open(ctx, op)
	for i, wait := range restarts() {
		if err == nil || ctx.Err() != nil || !passing(err) || !a.hasAnswered(agent) {
			return s, err
		}
		a.bus.warn(a.claim.Task.ID, fmt.Sprintf("%s could not be started: %v; retry %d of %d in %s", agent, err, i+1, len(restarts()), wait))
		a.pause(ctx, nil, a.opts.Now().Add(wait))
		if ctx.Err() == nil {
			s, err = a.opts.Open(ctx, op)
		}
	}
	if err == nil || ctx.Err() != nil {
		return s, err
	}
	a.facts.Session.Restarted = true
	return nil, &acp.Error{Kind: acp.CannotStart, Op: "start", Text: fmt.Sprintf("%d retries; the last: %v", len(restarts()), err), Err: err}
}

// passing says that an agent could not be started for a reason that may pass.
func passing(err error) bool {
	return errors.Is(err, acp.NotFound) || errors.Is(err, acp.CannotStart) || errors.Is(err, acp.Died)
}

// judgeName is the name of the agent that gives verdicts.
func (a *attempt) judgeName() string { return cmp.Or(a.opts.JudgeAgent, a.worker) }

// hasAnswered says that an agent has answered in this run.
func (a *attempt) hasAnswered(agent string) bool {
	return a.ledger.proven(agent) || agent == a.worker && a.facts.Session.Answered
}
