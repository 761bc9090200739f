package loop

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"

	"ralph/dag"
	"ralph/internal/budget"
	"ralph/internal/detect"
	"ralph/internal/event"
	"ralph/internal/glob"
	"ralph/internal/human"
	"ralph/internal/redact"
	"ralph/internal/slot"
	"ralph/internal/testing/failpoint"
	"ralph/loop/attempt"
	"ralph/loop/land"
	"ralph/loop/policy"
	"ralph/loop/recovery"
	"ralph/strategy"
	"ralph/verify"
)

// work is one worker: claim, attempt, again.
func (r *Runner) work(ctx context.Context) {
	for {
		next, ok := r.claimer.next(ctx)
		if !ok || !r.make(ctx, next) {
			return
		}
	}
}

// make makes an attempt. False means that the run ends because of it.
func (r *Runner) make(ctx context.Context, next assignment) bool {
	task := next.claim.Task
	j := r.briefer.assign(next.claim, cmp.Or(task.Agent, next.agent, r.opts.Host.Setup.Agent), next.iteration)
	err := r.attempt(ctx, next.claim, j)
	switch {
	case errors.As(err, new(*slot.SetupError)):
		r.end(event.OutcomeBlocked, err.Error(), nil)
	case errors.Is(err, slot.ErrFull):
		r.end(event.OutcomeLimit, err.Error(), nil)
	case errors.As(err, new(policy.Halted)): // its work is settled, and cannot be taken out of the folder
		r.end(event.OutcomeBlocked, err.Error(), nil)
	case err != nil:
		err = fmt.Errorf("attempt at %s: %w", task.ID, err)
		r.end(event.OutcomeError, err.Error(), err)
	}
	return err == nil
}

// trial is one attempt on its way through the run.
type trial struct {
	*Runner
	claim dag.Claim
	job   attempt.Job
	lane  *land.Lane // nil as long as there is no slot, and if another machine has it

	recorder *recorder
}

// attempt makes one try at a task and settles it. The error is for what ends the
// run: the files of the attempt or the database cannot be written.
func (r *Runner) attempt(ctx context.Context, claim dag.Claim, j attempt.Job) error {
	began := r.opts.Host.Now()
	r.live.add(claim.Attempt, claim.Task, began)
	ctx, lose := context.WithCancelCause(ctx)
	defer lose(nil)
	kept := r.keeper.keep(ctx, claim, j.Agent.Name, lose)
	t := &trial{Runner: r, claim: claim, job: j, recorder: &recorder{shared: r.shared, claim: claim, folder: j.Place.Folder, priced: r.warnOfCost}}
	res, err := t.recovered(ctx)
	res.Began = began
	lose(nil)
	<-kept
	r.lander.Resolved(claim.Attempt) // before others are told
	err = errors.Join(err, t.settle(context.WithoutCancel(ctx), res))
	if w := r.opts.Workers.Remote; w != nil && err == nil {
		w.Settled(claim.Attempt)
	}
	return err
}

// recovered is try, but a panic ends this attempt only: its task is given back, and the
// other workers continue. The second panic over one task ends the run.
func (t *trial) recovered(ctx context.Context) (res attempt.Result, err error) {
	j := &t.job
	defer func() {
		p := recover()
		if p == nil {
			return
		}
		text := t.opts.Host.Redact.Text(fmt.Sprint(p))
		res = attempt.Result{Seen: attempt.Seen{Checked: t.finished(ctx, t.claim)}, Decision: policy.Decision{
			Action: policy.Release, Outcome: event.AttemptInterrupted, Uncounted: true, Reason: "ralph panicked: " + text,
		}}
		res.Agent.Usage = *t.live.note(t.claim.Attempt).Usage
		path := filepath.Join(j.Place.Folder, "panic.txt")
		t.bus.warn(j.Task.ID, "this is a bug in ralph; please report it with "+path)
		werr := os.MkdirAll(j.Place.Folder, 0o700) // it may have come to nothing yet
		if werr == nil {
			werr = os.WriteFile(path, []byte("panic: "+text+"\n\n"+t.opts.Host.Redact.Text(string(debug.Stack()))), 0o600)
		}
		if werr != nil {
			t.bus.warn(j.Task.ID, "keeping the stack: "+werr.Error())
		}
		if t.lane != nil {
			_, _ = t.lane.Keep(context.WithoutCancel(ctx)) // the panic is what is reported
		}
		if t.ledger.panicked(j.Task.ID) > 1 {
			bug := fmt.Errorf("attempt at %s panicked twice: %s", j.Task.ID, text)
			t.end(event.OutcomeError, bug.Error(), bug)
		}
	}()
	return t.try(ctx)
}

