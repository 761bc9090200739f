package loop

import (
	"cmp"
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"ralph/dag"
	"ralph/event"
	"ralph/inbox"
	"ralph/internal/redact"
	"ralph/internal/seq"
	"ralph/loop/attempt"
	"ralph/loop/policy"
	"ralph/verify"
)

// Elsewhere has the attempts of a run made on other machines. The run itself claims, briefs, lands and settles, as always.
type Elsewhere interface {
	// Begin says which run it is, and which of its attempts are still to be delivered if an earlier process began it.
	Begin(run string, open []string) error
	// Attempt has an order carried out, and reports what it uses meanwhile. If ctx ends, the attempt is to end, too, and is
	// delivered all the same.
	Attempt(ctx context.Context, o Order, used func(event.Usage)) (Delivery, error)
	// Abandon says that nobody waits for an attempt any more: it is to end.
	Abandon(attempt string)
	// Settled says that what came of an attempt is stored.
	Settled(attempt string)
	// Idle says that there is nothing to order at the moment.
	Idle()
	// Ended says how the run ended.
	Ended(out event.Result)
}

// Order is what another machine needs to make an attempt. It survives json.Marshal.
type Order struct {
	Job     attempt.Job
	Sources attempt.Sources // what the project's own files say: not all of them are in git
	Mail    []inbox.Request // messages that the agent has not received
	Run     string
	Target  string // the branch, as prompts call it
	Onto    string // a commit of the target that has all that the task builds on
	Start   string // what the attempt begins with, if that is earlier work on Onto
}

// Delivery is what came of an order, with all that would have been recorded here meanwhile. It survives json.Marshal.
type Delivery struct {
	Result   attempt.Result
	Noted    []dag.Note
	Base     *attempt.Base
	Finished *attempt.Finished // the agent says that it is done
	Proofs   []dag.Proof
	Allowed  []verify.Result // gates that failed before the work, which was allowed there
	Gates    []verify.Check  // what they say of accepted work
	Asked    []inbox.Request // by the agent, and not answered
	Sent     []Sent          // to other agents
	Received []string        // messages that the agent has heard
	Events   []event.Event

	Onto, Work  string        // the work, and what is below it; the same if nothing changed
	WorkRef     string        // where the remote has it; "" if there is none
	Log, LogRef string        // the files of the attempt as a commit
	NotBefore   time.Duration // how long a provider's limit lasts, which is a moment of another machine's clock otherwise
}

// Sent is a message of an agent to the one of a task; to all if that is empty.
type Sent struct{ Task, Text string }

// ErrAbandoned is the error of an attempt that nobody waits for any more.
var ErrAbandoned = errors.New("interrupted")

// away says that an attempt is made on another machine. What is finished lands here, and what reviews a whole feature looks at
// what is here.
func (t *trial) away(ctx context.Context) bool {
	if t.opts.Workers.Elsewhere == nil || t.job.Finished != nil {
		return false
	}
	var review *dag.Review
	_ = t.opts.Graph.Store.View(context.WithoutCancel(ctx), func(g *dag.Graph) (err error) { review, err = g.Review(t.job.Task, dag.Any); return err }) // what follows meets the same trouble
	return review == nil
}

// haveMade has an attempt made elsewhere, stores what came of it as if it had been made here, and lands the work.
func (t *trial) haveMade(ctx context.Context, ports attempt.Ports) (attempt.Result, error) {
	claim, j, desk, record := t.claim, &t.job, ports.Desk.(*desk), ports.Record.(recorder)
	o, err := t.order(ctx, claim, j, desk)
	if err != nil {
		return unprepared(err, attempt.AgentUse{})
	}
	d, over, err := t.await(ctx, claim, j, o, record)
	switch {
	case errors.Is(context.Cause(ctx), attempt.ErrLost):
		return attempt.Result{Decision: policy.Decide(policy.Facts{Ended: policy.Lost})}, nil
	case err != nil: // nothing is known of the work
		outcome, killed := event.AttemptError, errors.Is(err, ErrAbandoned)
		if killed {
			outcome = event.AttemptInterrupted
		}
		return attempt.Result{
			Agent:    attempt.AgentUse{Name: j.Agent.Name, Usage: *t.live.note(claim.Attempt).Usage},
			Decision: policy.Decision{Action: policy.Release, Outcome: outcome, Uncounted: killed, Delay: t.opts.Rules.Backoff, Reason: err.Error()},
		}, nil
	}
	if err := t.collect(ctx, claim, j, &d); err != nil {
		d.Result.Seen.Checked = false
		d.Result.Decision = policy.Decision{Action: policy.Release, Outcome: event.AttemptError, Uncounted: true, Reason: "its work cannot be fetched: " + err.Error()}
		return d.Result, nil
	}
	defer func() { t.forget(context.WithoutCancel(ctx), d.WorkRef, d.LogRef) }()
	if err := t.store(context.WithoutCancel(ctx), j, &d, desk, record); err != nil {
		return attempt.Result{Decision: attempt.Unprepared(), Agent: d.Result.Agent}, err
	}
	if interrupted := d.Result.Decision.Outcome == event.AttemptInterrupted; interrupted && over != nil {
		d.Result.Decision = *over
	} else if interrupted && errors.Is(context.Cause(ctx), attempt.ErrStopped) {
		d.Result.Decision.Reason = attempt.ErrStopped.Error()
	}
	if d.Result.Decision.Action != policy.Complete {
		return d.Result, nil
	}
	return t.landDelivered(ctx, d)
}

