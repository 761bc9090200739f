package loop

import (
	"cmp"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"ralph/dag"
	"ralph/event"
	"ralph/internal/human"
	"ralph/internal/redact"
	"ralph/internal/testing/failpoint"
	"ralph/journal"
	"ralph/loop/policy"
	"ralph/strategy"
	"ralph/verify"
)

// settle is the one write that ends an attempt: status, roll-up, attempt and
// journal together. It happens even after Ctrl-C.
func (a *attempt) settle(ctx context.Context, d policy.Decision) error {
	if d.Action == policy.Abort && errors.Is(context.Cause(ctx), errUnrenewed) {
		d.Reason = errUnrenewed.Error()
	}
	ctx = context.WithoutCancel(ctx)
	if a.opts.Gone != nil && a.opts.Gone() && d.Action != policy.Complete && d.Action != policy.Abort {
		// Whoever deleted it, no decision that was made since then is the task's fault.
		d = policy.Decision{Action: policy.Release, Outcome: event.AttemptError, Reason: "ralph's own files were deleted or replaced while the run worked", Uncounted: true}
		a.facts.Work.Checked = false // what the next run would need is gone
	}
	if d.EndRun != "" {
		a.end(d.EndRun, d.Reason, nil) // before another worker can take what is given back
	}
	a.keepAnswer()
	after := a.look(ctx)
	a.settleBaseline(d.Action == policy.Complete, after.Head)
	a.keepTree(ctx, d)
	a.files = append(a.files, a.worked(ctx, after)...)
	slices.Sort(a.files)
	a.files = slices.Compact(a.files)
	if a.facts.Work.Unchanged { // what the agent wrote was there before, or does not count as work
		a.files = nil
	}
	status := dag.Status("")
	err := a.opts.Store.Update(ctx, func(g *dag.Graph) (err error) {
		// Where nobody can claim: before, another worker could count it not at all, and
		// afterwards twice.
		a.mu.Lock()
		delete(a.working, a.claim.Attempt)
		a.mu.Unlock()
		if d, err = a.because(g, d); err == nil {
			status, err = a.record(g, d)
		}
		return err
	})
	if errors.Is(err, dag.ErrLost) {
		d = policy.Decision{Action: policy.Abort, Outcome: event.AttemptInterrupted, Reason: errLost.Error(), Uncounted: true}
		err = a.opts.Store.Update(ctx, func(g *dag.Graph) (err error) {
			if d, err = a.because(g, d); err == nil {
				status, err = a.record(g, d)
			}
			return err
		})
	}
	if err != nil {
		d, status = unstored(err)
	}
	a.account(d, status)
	if err == nil {
		a.tellDoneByHand(ctx)
	}
	if a.opts.Check != nil {
		err = errors.Join(err, a.opts.Check())
	}
	if err != nil {
		return err
	}
	failpoint.Hit("K11")
	return a.writeKnowledge(ctx)
}

// record writes all that is known in one transaction and returns the task's status.
func (a *attempt) record(g *dag.Graph, d policy.Decision) (dag.Status, error) {
	used := a.usage()
	note := dag.Note{Usage: &used}
	note.Shares = a.split()
	note.StopReason, note.SessionUSD, note.ModelEffective, note.Files = string(a.stop), a.sessionUSD, a.model, a.files
	learned, err := a.learned(d.Outcome)
	if err != nil {
		return "", err
	}
	note.Knowledge = learned
	if err := g.NoteAttempt(a.claim.Attempt, note); err != nil {
		return "", err
	}
	status, err := a.transition(g, d)
	if err != nil {
		return "", err
	}
	if err := g.CountRun(a.run.ID, !d.Uncounted, status); err != nil {
		return "", err
	}
	failpoint.Hit("K10")
	t := a.claim.Task
	return status, journal.Add(g.Tx(), redact.Deep(a.opts.Redact, journal.Entry{
		At: a.opts.Now(), Run: a.run.ID, Attempt: a.claim.Attempt, Iteration: a.iteration, Task: t.ID, Feature: t.Feature,
		Title: t.Title, Outcome: remembered(d, status), Reason: d.Reason, Notes: a.set.Journal, Agent: a.agent, Model: a.choice.Model,
		ModelEffective: a.model, StopReason: string(a.stop), Duration: a.opts.Now().Sub(a.began), Usage: used, Files: a.files,
	}))
}

