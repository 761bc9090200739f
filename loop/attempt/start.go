package attempt

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
	agent, proven := a.job.Agent.Name, a.job.Agent.Standing.Proven || a.said.Answered || a.verified
	if name := a.job.Agent.Verifier; op.Verifier && name != "" && name != agent {
		agent, proven = name, a.job.Agent.VerifierProven || a.verified
	}
	a.said.Restarted = false
	s, err := a.Open(ctx, op)
	for i, wait := range restarts() {
		if err == nil || ctx.Err() != nil || !passing(err) || !proven {
			return s, err
		}
		a.warn(a.job.Task.ID, fmt.Sprintf("%s could not be started: %v; retry %d of %d in %s", agent, err, i+1, len(restarts()), wait))
		Pause(ctx, nil, a.Now().Add(wait), a.Now, a.Poll)
		if ctx.Err() == nil {
			s, err = a.Open(ctx, op)
		}
	}
	if err == nil || ctx.Err() != nil {
		return s, err
	}
	a.said.Restarted = true
	return nil, &acp.Error{Kind: acp.CannotStart, Op: "start", Text: fmt.Sprintf("%d retries; the last: %v", len(restarts()), err), Err: err}
}

// passing says that an agent could not be started for a reason that may pass.
func passing(err error) bool {
	return errors.Is(err, acp.NotFound) || errors.Is(err, acp.CannotStart) || errors.Is(err, acp.Died)
}

// Pause waits until a channel is closed, a time has come, or ctx ends. A zero time is
// never. It looks at the clock now and then instead of setting an alarm, because alarms
// do not go on while a machine sleeps.
func Pause(ctx context.Context, changed <-chan struct{}, until time.Time, now func() time.Time, poll time.Duration) {
	tick := time.NewTimer(0)
	defer tick.Stop()
	for {
		left := until.Sub(now())
		switch {
		case until.IsZero():
			tick.Stop()
		case left <= 0:
			return
		default:
			tick.Reset(min(left, cmp.Or(poll, time.Second)))
		}
		select {
		case <-ctx.Done():
			return
		case <-changed:
			return
		case <-tick.C:
		}
	}
}
