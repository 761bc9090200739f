package loop

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"ralph/budget"
	"ralph/dag"
	"ralph/event"
	"ralph/inbox"
	"ralph/internal/redact"
	"ralph/loop/attempt"
	"ralph/loop/land"
	"ralph/loop/policy"
	"ralph/merge"
)

// Outpost makes an attempt of a run that is on another machine: in a slot of this clone, with the agents, the sandbox and the
// configuration of this machine. It is the attempt of every run; only what it reports to is another.
type Outpost struct {
	Options Options
	Slot    int           // that nobody else here uses
	Try     string        // no other try at the attempt has the same, here or elsewhere
	Lost    event.Usage   // what those used that did not come back
	Report  func(Outlook) // how far it has come; called from any goroutine
}

// Outlook is how far an attempt has come.
type Outlook struct {
	Phase dag.Phase
	Usage event.Usage
	Text  string // what the agent said last
}

// Make carries out an order. The error is for what keeps it from being carried out here at all.
func (p Outpost) Make(ctx context.Context, o Order) (Delivery, error) {
	w := &watcher{report: p.Report, lost: p.Lost, look: Outlook{Usage: p.Lost}}
	opts := p.Options
	opts.Host.Observe = w.observe
	r := newRunner(opts)
	r.run.ID, r.bus.run = o.Run, o.Run
	out, j := &outpost{to: opts.Landing, watcher: w}, o.Job
	j.Place = attempt.Place{Dir: opts.Place.Dir, Project: opts.Place.Dir, Folder: filepath.Join(opts.Place.Runs, o.Run, j.Run.Attempt+"-"+p.Try)}
	j.Run.Owner = j.Run.Owner + "-" + p.Try // two tries may be on one machine
	if err := os.MkdirAll(j.Place.Folder, 0o700); err != nil {
		return Delivery{}, err
	}
	if err := out.take(ctx, o, &j, p.Slot); err != nil {
		return Delivery{}, err
	}
	sections := opts.Prompt.Context(j.Task).Sections
	o.Sources.Sections = sections
	r.worker.Documents = func(dag.Task) attempt.Sources { return o.Sources }
	r.worker.Sources = func(context.Context, string, dag.Task, []string) attempt.Sources { return o.Sources }
	if j.Verify.Allowed == nil {
		j.Verify.Allowed = map[string]string{}
	}
	ports := attempt.Ports{
		Record: out, Excuses: farExcuses{out, j.Verify.Allowed, j.Verify.AllowFailing}, Budget: func(context.Context) ([]budget.Finding, error) { return nil, nil }, Lane: out, Copy: out.Copy,
		Shared: alone, Desk: &farDesk{outpost: out, mail: o.Mail},
	}
	res, err := r.worker.Run(ctx, j, ports)
	out.Close()
	if err != nil {
		return Delivery{}, err
	}
	d := &out.delivery
	d.Result, d.Events = res, w.events
	d.Onto, d.Work = out.Work()
	if f := d.Finished; f != nil && res.Decision.Action == policy.Complete {
		f.Patch, f.Trees = res.Judged.Patch, res.Judged.Trees
	}
	d.Result.Agent.Usage = w.total(res.Agent.Usage)
	if until := res.Decision.Until; !until.IsZero() {
		d.NotBefore, d.Result.Decision.Until = max(until.Sub(opts.Host.Now()), 0), time.Time{}
	}
	if err := p.leave(context.WithoutCancel(ctx), out, j); err != nil { // an agent would do it again, and come no further
		host, _ := os.Hostname()
		d.Result.Decision = policy.Halted{Reason: "the work of " + j.Task.ID + " stays on " + host + ": " + err.Error()}.Decision()
		d.Work, d.WorkRef, d.Log, d.LogRef = d.Onto, "", "", ""
		d.Finished, d.Result.Seen.Checked = nil, false // nobody else can land it
		for i := range d.Noted {
			if d.Noted[i].Phase == dag.Answered || d.Noted[i].Phase == dag.Verifying {
				d.Noted[i].Phase = ""
			}
		}
	}
	return redact.Deep(opts.Host.Redact, *d), nil
}

