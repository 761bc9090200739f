package loop

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"ralph/dag"
	"ralph/internal/event"
	"ralph/internal/human"
	"ralph/internal/inbox"
	"ralph/internal/redact"
	"ralph/internal/testing/failpoint"
	"ralph/journal"
	"ralph/knowledge"
	"ralph/loop/attempt"
	"ralph/loop/policy"
)

// settler writes what came of an attempt.
type settler struct{ shared }

// settle is the one write that ends an attempt: status, roll-up, attempt and journal
// together. It happens even after Ctrl-C. It returns the task's status, and the decision as
// it was stored.
func (s settler) settle(ctx context.Context, claim dag.Claim, j attempt.Job, res attempt.Result) (status dag.Status, d policy.Decision, err error) {
	began := s.began(ctx, claim, j)
	store := func(d policy.Decision) (policy.Decision, error) {
		err := s.opts.Graph.Store.Update(ctx, func(g *dag.Graph) (err error) {
			s.live.remove(claim.Attempt)
			if d, err = explainLoss(g, claim, d); err == nil {
				res.Decision = d
				status, err = s.record(g, claim, j, res)
			}
			if err == nil {
				err = inbox.Repeated(g, dag.Attempt{ID: claim.Attempt, Task: claim.Task.ID}, began)
			}
			return err
		})
		return d, err
	}
	d, err = store(res.Decision)
	if errors.Is(err, dag.ErrLost) {
		d, err = store(policy.Decision{Action: policy.Abort, Outcome: event.AttemptInterrupted, Reason: attempt.ErrLost.Error(), Uncounted: true})
	}
	if err != nil { // nothing of it counts, and its task is still claimed
		d = policy.Decision{Action: policy.Abort, Outcome: event.AttemptError, Reason: "what came of it could not be stored: " + err.Error(), Uncounted: true}
		return dag.InProgress, d, err
	}
	return status, d, nil
}

// began are the calls of an attempt that was told to do one again: if it has begun that, the next is not told so.
func (s settler) began(ctx context.Context, claim dag.Claim, j attempt.Job) (calls []string) {
	if s.opts.Recovery.Calls == nil || !slices.ContainsFunc(j.History.Answers, inbox.Request.Repeats) {
		return nil
	}
	var at dag.Attempt
	err := s.opts.Graph.Store.View(ctx, func(g *dag.Graph) (err error) { at, err = g.History.Attempt(claim.Attempt); return err })
	if err == nil && at.Transcript != "" {
		calls, _, err = s.opts.Recovery.Calls(at)
	}
	if err != nil {
		s.bus.warn(claim.Task.ID, "the next attempt may repeat a call that this one has repeated: "+err.Error())
	}
	return calls
}