// finished reports whether the agent of an attempt has finished its work, as far as that is
// recorded: the next attempt only verifies it.
func (r *Runner) finished(ctx context.Context, claim dag.Claim) bool {
	var at dag.Attempt
	err := r.opts.Graph.Store.View(context.WithoutCancel(ctx), func(g *dag.Graph) (err error) { at, err = g.History.Attempt(claim.Attempt); return err })
	return err == nil && recovery.Finished(at)
}

// try prepares a slot, briefs an agent and lets it work. What it reads before, it reads after Ctrl-C too:
// an interruption is for the attempt to notice, and no error.
func (t *trial) try(ctx context.Context) (attempt.Result, error) {
	if t.job.Task.Notify != "" {
		return t.notice(ctx), nil
	}
	var spent found
	var err error
	j, far := &t.job, t.remote(ctx)
	if !far {
		err = t.takeSlot(ctx, t.claim)
	}
	if cause := context.Cause(ctx); err != nil && cause != nil { // git was interrupted, too
		return cutOff(cause), nil
	}
	if err == nil && j.Finished == nil {
		spent, err = t.spending.compare(context.WithoutCancel(ctx), j.Task)
	}
	if err == nil {
		err = t.briefer.complete(context.WithoutCancel(ctx), j, spent.share)
	}
	if err != nil {
		return unprepared(err, attempt.AgentUse{})
	}
	keptBack := t.taskBefore(ctx, j)
	t.emitClaimed(ctx, *j)
	if keptBack != "" {
		return attempt.Result{Decision: policy.KeptBack(keptBack)}, nil
	}
	if d, over := overTaskBudget(spent.over); over {
		return attempt.Result{Decision: d}, nil
	}
	if want := j.Task.ExpectRed; want != "" && !slices.Contains(j.Verify.Gates, want) && !j.Verify.Skip { // no agent could do that
		return attempt.Result{Decision: policy.Decision{Action: policy.Fail, Outcome: event.AttemptError, Reason: fmt.Sprintf("expect-red: %s; name one with ralph task update %s --expect-red GATE", verify.UnknownGate(want, j.Verify.Gates), j.Task.ID)}}, nil
	}
	if t.scripted(j) { // it does what a person wrote
		j.Detect.Anomaly = detect.Anomaly{}
	}
	if far {
		return t.runRemote(ctx)
	}
	ports := t.ports()
	if a := t.opts.Agents; a.Tools != nil && j.Finished == nil && j.Review == nil && a.tooled(j.Agent.Name) {
		ports.Tools = a.Tools(Caller{Claim: t.claim, Warn: func(text string) { t.bus.warn(j.Task.ID, text) }, Wake: t.signal.Wake, Tell: t.tellTool})
		j.Brief.Tools = true
	}
	return t.worker.Run(ctx, *j, ports)
}

// cutOff is the result of an attempt that was ended from outside before its agent began.
func cutOff(cause error) attempt.Result {
	d := policy.Decision{Action: policy.Release, Outcome: event.AttemptInterrupted, Uncounted: true, Reason: cause.Error()}
	if errors.Is(cause, attempt.ErrLost) {
		d.Action = policy.Abort
	}
	return attempt.Result{Decision: d}
}