// leave pushes what the attempt leaves: its work, whatever came of it, and its files.
func (p Outpost) leave(ctx context.Context, out *outpost, j attempt.Job) error {
	to, d := p.Options.Landing, &out.delivery
	d.Work = cmp.Or(d.Work, d.Onto)
	var refs []merge.Ref
	if d.Work != d.Onto {
		d.WorkRef = merge.TryRef(j.Task.ID, j.Run.Attempt, p.Try)
		refs = append(refs, merge.Ref{Name: d.WorkRef, Commit: d.Work})
	}
	if log, err := pack(ctx, to.Repo, j.Place.Folder, "Files of "+j.Run.Attempt); err == nil {
		d.Log, d.LogRef = log, merge.LogRef(j.Run.Attempt, p.Try)
		refs = append(refs, merge.Ref{Name: d.LogRef, Commit: log})
	}
	if len(refs) == 0 {
		return nil
	}
	err := patiently(ctx, long, func() error { return merge.Push(ctx, to.Repo, to.Remote, refs...) })
	if err == nil { // the run has all of it now
		err = errors.Join(os.RemoveAll(j.Place.Folder), merge.SetRefs(ctx, to.Repo, merge.Ref{Name: merge.WorkRef(j.Task.ID, j.Run.Attempt)}))
	}
	return err
}

// outpost is the lane and the record of an attempt that is far from its run: work is tested on what it began with, and what is
// recorded is delivered in the end.
type outpost struct {
	*land.Workspace
	*watcher
	to       land.Options
	delivery Delivery
}

// take fetches what the order builds on and makes a slot of it.
func (p *outpost) take(ctx context.Context, o Order, j *attempt.Job, n int) error {
	to := p.to
	refs := []string{merge.TargetRef(o.Run)}
	if o.Start != "" {
		refs = append(refs, merge.StartRef(j.Run.Attempt))
	}
	var commits []string
	err := patiently(ctx, brief, func() (err error) { commits, err = merge.Fetch(ctx, to.Repo, to.Remote, refs...); return err })
	if err != nil {
		return err
	}
	base, start := commits[0], commits[0]
	if o.Start != "" { // it was made on that very commit
		base, start = o.Onto, o.Start
	} else if has, err := to.Repo.IsAncestor(ctx, o.Onto, base); err != nil || !has {
		return errors.Join(err, fmt.Errorf("%s has a target without %.10s, which the task builds on", to.Remote, o.Onto))
	}
	claim := dag.Claim{Task: j.Task, Attempt: j.Run.Attempt, Slot: n}
	if p.Workspace, err = to.Open(ctx, claim, base, start); err != nil {
		return err
	}
	j.Place.Dir, j.Place.Sub, j.Place.Env = p.Place()
	tree, err := to.Repo.Tree(ctx, base)
	if err != nil {
		return err
	}
	if j.History.Base == nil {
		j.History.Base = &attempt.Base{}
	}
	j.History.Base.Tree = tree
	if j.Proof.Tree != "" {
		if _, err := to.Repo.Line(ctx, "cat-file", "-e", j.Proof.Tree); err != nil {
			j.Proof.Tree = "" // the task's own beginning is compared with
		}
	}
	return nil
}

func (p *outpost) Note(_ context.Context, n dag.Note) error {
	p.mu.Lock()
	p.delivery.Noted = append(p.delivery.Noted, n)
	p.mu.Unlock()
	p.see(func(o *Outlook) {
		if n.Phase != "" {
			o.Phase = n.Phase
		}
	})
	return nil
}

func (p *outpost) SetBase(_ context.Context, b attempt.Base) error {
	p.delivery.Base = &b
	return nil
}