// record writes all that is known in one transaction and returns the task's status.
func (s settler) record(g *dag.Graph, claim dag.Claim, j attempt.Job, res attempt.Result) (dag.Status, error) {
	t, d, now := claim.Task, res.Decision, s.opts.Host.Now()
	note := dag.Note{
		Usage: &res.Agent.Usage, Shares: res.Agent.Shares, StopReason: string(res.Agent.Stop), SessionUSD: res.Agent.SessionUSD,
		ModelEffective: res.Agent.Model, Files: res.Files, Rejected: d.Rejected,
	}
	if s.opts.Prompt.Knowledge != nil {
		var err error
		of := knowledge.Entry{Feature: t.Feature, CreatedAt: now.UTC(), Task: t.ID, Run: s.run.ID}
		if note.Knowledge, err = learned(res.Said.Knowledge, d.Outcome, of); err != nil {
			return "", err
		}
	}
	if err := g.History.NoteAttempt(claim.Attempt, note); err != nil {
		return "", err
	}
	if err := countUses(g, t.ID, res); err != nil {
		return "", err
	}
	status, err := s.transition(g, claim, j, res)
	switch {
	case err != nil:
	case status == dag.Done:
		err = s.review(g, claim, j, res)
	case j.Review.Acceptance() && status == dag.Failed: // all of it can be looked up
		err = s.keepFindings(g, claim, *j.Review, res)
	}
	if err != nil {
		return "", err
	}
	switch now, err := g.Tasks.Get(t.ID); {
	case errors.Is(err, dag.ErrNotFound): // one that was to take work back
		status = event.TaskDeleted
	case err != nil:
		return "", err
	default:
		status = now.Status // one that was split is open until its subtasks are done
	}
	if err := g.History.CountRun(s.run.ID, !d.Uncounted, status); err != nil {
		return "", err
	}
	if res.Seen.Answered && d.Action != policy.Wait {
		if err := g.Queue.Answered(j.Agent.Name); err != nil {
			return "", err
		}
	}
	failpoint.Hit("in-settlement")
	return status, journal.Add(g.Tx(), redact.Deep(s.opts.Host.Redact, journal.Entry{
		At: now, Run: s.run.ID, Attempt: claim.Attempt, Iteration: j.Run.Iteration, Task: t.ID, Feature: t.Feature,
		Title: t.Title, Outcome: remembered(d, status), Reason: d.Reason, Notes: strings.Join(human.Parts(append([]string{res.Said.Journal, beyond(t, res)}, res.Unusual...)...), "\n\n"), Agent: res.Agent.Name, Model: j.Agent.Choice.Model,
		ModelEffective: res.Agent.Model, StopReason: string(res.Agent.Stop), Duration: now.Sub(res.Began), Usage: res.Agent.Usage, Files: res.Files,
	}))
}

func (s settler) transition(g *dag.Graph, claim dag.Claim, j attempt.Job, res attempt.Result) (dag.Status, error) {
	switch d := res.Decision; d.Action {
	case policy.Complete:
		if d.Outcome == event.AttemptAlreadyDone {
			claim.Already = d.Reason
		}
		verdict := "skipped"
		if res.Seen.Passed {
			verdict = "passed"
		}
		if res.Judged.Entry > 0 {
			return dag.Done, g.Queue.Landed(claim, res.Judged.Entry, verdict)
		}
		return dag.Done, g.Queue.Complete(claim, verdict)
	case policy.Hold:
		return dag.Pending, g.Queue.Hold(claim, res.Judged.Entry, d.Reason)
	case policy.Fail:
		return dag.Failed, g.Queue.Fail(claim, d.Reason)
	case policy.Retry:
		if err := g.Plan.LockFiles(claim.Task.ID, d.Conflict...); err != nil {
			return "", err
		}
		retry, limit := g.Queue.Retry, s.opts.Rules.MaxRetries
		for _, override := range []*int{s.opts.Rules.Retries, d.Limit} {
			if override != nil {
				retry, limit = g.Queue.RetryAtMost, *override
			}
		}
		status, err := retry(claim, d.Reason, limit)
		return status, err
	case policy.Release, policy.Wait, policy.Park:
		// Finished work that could not be verified now needs no agent the next time.
		rel := dag.Release{Outcome: d.Outcome, Reason: d.Reason, Uncounted: d.Uncounted, Finished: res.Seen.Checked}
		switch {
		case d.Action == policy.Wait:
			var err error
			if rel.NotBefore, rel.WaitAgent, err = s.holdBack(g, j, res); err != nil {
				return "", err
			}
			rel.Wait = d.Reason
		case d.Delay > 0:
			rel.NotBefore, rel.Wait = s.opts.Host.Now().Add(s.opts.Host.Jitter(d.Delay)), d.Reason
		}
		if d.Action == policy.Park {
			failpoint.Hit("in-give-back")
		}
		err := g.Queue.Release(claim, rel)
		if err == nil && d.BlockedOn != "" && g.Plan.MayWait(d.BlockedOn, claim.Task.ID) == nil { // else it was deleted, or waits for this one by now
			err = g.Plan.Link(d.BlockedOn, claim.Task.ID)
		}
		return dag.Pending, err
	default: // Abort: the task has moved on without us
		if err := g.Queue.Holds(claim); err == nil { // or could have: nobody else will ever free it while we live
			return dag.Pending, g.Queue.Release(claim, dag.Release{Outcome: d.Outcome, Reason: d.Reason, Uncounted: true, Finished: res.Seen.Checked})
		} else if !errors.Is(err, dag.ErrLost) {
			return "", err
		}
		if err := g.History.AbandonAttempt(claim.Attempt, d.Outcome, d.Reason); err != nil {
			return "", err
		}
		t, err := g.Tasks.Get(claim.Task.ID)
		if errors.Is(err, dag.ErrNotFound) {
			return event.TaskDeleted, nil
		}
		return t.Status, err
	}
}