// notice tells people what a task has to say, instead of having an agent work on it. The task is done once that was sent, or given up, which is
// reported at the end of the run: a run that dies in between says it again.
func (t *trial) notice(ctx context.Context) attempt.Result {
	task := t.job.Task
	keptBack := t.taskBefore(ctx, &t.job)
	t.emitClaimed(ctx, t.job)
	if keptBack != "" {
		return attempt.Result{Decision: policy.KeptBack(keptBack)}
	}
	e := event.Event{
		Type: event.Notified, At: t.opts.Host.Now(), Run: t.run.ID, Iteration: t.job.Run.Iteration, Task: task.ID, Attempt: t.job.Run.Attempt, Title: task.Title, Text: task.Notify,
	}
	if send := t.opts.Host.Notify; send != nil {
		send(ctx, redact.Deep(t.opts.Host.Redact, e))
	} else {
		t.bus.warn(task.ID, "no channel is configured ([[notify]] in .ralph.toml), so this run alone shows what it tells people")
	}
	if cause := context.Cause(ctx); cause != nil {
		return cutOff(cause)
	}
	failpoint.Hit("after-notice")
	t.bus.emit(e)
	return attempt.Result{Decision: policy.Decision{Action: policy.Complete, Outcome: event.AttemptDone}}
}

// unprepared is the result of an attempt that could not begin. The error ends the run, unless it only keeps it from going on.
func unprepared(err error, used attempt.AgentUse) (attempt.Result, error) {
	if broken := new(policy.BrokenBase); errors.As(err, broken) {
		return attempt.Result{Decision: broken.Decision(), Agent: used}, nil
	}
	if halted := new(policy.Halted); errors.As(err, halted) {
		return attempt.Result{Decision: halted.Decision(), Agent: used}, nil
	}
	return attempt.Result{Decision: attempt.Unprepared(), Agent: used}, err
}

// takeSlot prepares the slot of a claim.
func (t *trial) takeSlot(ctx context.Context, claim dag.Claim) (err error) {
	j := &t.job
	if t.lane, err = t.lander.Take(ctx, claim, j.Finished != nil, t.scripted(j)); err == nil {
		j.Place.Dir, j.Place.Sub, j.Place.Env = t.lane.Place()
	}
	return err
}

// ports are what the attempt reports to and asks.
func (t *trial) ports() attempt.Ports {
	p := attempt.Ports{
		Record:  t.recorder.record,
		Excuses: t.excuses,
		Budget: func(ctx context.Context) ([]budget.Finding, error) {
			spent, err := t.spending.compare(ctx, t.job.Task)
			t.notifyNear(ctx, t.claim, spent.near)
			return spent.over, err
		},
		FeatureEnd: func(ctx context.Context) (end *dag.FeatureEnd, err error) {
			err = t.opts.Graph.Store.View(ctx, func(g *dag.Graph) (err error) { end, err = g.Plan.FeatureEnd(t.job.Task); return err })
			return end, err
		},
		Lane: t.lane, Desk: newDesk(t.recorder, t.job.History.Answers),
	}
	if t.job.Review != nil {
		p.Lane = land.View{Workspace: t.lane.Workspace}
	}
	return p
}

// scripted says that the agent of a job does the same again each time.
func (r *Runner) scripted(j *attempt.Job) bool {
	return r.opts.Agents.Modelless != nil && r.opts.Agents.Modelless(j.Agent.Name)
}

// warm has an agent started early, but not for a task that cannot come.
func (r *Runner) warm(ctx context.Context, op attempt.Opening) {
	if r.claimer.follows(ctx) {
		r.opts.Agents.Warm(op)
	}
}