// order is what another machine has to know. The remote has the target as it is here before anybody is told to build on it.
func (r *Runner) order(ctx context.Context, claim dag.Claim, j *attempt.Job, desk *desk) (o Order, err error) {
	ctx = context.WithoutCancel(ctx)
	to := r.opts.Landing
	r.published.mu.Lock() // whoever looked at the target first must not push it last
	defer r.published.mu.Unlock()
	tip, start, err := r.lander.Start(ctx, claim, false, r.scripted(j))
	if err != nil {
		return o, err
	}
	if start == tip {
		start = ""
	}
	if err := r.publish(ctx, claim, tip, start); err != nil {
		return o, policy.Halted{Reason: err.Error() + "; other machines need it to get at the code"}
	}
	o = Order{
		Job: *j, Sources: r.sources(ctx, r.opts.Place.Dir, j.Task, j.History.Changed), Mail: desk.Unread(ctx),
		Run: r.run.ID, Target: to.Target, Onto: tip, Start: start,
	}
	o.Sources.Sections = nil // they are in the project's folder there, too
	o.Job.Place, o.Job.Session = attempt.Place{}, nil
	if o.Job.Verify.Allowed, err = r.excuses.all(ctx); err != nil {
		return o, err
	}
	o.Job.History.Attempts = slices.Clone(j.History.Attempts)
	for i := range o.Job.History.Attempts { // trees that only this machine has
		o.Job.History.Attempts[i].Tree, o.Job.History.Attempts[i].TreeAfter = "", ""
	}
	return redact.Deep(r.opts.Host.Redact, o), nil
}

// await waits for a delivery, and ends an attempt that uses more than its task may.
func (r *Runner) await(ctx context.Context, claim dag.Claim, j *attempt.Job, o Order, record recorder) (d Delivery, over *policy.Decision, err error) {
	made, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	defer context.AfterFunc(ctx, func() {
		if errors.Is(context.Cause(ctx), attempt.ErrLost) {
			r.opts.Workers.Elsewhere.Abandon(claim.Attempt)
		}
	})()
	var mu sync.Mutex
	d, err = r.opts.Workers.Elsewhere.Attempt(made, o, func(u event.Usage) {
		record.Used(u, nil)
		spent, err := r.spending.compare(context.WithoutCancel(ctx), j.Task)
		if decision, exceeded := overTaskBudget(spent.over); err == nil && exceeded {
			mu.Lock()
			over = &decision
			mu.Unlock()
			stop(errors.New(decision.Reason))
		}
	})
	mu.Lock()
	defer mu.Unlock()
	return d, over, err
}