func (p *outpost) Finished(_ context.Context, f attempt.Finished) error {
	p.delivery.Finished = &f
	return nil
}

func (p *outpost) Proofs(_ context.Context, proofs []dag.Proof) error {
	p.delivery.Proofs = proofs
	return nil
}

func (p *outpost) Used(u event.Usage, _ *float64) {
	p.see(func(o *Outlook) { o.Usage = p.total(u) })
}

// watcher keeps what is worth telling of an attempt.
type watcher struct {
	report func(Outlook)
	lost   event.Usage

	mu     sync.Mutex
	look   Outlook
	events []event.Event
	size   int
}

// total adds what tries used that did not come back.
func (w *watcher) total(u event.Usage) event.Usage { return u.Add(w.lost) }

func (w *watcher) see(change func(*Outlook)) {
	w.mu.Lock()
	change(&w.look)
	now := w.look
	w.mu.Unlock()
	if w.report != nil {
		w.report(now)
	}
}

// maxEvents is how many bytes the texts of the events of an attempt have that are delivered: all of it is in its files.
const maxEvents = 256 << 10

func (w *watcher) observe(e event.Event) {
	switch e.Type {
	case event.AgentText:
		w.see(func(o *Outlook) { o.Text = e.Text })
		return
	case event.AgentThought, event.AgentUsage:
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.size += 200 + len(e.Text) + len(e.Reason); w.size < maxEvents {
		w.events = append(w.events, e)
	}
}

// farDesk is the desk of an agent that is far from whoever it asks: what it asks parks its task, and is asked when the attempt is
// delivered.
type farDesk struct {
	*outpost
	mail []inbox.Request

	asking sync.Mutex
	given  []string
}

// placeholder stands for the ID of a question until it is asked.
func placeholder(i int) string { return fmt.Sprintf("q-asked-%d", i) }

func (d *farDesk) Ask(_ context.Context, r inbox.Request) (inbox.Request, error) {
	if !r.Parks { // nobody can answer while it waits
		r.State = inbox.Open
		return r, nil
	}
	d.asking.Lock()
	defer d.asking.Unlock()
	asked := &d.delivery.Asked
	i := slices.IndexFunc(*asked, func(other inbox.Request) bool { return other.Kind == r.Kind && other.Text == r.Text })
	if i < 0 {
		i = len(*asked)
		if i >= inbox.MaxAsked {
			return r, fmt.Errorf("%w: an attempt may ask %d questions", dag.ErrRefused, inbox.MaxAsked)
		}
		r.ID, r.State = placeholder(i), inbox.Open
		*asked = append(*asked, r)
	}
	return (*asked)[i], nil
}

func (d *farDesk) Send(_ context.Context, task, text string) error {
	d.asking.Lock()
	defer d.asking.Unlock()
	if len(d.delivery.Sent) >= maxSent {
		return errSent
	}
	d.delivery.Sent = append(d.delivery.Sent, Sent{task, text})
	return nil
}

func (d *farDesk) Messages(ctx context.Context) ([]inbox.Request, error) { return d.Unread(ctx), nil }

func (d *farDesk) Unread(context.Context) []inbox.Request {
	d.asking.Lock()
	defer d.asking.Unlock()
	return slices.DeleteFunc(slices.Clone(d.mail), func(r inbox.Request) bool { return slices.Contains(d.given, r.ID) })
}

func (d *farDesk) Give(list []inbox.Request) {
	d.asking.Lock()
	defer d.asking.Unlock()
	for _, r := range list {
		d.given = append(d.given, r.ID)
	}
}

func (d *farDesk) Received(context.Context) {
	d.asking.Lock()
	defer d.asking.Unlock()
	d.delivery.Received = slices.Clone(d.given)
}

func (d *farDesk) Queries(context.Context) []inbox.Request     { return nil }
func (d *farDesk) Reply(_ context.Context, _ string, _ string) {}