func (r *Runner) emitClaimed(ctx context.Context, j attempt.Job) {
	e := event.Event{
		Type: event.TaskClaimed, Iteration: j.Run.Iteration, Task: j.Task.ID, Attempt: j.Run.Attempt, Title: j.Task.Title,
		Agent: j.Agent.Name, Model: j.Agent.Choice.Model, Reason: why(j.Agent.Choice), Counts: r.counts(ctx), Locks: j.Task.Locks,
	}
	if j.Finished != nil {
		e.Agent = cmp.Or(j.History.Finished.Agent, r.opts.Host.Setup.Agent)
		e.Reason = "its work was finished by attempt " + j.History.Finished.ID + " and is only verified"
		if j.Accepted {
			e.Reason = "a person accepted the work of attempt " + j.History.Finished.ID + ": only gates check it"
		}
	}
	r.bus.emit(e)
}

func (r *Runner) counts(ctx context.Context) *event.Counts {
	var c event.Counts
	err := r.opts.Graph.Store.View(ctx, func(g *dag.Graph) (err error) { c, err = r.count(g); return err })
	if err != nil || r.opts.Graph.Finished && c.Total == 0 { // nothing was taken yet
		return nil
	}
	return &c
}

// count counts what is in scope; of a run that is only to land what is finished, the tasks that it took.
func (r *Runner) count(g *dag.Graph) (c event.Counts, err error) {
	if !r.opts.Graph.Finished {
		t, err := g.Tasks.Tally(r.opts.Graph.Scope)
		return countsOf(t), err
	}
	_, tasks := r.ledger.resolved()
	for _, task := range tasks {
		switch task.Status {
		case dag.Done:
			c.Done++
		case dag.Failed:
			c.Failed++
		}
	}
	c.Total, c.Remaining = len(tasks), len(tasks)-c.Done-c.Failed
	return c, nil
}

// settle stores what came of an attempt, counts it, and wakes who waits for that.
func (t *trial) settle(ctx context.Context, res attempt.Result) error {
	claim, j := t.claim, t.job
	res.Seen.Checked = res.Seen.Checked || j.Finished != nil // it stays so until it was verified
	if d := res.Decision; t.opts.Host.Gone != nil && t.opts.Host.Gone() && d.Action != policy.Complete && d.Action != policy.Abort {
		// Whoever deleted it, no decision that was made since then is the task's fault.
		res.Decision = policy.Decision{
			Action: policy.Release, Outcome: event.AttemptError, Uncounted: true,
			Reason: "ralph's own files were deleted or replaced while the run worked",
		}
		res.Seen.Checked = false // what the next run would need is gone
	}
	if d := res.Decision; t.lane != nil && t.lane.Gone() && (d.Action == policy.Fail || d.Action == policy.Retry) {
		// It counts: an agent may have done that, and do it again.
		res.Decision = policy.Decision{Action: policy.Release, Outcome: event.AttemptError, Reason: "its slot was deleted while the attempt worked"}
	}
	if d := res.Decision; d.EndRun != "" {
		t.end(d.EndRun, d.Reason, nil) // before another worker can take what is given back
	}
	status, d, err := t.settler.settle(ctx, claim, j, res)
	switch {
	case j.Review != nil && status == dag.Done:
		d.Reason = foundText(*j.Review, res)
	case !j.Review.Acceptance() || status != dag.Failed:
		res.Findings = nil
	}
	work := status
	if d.Action == policy.Complete && status == dag.Pending {
		work, d.Reason = dag.Done, "the task is split: its subtasks are left"
	}
	res.Decision = d
	if err == nil && d.Action == policy.Hold {
		t.lane.Held()
	}
	t.account(j, res, status)
	if err == nil {
		t.warnDoneByHand(ctx, res)
		t.warnUnspecified(ctx, claim.Task.Feature, status)
	}
	if t.lane != nil {
		err = errors.Join(err, t.lane.Settled(ctx, work))
	}
	if t.opts.Host.Check != nil {
		err = errors.Join(err, t.opts.Host.Check())
	}
	if err != nil {
		return err
	}
	failpoint.Hit("after-settlement")
	return t.writeKnowledge(ctx)
}

