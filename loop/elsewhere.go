package loop

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"ralph/dag"
	"ralph/event"
	"ralph/inbox"
	"ralph/internal/git"
	"ralph/internal/redact"
	"ralph/internal/seq"
	"ralph/loop/attempt"
	"ralph/loop/policy"
	"ralph/merge"
)

// Elsewhere has the attempts of a run made on other machines. The run itself claims, briefs, lands and settles, as always.
type Elsewhere interface {
	// Begin says which run it is, and which of its attempts are still to be delivered if an earlier process began it.
	Begin(run string, joined bool, open []string) error
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

// published is what a remote has of the run: the target, so that it is pushed once, and what nobody needs there any more.
type published struct {
	mu   sync.Mutex
	tip  string
	gone []merge.Ref
}

// away says that an attempt is made on another machine. What is finished lands here, and what reviews a whole feature looks at
// what is here.
func (r *Runner) away(ctx context.Context, j *attempt.Job) bool {
	if r.opts.Workers.Elsewhere == nil || j.Finished != nil {
		return false
	}
	var review *dag.Review
	_ = r.opts.Graph.Store.View(context.WithoutCancel(ctx), func(g *dag.Graph) (err error) { review, err = g.Review(j.Task); return err }) // what follows meets the same trouble
	return review == nil
}

// haveMade has an attempt made elsewhere, stores what came of it as if it had been made here, and lands the work.
func (r *Runner) haveMade(ctx context.Context, claim dag.Claim, j *attempt.Job, ports attempt.Ports, in **lane) (attempt.Result, error) {
	desk, record := ports.Desk.(*desk), ports.Record.(recorder)
	o, err := r.order(ctx, claim, j, desk)
	var halted policy.Halted
	switch {
	case errors.As(err, &halted):
		return attempt.Result{Decision: halted.Decision()}, nil
	case err != nil:
		return attempt.Result{Decision: attempt.Unprepared()}, err
	}
	d, over, err := r.await(ctx, claim, j, o, record)
	switch {
	case errors.Is(context.Cause(ctx), attempt.ErrLost):
		return attempt.Result{Decision: policy.Decide(policy.Facts{Ended: policy.Lost})}, nil
	case err != nil: // nothing is known of the work
		outcome, killed := event.AttemptError, errors.Is(err, ErrAbandoned)
		if killed {
			outcome = event.AttemptInterrupted
		}
		return attempt.Result{
			Agent:    attempt.AgentUse{Name: j.Agent.Name, Usage: *r.live.note(claim.Attempt).Usage},
			Decision: policy.Decision{Action: policy.Release, Outcome: outcome, Uncounted: killed, Delay: r.opts.Rules.Backoff, Reason: err.Error()},
		}, nil
	}
	if err := r.collect(ctx, claim, j, &d); err != nil {
		d.Result.Seen.Checked = false
		d.Result.Decision = policy.Decision{Action: policy.Release, Outcome: event.AttemptError, Uncounted: true, Reason: "its work cannot be fetched: " + err.Error()}
		return d.Result, nil
	}
	defer func() { r.forget(context.WithoutCancel(ctx), d.WorkRef, d.LogRef) }()
	if err := r.store(context.WithoutCancel(ctx), j, &d, desk, record); err != nil {
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
	return r.landDelivered(ctx, claim, j, ports, d, in)
}

// order is what another machine has to know. The remote has the target as it is here before anybody is told to build on it.
func (r *Runner) order(ctx context.Context, claim dag.Claim, j *attempt.Job, desk *desk) (o Order, err error) {
	ctx = context.WithoutCancel(ctx)
	to := r.opts.Landing
	r.published.mu.Lock() // whoever looked at the target first must not push it last
	defer r.published.mu.Unlock()
	tip, err := r.tip.look(ctx, to)
	if err != nil {
		return o, err
	}
	l, start := &lane{Runner: r, claim: claim}, ""
	work, err := l.earlier(ctx)
	if err == nil && work != "" && !r.scripted(j) {
		var below string
		if below, err = to.Repo.Commit(ctx, work+"^"); err == nil {
			start, err = l.goOn(ctx, tip, below, work, false)
		}
	}
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
	o.Job.History.Attempts = slices.Clone(j.History.Attempts)
	for i := range o.Job.History.Attempts { // trees that only this machine has
		o.Job.History.Attempts[i].Tree, o.Job.History.Attempts[i].TreeAfter = "", ""
	}
	return redact.Deep(r.opts.Host.Redact, o), nil
}

// publish pushes what attempts begin with, as far as the remote does not have it. The lock is held.
func (r *Runner) publish(ctx context.Context, claim dag.Claim, tip, start string) error {
	p := &r.published
	var refs []merge.Ref
	if tip != p.tip {
		refs = append(refs, merge.Ref{Name: merge.TargetRef(r.run.ID), Commit: tip})
	}
	if start != "" {
		refs = append(refs, merge.Ref{Name: merge.StartRef(claim.Attempt), Commit: start})
	}
	if len(refs) == 0 {
		return nil
	}
	err := patiently(ctx, brief, func() error { return merge.Push(ctx, r.opts.Landing.Repo, r.opts.Landing.Remote, refs...) })
	if err == nil {
		p.tip = tip
	}
	return err
}

// How long a remote that does not answer is waited for: by a run, which says so then and can go on later, and by whoever would
// lose the work of an agent.
const (
	brief = 7 * time.Second
	long  = 2 * time.Minute

	forEver = 1<<63 - 1 // it can be interrupted
)

// patiently tries what a network may fail at, and again until it has waited that long, or ctx ends.
func patiently(ctx context.Context, most time.Duration, do func() error) (err error) {
	for pause := time.Second; ; pause = min(2*pause, 30*time.Second) {
		if err = do(); err == nil || most <= 0 {
			return err
		}
		most -= pause
		select {
		case <-ctx.Done():
			return err
		case <-time.After(pause):
		}
	}
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

// collect fetches the commit that was delivered, and no other: another machine that made the same attempt, late, has pushed to
// a ref that nobody looks at.
func (r *Runner) collect(ctx context.Context, claim dag.Claim, j *attempt.Job, d *Delivery) error {
	to, patience := r.opts.Landing, ctx
	ctx = context.WithoutCancel(ctx) // what an interrupted attempt left is fetched, if that can be done now
	if err := os.MkdirAll(j.Place.Folder, 0o700); err != nil {
		return err
	}
	get := func(most time.Duration, ref, commit string) error {
		if ref == "" {
			return nil
		}
		var got []string
		err := patiently(patience, most, func() (err error) {
			if got, err = merge.Fetch(ctx, to.Repo, to.Remote, ref); err != nil {
				r.bus.warnOnce("fetch\x00"+claim.Attempt, "the work of "+claim.Task.ID+" is made, and is not fetched yet: "+err.Error())
			}
			return err
		})
		if err == nil && got[0] != commit {
			err = fmt.Errorf("%s has %.10s at %s, and %.10s was delivered", to.Remote, got[0], ref, commit)
		}
		return err
	}
	if have, err := merge.Existing(ctx, to.Repo, []string{d.Work}); d.Work != "" && d.Work != d.Onto && (err != nil || len(have) == 0) {
		if err := get(forEver, d.WorkRef, d.Work); err != nil {
			return err
		}
	}
	if d.Work != "" && d.Work != d.Onto {
		if err := merge.SetRefs(ctx, to.Repo, merge.Ref{Name: merge.WorkRef(claim.Task.ID, claim.Attempt), Commit: d.Work}); err != nil {
			return err
		}
	}
	err := get(brief, d.LogRef, d.Log)
	if err == nil && d.Log != "" {
		err = unpack(ctx, to.Repo, d.Log, j.Place.Folder)
	}
	if err != nil { // the work counts all the same
		r.bus.warn(j.Task.ID, "what was said in attempt "+claim.Attempt+" is not here: "+err.Error())
	}
	return nil
}

// landDelivered lands work that another machine has verified: on what that machine tested it on nothing is tested again.
func (r *Runner) landDelivered(ctx context.Context, claim dag.Claim, j *attempt.Job, ports attempt.Ports, d Delivery, in **lane) (attempt.Result, error) {
	if d.Finished == nil {
		d.Finished = &attempt.Finished{Set: d.Result.Said}
	}
	j.Finished = d.Finished
	used := d.Result.Agent
	j.History.Finished = dag.Attempt{ID: claim.Attempt, Run: r.run.ID, Task: claim.Task.ID, Slot: claim.Slot, Agent: used.Name, Model: j.Agent.Choice.Model, ModelEffective: used.Model}
	claim.Resume, claim.Resumed = true, j.History.Finished
	l, err := r.newLane(ctx, claim, j)
	if *in = l; err != nil {
		var halted policy.Halted
		if errors.As(err, &halted) {
			return attempt.Result{Decision: halted.Decision(), Agent: used}, nil
		}
		return attempt.Result{Decision: attempt.Unprepared(), Agent: used}, err
	}
	rules := j.Rules
	j.Rules.Resolve = 0 // nobody here can resolve a conflict; the next attempt begins with it
	ports.Record = landing{ports.Record.(recorder), used.Usage}
	ports.Desk, ports.Tools = nil, nil
	ports.Lane, ports.Gates, ports.Copy, ports.Shared = l, l.gates, l.copy, func(context.Context, time.Time) bool { return false }
	res, err := r.worker.Run(ctx, *j, ports)
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

// unpublish removes what the remote has of this run, and what machines that were late left of earlier ones.
func (r *Runner) unpublish(ctx context.Context) {
	to := r.opts.Landing
	if r.opts.Workers.Elsewhere == nil {
		return
	}
	refs, err := merge.RemoteRefs(ctx, to.Repo, to.Remote)
	var gone []merge.Ref
	if err == nil {
		err = r.opts.Graph.Store.View(ctx, func(g *dag.Graph) error {
			for _, ref := range refs {
				whole := ref.Attempt()
				at, aerr := g.Attempt(whole)
				if tried := strings.LastIndexByte(whole, '-'); aerr != nil && tried > 0 {
					at, aerr = g.Attempt(whole[:tried])
				}
				if whole == r.run.ID || aerr == nil && !at.EndedAt.IsZero() {
					gone = append(gone, merge.Ref{Name: ref.Name})
				}
			}
			return nil
		})
	}
	for batch := range slices.Chunk(gone, maxGone) {
		if err == nil {
			err = merge.Push(ctx, to.Repo, to.Remote, batch...)
		}
	}
	if err != nil {
		r.bus.warn("", "what other machines needed stays at the remote: "+err.Error())
	}
}

// maxGone is how many refs a remote is told at once to forget.
const maxGone = 100

// forget has the remote forget what it has of an attempt that is settled, many at a time: a push is slower the more refs there
// are. What it does not forget now it does when the run ends.
func (r *Runner) forget(ctx context.Context, names ...string) {
	p := &r.published
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, name := range names {
		if name != "" {
			p.gone = append(p.gone, merge.Ref{Name: name})
		}
	}
	if len(p.gone) >= maxGone {
		_ = merge.Push(ctx, r.opts.Landing.Repo, r.opts.Landing.Remote, p.gone...)
		p.gone = nil
	}
}

// pack makes a commit of the files of an attempt.
func pack(ctx context.Context, repo *git.Repo, folder, message string) (string, error) {
	index := folder + ".index"
	defer func() { _ = os.Remove(index) }() // nobody needs it
	call := git.Call{WorkTree: folder, Index: index}
	if _, err := repo.Git(ctx, call, "-c", "core.autocrlf=false", "add", "--all", "--force", "."); err != nil {
		return "", err
	}
	tree, err := repo.Git(ctx, call, "write-tree")
	if err != nil {
		return "", err
	}
	return repo.CommitTree(ctx, strings.TrimSpace(tree), message, "")
}

// unpack writes the files of an attempt. Links in it are written as files: nothing is written elsewhere.
func unpack(ctx context.Context, repo *git.Repo, commit, folder string) error {
	index := folder + ".index"
	defer func() { _ = os.Remove(index) }() // nobody needs it
	call := git.Call{WorkTree: folder, Index: index}
	if _, err := repo.Git(ctx, call, "read-tree", commit); err != nil {
		return err
	}
	_, err := repo.Git(ctx, call, "-c", "core.symlinks=false", "-c", "core.autocrlf=false", "checkout-index", "--all", "--force", "--quiet")
	return err
}