func (a *attempt) transition(g *dag.Graph, d policy.Decision) (dag.Status, error) {
	switch d.Action {
	case policy.Complete:
		verdict := "skipped"
		green := slices.ContainsFunc(a.facts.Work.Gates, func(c verify.Check) bool { return c.Passed })
		if green || a.facts.Work.Verdict != nil {
			verdict = "passed"
		}
		return dag.Done, g.Complete(a.claim, verdict)
	case policy.Fail:
		return dag.Failed, g.Fail(a.claim, d.Reason)
	case policy.Retry:
		retry, limit := g.Retry, a.opts.MaxRetries
		if override := cmp.Or(d.Limit, a.opts.Retries); override != nil {
			retry, limit = g.RetryAtMost, *override
		}
		status, err := retry(a.claim, d.Reason, limit)
		return status, err
	case policy.Release, policy.Wait:
		// Finished work that could not be judged now needs no agent the next time.
		rel := dag.Release{Outcome: d.Outcome, Reason: d.Reason, Uncounted: d.Uncounted, Finished: a.facts.Work.Checked}
		switch {
		case d.Action == policy.Wait:
			var err error
			if rel.NotBefore, rel.WaitAgent, err = a.holdBack(g, d); err != nil {
				return "", err
			}
			rel.Wait = d.Reason
		case d.Delay > 0:
			rel.NotBefore, rel.Wait = a.opts.Now().Add(a.jitter(d)), d.Reason
		}
		return dag.Pending, g.Release(a.claim, rel)
	default: // Abort: the task has moved on without us
		if err := g.Holds(a.claim); err == nil { // or could have: nobody else will ever free it while we live
			return dag.Pending, g.Release(a.claim, dag.Release{Outcome: d.Outcome, Reason: d.Reason, Uncounted: true, Finished: a.facts.Work.Checked})
		} else if !errors.Is(err, dag.ErrLost) {
			return "", err
		}
		if err := g.AbandonAttempt(a.claim.Attempt, d.Outcome, d.Reason); err != nil {
			return "", err
		}
		t, err := g.Task(a.claim.Task.ID)
		if errors.Is(err, dag.ErrNotFound) {
			return event.TaskDeleted, nil
		}
		return t.Status, err
	}
}

// remembered is the journal's word for it: a retry that was the last is a failure.
func remembered(d policy.Decision, status dag.Status) event.AttemptOutcome {
	if d.Action == policy.Retry && status == dag.Failed {
		return event.AttemptFailed
	}
	return d.Outcome
}

// jitter spreads delays of our own making.
func (a *attempt) jitter(d policy.Decision) time.Duration {
	if a.opts.Jitter == nil {
		return d.Delay
	}
	return a.opts.Jitter(d.Delay)
}

// keepAnswer stores what the agent said, for the next attempt's prompt.
func (a *attempt) keepAnswer() {
	if len(a.answer) == 0 {
		return
	}
	text := a.opts.Redact.Text(strings.Join(a.answer, "\n"))
	if err := os.WriteFile(filepath.Join(a.folder, "answer.md"), []byte(text), 0o600); err != nil {
		a.bus.warn(a.claim.Task.ID, "keeping the answer: "+err.Error())
	}
}

// account updates the run's counters and tells what happened.
func (a *attempt) account(d policy.Decision, status dag.Status) {
	for _, other := range a.set.Foreign {
		a.bus.warn(a.claim.Task.ID, "the agent emitted "+other.Tag+" for another task: "+other.ID)
	}
	spent := a.usage()
	a.bus.emit(event.Event{
		Type: event.AttemptEnded, Iteration: a.iteration, Task: a.claim.Task.ID, Attempt: a.claim.Attempt, Title: a.claim.Task.Title,
		Agent: a.agent, Model: a.model, Outcome: string(remembered(d, status)), Status: status, Reason: d.Reason,
		Duration: a.opts.Now().Sub(a.began).Milliseconds(), Files: a.files,
		Usage: &spent,
	})
	hint := a.usableHint()
	tier := a.choice.Tier
	if a.claim.Task.Model != "" {
		tier = "" // a person's choice for one task says nothing about the others
	}
	if a.opts.Budget.priced() && spent.Unknown {
		a.bus.warnOnce("cost", "the agent does not tell what it costs, so no budget of money can hold it; [prices] in .ralph.toml can estimate it")
	}
	if d.Drop {
		a.bus.warn("", a.worker+" cannot be used: "+d.Reason)
	}
	silent := a.ledger.settle(entry{
		task: a.claim.Task, iteration: a.iteration, agent: a.worker, decision: d, status: status, opened: a.session != nil,
		answered: a.facts.Session.Answered, empty: a.facts.Turn.Empty, mute: a.facts.Agent.Mute, offered: a.offered,
		hint: hint, tier: tier, notes: a.set.Journal, files: a.files,
	})
	a.signal.wake()
	switch {
	case d.NoAnswer && silent >= a.opts.Breaker:
		a.end(event.OutcomeUnavailable, "no agent answered in "+human.Count(silent, "attempt")+"; the last: "+d.Reason, nil)
	case a.opts.FailFast && status == dag.Failed:
		a.end(event.OutcomeFailure, a.claim.Task.ID+" failed: "+d.Reason, nil)
	}
}

// usableHint is the model that the agent wants next, if it is a tier or one that
// the agent offers; any other name would only end the next attempt.
func (a *attempt) usableHint() string {
	hint := a.set.NextModel
	if _, tier := strategy.ParseTier(hint); hint == "" || tier || slices.Contains(a.offered, hint) {
		return hint
	}
	a.bus.warn(a.claim.Task.ID, "the agent asked for a model that it does not offer: "+hint)
	return ""
}