// store stores what an attempt recorded on another machine.
func (r *Runner) store(ctx context.Context, j *attempt.Job, d *Delivery, desk *desk, record recorder) error {
	if d.NotBefore > 0 {
		d.Result.Decision.Until = r.opts.Host.Now().Add(d.NotBefore)
	}
	for _, e := range d.Events {
		r.bus.emit(e)
	}
	if d.Base != nil {
		d.Base.Tree = "" // that machine's
		if err := record.SetBase(ctx, *d.Base); err != nil && !errors.Is(err, dag.ErrLost) {
			return err
		}
	}
	if err := r.excuses.Begin(ctx, d.Allowed); err != nil {
		return err
	}
	desk.Give(seq.Map(d.Received, func(id string) inbox.Request { return inbox.Request{ID: id} }))
	desk.Received(ctx)
	for i, q := range d.Asked {
		asked, err := desk.store(ctx, q)
		if err != nil {
			r.bus.warn(j.Task.ID, "what the agent asked could not be stored: "+err.Error())
			continue
		}
		d.Result.Decision.Reason = strings.ReplaceAll(d.Result.Decision.Reason, placeholder(i), asked.ID)
	}
	for _, m := range d.Sent {
		if err := desk.Send(ctx, m.Task, m.Text); err != nil {
			r.bus.warn(j.Task.ID, "a message of the agent could not be sent: "+err.Error())
		}
	}
	if len(d.Proofs) > 0 {
		if err := record.Proofs(ctx, d.Proofs); err != nil && !errors.Is(err, dag.ErrLost) {
			return err
		}
	}
	if d.Finished != nil {
		if err := record.Finished(ctx, *d.Finished); err != nil {
			return err
		}
	}
	record.Used(d.Result.Agent.Usage, d.Result.Agent.SessionUSD)
	used := dag.Note{Usage: &d.Result.Agent.Usage, Shares: d.Result.Agent.Shares, ModelEffective: d.Result.Agent.Model}
	if err := record.Note(ctx, used); err != nil { // should we die while it lands
		return err
	}
	for _, n := range d.Noted {
		n.Usage = nil                                                   // that is what it had used by then
		n.AgentPID, n.AgentPIDStart, n.Tree, n.TreeAfter = 0, 0, "", "" // of another machine
		if n.Transcript != "" {
			n.Transcript = filepath.Join(j.Place.Folder, filepath.Base(n.Transcript))
		}
		if err := record.Note(ctx, n); err != nil {
			return err
		}
	}
	return nil
}

// landDelivered lands work that another machine has verified: on what that machine tested it on nothing is tested again.
func (t *trial) landDelivered(ctx context.Context, d Delivery) (attempt.Result, error) {
	claim, j := t.claim, &t.job
	if d.Finished == nil {
		d.Finished = &attempt.Finished{Set: d.Result.Said}
	}
	j.Finished = d.Finished
	used := d.Result.Agent
	j.History.Finished = dag.Attempt{ID: claim.Attempt, Run: t.run.ID, Task: claim.Task.ID, Slot: claim.Slot, Agent: used.Name, Model: j.Agent.Choice.Model, ModelEffective: used.Model}
	claim.Resume, claim.Resumed = true, j.History.Finished
	if err := t.takeSlot(ctx, claim); err != nil {
		return unprepared(err, used)
	}
	rules := j.Rules
	j.Rules.Resolve = 0 // nobody here can resolve a conflict; the next attempt begins with it
	ports := t.ports()
	ports.Record, ports.Desk = landing{ports.Record.(recorder), used.Usage}, nil
	res, err := t.worker.Run(ctx, *j, ports)
	if res.Decision.Action == policy.Complete {
		err = errors.Join(err, t.excuses.Accepted(context.WithoutCancel(ctx), d.Gates))
	}
	j.Finished, j.Rules = nil, rules                                          // the attempt had an agent
	if more := res.Agent.Usage; more.AllTokens() > 0 || more.CostUSD != nil { // of a verifier here
		if len(used.Shares) == 0 {
			used.Shares = []dag.Share{dag.ShareOf(used.Name, cmp.Or(used.Model, j.Agent.Choice.Model), used.Usage)}
		}
		used.Usage, used.Shares = used.Usage.Add(more), append(used.Shares, res.Agent.Shares...)
	}
	res.Agent, res.Unusual, res.Findings = used, d.Result.Unusual, d.Result.Findings
	passed := res.Seen.Passed || d.Result.Seen.Passed
	checked := res.Seen.Checked
	res.Seen = d.Result.Seen
	res.Seen.Passed, res.Seen.Checked = passed, checked
	return res, err
}

// landing records what happens to work that lands, and what that uses beside what was used before.
type landing struct {
	recorder
	before event.Usage
}

func (l landing) Used(u event.Usage, sessionUSD *float64) {
	l.recorder.Used(l.before.Add(u), sessionUSD)
}

// adopted are the attempts that an earlier process of this run has ordered and that were not delivered.
func (r *Runner) adopted(ctx context.Context) (list []assignment, err error) {
	err = r.opts.Graph.Store.View(ctx, func(g *dag.Graph) error {
		claims, err := g.Owned(*r.run)
		for _, c := range claims {
			at, aerr := g.Attempt(c.Attempt)
			if err = errors.Join(err, aerr); err == nil {
				list = append(list, assignment{claim: c, agent: at.Agent, iteration: at.Iteration})
			}
		}
		return err
	})
	return list, err
}