// account reports how an attempt ended and counts it.
func (r *Runner) account(j attempt.Job, res attempt.Result, status dag.Status) {
	t, d := j.Task, res.Decision
	for _, other := range res.Said.Foreign {
		r.bus.warn(t.ID, "the agent emitted "+other.Tag+" for another task: "+other.ID)
	}
	if text := beyond(t, res); text != "" {
		r.bus.warn(t.ID, text)
	}
	command, _ := d.Rejected.Remedy(t.ID, status)
	r.bus.emit(event.Event{
		Type: event.AttemptEnded, Iteration: j.Run.Iteration, Task: t.ID, Attempt: j.Run.Attempt, Title: t.Title,
		Agent: res.Agent.Name, Model: res.Agent.Model, Outcome: string(remembered(d, status)), Status: status, Reason: d.Reason, Findings: res.Findings,
		Rejected: d.Rejected, Command: command, Locks: slices.Concat(t.Locks, r.tried.end(j.Run.Attempt)),
		Duration: r.opts.Host.Now().Sub(res.Began).Milliseconds(), Files: res.Files, Usage: &res.Agent.Usage,
	})
	hint := res.Said.NextModel
	if _, tier := strategy.ParseTier(hint); hint != "" && !tier && !slices.Contains(res.Agent.Offered, hint) {
		// Any other name than a tier or an offered one would only end the next attempt.
		r.bus.warn(t.ID, "the agent asked for a model that it does not offer: "+hint)
		hint = ""
	}
	tier := j.Agent.Choice.Tier
	if t.Model != "" {
		tier = "" // a person's choice for one task says nothing about the others
	}
	r.warnOfCost(res.Agent.Usage)
	if d.Drop {
		r.bus.warn("", j.Agent.Name+" cannot be used: "+d.Reason)
	}
	silent := r.ledger.settle(entry{job: j, result: res, status: status, hint: hint, tier: tier})
	r.signal.Wake()
	switch {
	case d.NoAnswer && silent >= r.opts.Workers.Breaker:
		r.end(event.OutcomeUnavailable, "no agent answered in "+human.Count(silent, "attempt")+"; the last: "+d.Reason, nil)
	case r.opts.Workers.FailFast && status == dag.Failed:
		r.end(event.OutcomeFailure, t.ID+" failed: "+d.Reason, nil)
	}
}

// beyond says that work touched more than its task says it does: it may have run beside another that touches the
// same. That is no reason to refuse work which passes its gates.
func beyond(t dag.Task, res attempt.Result) string {
	more := glob.Outside(res.Files, t.Paths)
	if len(more) == 0 {
		return ""
	}
	return fmt.Sprintf("it touched more than its paths (%s): %s", strings.Join(t.Paths, ", "), human.Few(more))
}

// warnDoneByHand says which tasks became done by a command while the agent worked,
// without a sandbox that protects the database. It may have been a person, so nobody is
// blamed.
func (r *Runner) warnDoneByHand(ctx context.Context, res attempt.Result) {
	if !res.Seen.Opened || attempt.Prevents(res.Agent.Sandbox) {
		return
	}
	var ids []string
	err := r.opts.Graph.Store.View(ctx, func(g *dag.Graph) (err error) { ids, err = g.Tasks.DoneByHand(res.Began); return err })
	if err != nil {
		return // what it is about was stored; the next statement will say
	}
	for _, id := range ids {
		r.bus.warnOnce("by hand\x00"+id, id+" was marked done while an unsandboxed agent was running and has not been verified; do it again with: ralph task reset "+id)
	}
}

// warnOfCost says once that a budget in dollars does not hold, as soon as an agent has used what nobody can price.
func (r *Runner) warnOfCost(used event.Usage) {
	if r.opts.Limits.Budgets.limitsCost() && used.Unknown {
		r.bus.warnOnce("cost", "the agent does not report its cost, so budgets in dollars cannot be enforced; [prices] in .ralph.toml can estimate it")
	}
}