// holdBack records that an agent is rate-limited until a time, and says until when the
// task waits for it: not at all if somebody else can take it.
func (s settler) holdBack(g *dag.Graph, j attempt.Job, res attempt.Result) (until time.Time, agent string, err error) {
	d, now := res.Decision, s.opts.Host.Now()
	until = now.Add(d.Delay)
	if !d.Until.IsZero() {
		until = d.Until
	}
	if least := now.Add(d.Least); until.Before(least) {
		until = least
	}
	until = until.Truncate(time.Millisecond) // as it is stored
	agent = j.Agent.Name
	if d.Limits == policy.OneTask {
		return until, agent, nil
	}
	if res.Seen.Checked && j.Agent.Verifier != "" {
		agent = j.Agent.Verifier
	}
	limit := dag.AgentLimit{Agent: agent, Until: until, Reason: s.opts.Host.Redact.Text(d.Reason)}
	if err := g.Queue.LimitAgent(limit); err != nil {
		return until, agent, err
	}
	if to := s.opts.Agents.OtherProjects; to != nil && d.Limits == policy.AnyProject {
		if err := to.Limit(now, limit); err != nil {
			s.bus.warnOnce("limits", "other projects do not learn of the limit: "+err.Error())
		}
	}
	limits, err := g.Queue.AgentLimits()
	if err != nil || j.Task.Agent != "" || res.Seen.Checked {
		return until, agent, err
	}
	for _, name := range s.candidates() {
		if !slices.ContainsFunc(limits, func(l dag.AgentLimit) bool { return l.Agent == name }) {
			return time.Time{}, "", nil
		}
	}
	return until, agent, nil
}

// explainLoss says in the reason what became of a task that is no longer ours, because
// only that explains why its agent was ended.
func explainLoss(g *dag.Graph, claim dag.Claim, d policy.Decision) (policy.Decision, error) {
	if d.Action != policy.Abort || d.Reason != attempt.ErrLost.Error() {
		return d, nil
	}
	t, err := g.Tasks.Get(claim.Task.ID)
	if errors.Is(err, dag.ErrNotFound) {
		d.Reason = "it was deleted meanwhile"
		return d, nil
	}
	if err != nil {
		return d, err
	}
	switch t.Status {
	case dag.Done:
		d.Reason = "it was marked as done meanwhile"
	case dag.Blocked:
		d.Reason = "it was blocked meanwhile"
	case dag.Cancelled:
		d.Reason = "it was cancelled meanwhile"
	case dag.Pending:
		d.Reason = "it was reset meanwhile"
		if at, aerr := g.History.Attempt(claim.Attempt); aerr == nil && at.Reason == dag.Fallen {
			d.Reason = dag.Fallen
		}
	case dag.Failed:
		d.Reason, err = g.Tasks.LastFailure(t) // what the person said
	case dag.InProgress: // another run is at it by now
	}
	return d, err
}

// remembered is the outcome of an attempt for all who are told: a retry that was the last is a failure.
func remembered(d policy.Decision, status dag.Status) event.AttemptOutcome {
	if d.Action == policy.Retry && (status == dag.Failed || status == event.TaskDeleted) {
		return event.AttemptFailed
	}
	return d.Outcome
}
