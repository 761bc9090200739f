package loop

import (
	"context"
	"errors"
	"strings"
	"sync"

	"ralph/dag"
	"ralph/internal/event"
	"ralph/internal/redact"
	"ralph/loop/attempt"
	"ralph/loop/policy"
	"ralph/loop/remote"
)

// Executor makes attempts of runs on other machines, with what these options bring.
func Executor(opts Options) remote.Executor {
	opts = opts.withDefaults()
	return remote.Executor{
		Worker: func(observe func(event.Event)) attempt.Worker {
			opts.Host.Observe = observe
			return newRunner(opts).worker
		},
		Landing: opts.Landing, Dir: opts.Place.Dir, Runs: opts.Place.Runs, Redact: opts.Host.Redact, Now: opts.Host.Now,
	}
}

// remote reports whether an attempt is made on another machine. What is finished lands here, and what reviews a whole feature looks at
// what is here.
func (t *trial) remote(ctx context.Context) bool {
	if t.opts.Workers.Remote == nil || t.job.Finished != nil {
		return false
	}
	var review *dag.Review
	_ = t.opts.Graph.Store.View(context.WithoutCancel(ctx), func(g *dag.Graph) (err error) { review, err = g.Plan.Review(t.job.Task); return err }) // what follows meets the same trouble
	return review == nil
}

// runRemote has an attempt made on another machine, and stores what it recorded. Accepted work is judged as it will be on the target, as
// any finished work is: the verdict counts for the trees that it is about.
func (t *trial) runRemote(ctx context.Context) (attempt.Result, error) {
	claim, j, stays := t.claim, &t.job, context.WithoutCancel(ctx)
	job, err := t.remoteJob(stays)
	if err != nil {
		return unprepared(err, attempt.AgentUse{})
	}
	res, over, err := t.await(ctx, job)
	switch {
	case errors.Is(context.Cause(ctx), attempt.ErrLost):
		return attempt.Result{Decision: policy.Decide(policy.Facts{Ended: policy.Lost})}, nil
	case err != nil: // nothing is known of the work
		d := policy.Decision{Action: policy.Release, Outcome: event.AttemptError, Delay: t.opts.Rules.Backoff, Reason: err.Error()}
		if errors.Is(err, remote.ErrAbandoned) {
			d.Outcome, d.Uncounted = event.AttemptInterrupted, true
		}
		return attempt.Result{Agent: attempt.AgentUse{Name: j.Agent.Name, Usage: *t.live.note(claim.Attempt).Usage}, Decision: d}, nil
	}
	warn := func(text string) { t.bus.warnOnce(claim.Attempt+"\x00"+text, text) }
	if err := t.refs.Fetch(ctx, j.Task.ID, claim.Attempt, j.Place.Folder, res, warn); err != nil {
		res.Seen.Checked = false
		res.Decision = policy.Decision{Action: policy.Release, Outcome: event.AttemptError, Uncounted: true, Reason: "its work cannot be fetched: " + err.Error()}
		return res.Result, nil
	}
	defer t.refs.Forget(stays, j.Task.ID, claim.Attempt, res)
	names, err := t.recorder.replay(stays, res.ID(), res.Records)
	if err != nil {
		return attempt.Result{Decision: attempt.Unprepared(), Agent: res.Agent}, err
	}
	for given, name := range names {
		res.Decision.Reason = strings.ReplaceAll(res.Decision.Reason, given, name)
	}
	if d := &res.Decision; d.Outcome == event.AttemptInterrupted && over != nil {
		*d = *over
	} else if d.Outcome == event.AttemptInterrupted && errors.Is(context.Cause(ctx), attempt.ErrStopped) {
		d.Reason = attempt.ErrStopped.Error()
	}
	if !res.Decision.Passed() {
		return res.Result, nil
	}
	err = t.opts.Graph.Store.View(stays, func(g *dag.Graph) (err error) { claim.Resumed, err = g.History.Attempt(claim.Attempt); return err })
	if err == nil {
		claim.Resume, j.Made, j.Finished, j.History.Finished = true, &res.Result, res.Finished(), claim.Resumed
		err = t.takeSlot(ctx, claim)
	}
	if err != nil {
		return unprepared(err, res.Agent)
	}
	return t.worker.Run(ctx, *j, t.ports())
}

// remoteJob is what another machine has to know. The remote has the target as it is here before a machine builds on it.
func (t *trial) remoteJob(ctx context.Context) (job remote.Job, err error) {
	j := &t.job
	job = remote.NewJob(*j)
	job.Onto, job.Start, err = t.refs.Publish(ctx, t.run.ID, t.claim.Attempt, func() (tip, start string, err error) {
		b, err := t.lander.Start(ctx, t.claim, false, t.scripted(j))
		return b.Base, b.Commit, err
	})
	if err == nil {
		job.Verify.Allowed, err = t.excuses.all(ctx)
	}
	job.Sources, job.Mail, job.Target = t.sources(ctx, t.opts.Place.Dir, j.Task, j.History.Changed), t.unread(ctx, t.claim), t.opts.Landing.Target
	job.Sources.Sections = nil // they are in the project's folder there, too
	return redact.Deep(t.opts.Host.Redact, job), err
}

// await waits for a result, and ends an attempt that uses more than its task may.
func (t *trial) await(ctx context.Context, job remote.Job) (res remote.Result, over *policy.Decision, err error) {
	made, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	defer context.AfterFunc(ctx, func() {
		if errors.Is(context.Cause(ctx), attempt.ErrLost) {
			t.opts.Workers.Remote.Abandon(t.claim.Attempt)
		}
	})()
	var mu sync.Mutex
	res, err = t.opts.Workers.Remote.Attempt(made, job, func(u event.Usage) {
		_ = t.recorder.record(ctx, attempt.Record{Used: &attempt.Used{Usage: u}}) // in memory
		spent, err := t.spending.compare(context.WithoutCancel(ctx), job.Task)
		if decision, exceeded := overTaskBudget(spent.over); err == nil && exceeded {
			mu.Lock()
			over = &decision
			mu.Unlock()
			stop(errors.New(decision.Reason))
		}
	})
	mu.Lock()
	defer mu.Unlock()
	return res, over, err
}

// unpublish removes what the remote has of this run, and what machines that were late left of earlier ones.
func (r *Runner) unpublish(ctx context.Context) {
	if r.opts.Workers.Remote == nil {
		return
	}
	err := r.refs.Clean(ctx, func(id string) (over bool) {
		err := r.opts.Graph.Store.View(ctx, func(g *dag.Graph) error {
			at, err := g.History.Attempt(id)
			over = id == r.run.ID || err == nil && !at.EndedAt.IsZero()
			return nil
		})
		return err == nil && over
	})
	if err != nil {
		r.bus.warn("", "what other machines needed stays at the remote: "+err.Error())
	}
}

// adopted are the attempts that an earlier process of this run has sent out and whose results are not stored.
func (r *Runner) adopted(ctx context.Context) (list []assignment, err error) {
	err = r.opts.Graph.Store.View(ctx, func(g *dag.Graph) error {
		claims, err := g.Queue.Owned(*r.run)
		for _, c := range claims {
			at, aerr := g.History.Attempt(c.Attempt)
			if err = errors.Join(err, aerr); err == nil {
				list = append(list, assignment{claim: c, agent: at.Agent, iteration: at.Iteration})
			}
		}
		return err
	})
	return list, err
}
