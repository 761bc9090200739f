package remote

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"ralph/dag"
	"ralph/internal/budget"
	"ralph/internal/event"
	"ralph/internal/merge"
	"ralph/internal/redact"
	"ralph/loop/attempt"
	"ralph/loop/land"
	"ralph/loop/policy"
)

// Executor makes an attempt of a run that is on another machine: in a slot of this clone, with the agents, the sandbox and the
// configuration of this machine. It is the attempt of every run; its records go into the result.
type Executor struct {
	Worker  func(observe func(event.Event)) attempt.Worker // what this machine brings
	Landing land.Options
	Dir     string // the project
	Runs    string // the folder for the files of attempts
	Redact  *redact.Redactor
	Now     func() time.Time

	Slot   int            // that nothing else here uses
	Try    string         // no other try at the attempt has the same, here or on another machine
	Lost   event.Usage    // what those used that did not come back
	Report func(Progress) // called from any goroutine
}

// Execute does a job. The error is for what keeps it from being done here at all.
func (e Executor) Execute(ctx context.Context, job Job) (Result, error) {
	x := &execution{report: e.Report, lost: e.Lost, progress: Progress{Usage: e.Lost}}
	w, j := e.Worker(x.observe), job.Job
	j.Place = attempt.Place{Dir: e.Dir, Project: e.Dir, Folder: filepath.Join(e.Runs, j.Run.ID, j.Run.Attempt+"-"+e.Try)}
	j.Run.Owner += "-" + e.Try // two tries may be on one machine
	if err := os.MkdirAll(j.Place.Folder, 0o700); err != nil {
		return Result{}, err
	}
	lane, err := e.open(ctx, job, &j)
	if err != nil {
		return Result{}, err
	}
	job.Sources.Sections = w.Documents(j.Task).Sections // those in the project's folder here
	w.Documents = func(dag.Task) attempt.Sources { return job.Sources }
	w.Sources = func(context.Context, string, dag.Task, []string) attempt.Sources { return job.Sources }
	if j.Verify.Allowed == nil {
		j.Verify.Allowed = map[string]string{}
	}
	res := Result{Try: e.Try}
	res.Result, err = w.Run(ctx, j, attempt.Ports{
		Record: x.record, Excuses: excuses{attempt.Allowed(j.Verify.Allowed), j.Verify.AllowFailing, x.record}, Lane: lane,
		Budget: func(context.Context) ([]budget.Finding, error) { return nil, nil },
		Desk:   &bufferedInbox{record: x.record, mail: job.Mail, given: attempt.Unreceived(j.History.Answers)},
	})
	lane.Close()
	if err != nil {
		return Result{}, err
	}
	res.Agent.Usage = res.Agent.Usage.Add(e.Lost)
	if d := &res.Decision; !d.Until.IsZero() { // by this machine's clock
		d.Delay, d.Until = max(d.Until.Sub(e.Now()), 0), time.Time{}
	}
	if res.Decision.Passed() {
		_ = x.record(ctx, attempt.Record{Finished: res.Finished()}) // with the verdict
	}
	res.Base, res.Work = lane.Work()
	if err := e.leave(context.WithoutCancel(ctx), j, &res); err != nil { // an agent would do it again, and come no further
		host, _ := os.Hostname()
		res.Decision = policy.Halted{Reason: "the work of " + j.Task.ID + " stays on " + host + ": " + err.Error()}.Decision()
		res.Work, res.Log, res.Seen.Checked = res.Base, "", false // nothing else can land it
		x.records = slices.DeleteFunc(x.records, func(r attempt.Record) bool {
			return r.Finished != nil || r.Note != nil && slices.Contains([]dag.Phase{dag.Answered, dag.Verifying}, r.Note.Phase)
		})
	}
	u := res.Agent
	x.records = append(x.records, attempt.Record{Used: &attempt.Used{Usage: u.Usage, SessionUSD: u.SessionUSD}},
		attempt.Record{Note: &dag.Note{Usage: &u.Usage, Shares: u.Shares, ModelEffective: u.Model}}) // should the run die while it lands
	res.Records = x.records
	return redact.Deep(e.Redact, res), nil
}

// open fetches what a job builds on and makes a slot of it.
func (e Executor) open(ctx context.Context, job Job, j *attempt.Job) (*land.Workspace, error) {
	to := e.Landing
	refs := []string{merge.TargetRef(j.Run.ID)}
	if job.Start != "" {
		refs = append(refs, merge.StartRef(j.Run.Attempt))
	}
	var commits []string
	err := patiently(ctx, brief, func() (err error) { commits, err = merge.Fetch(ctx, to.Repo, to.Remote, refs...); return err })
	if err != nil {
		return nil, err
	}
	base, start := commits[0], commits[0]
	if job.Start != "" { // it was made on that very commit
		base, start = job.Onto, job.Start
	} else if has, err := to.Repo.IsAncestor(ctx, job.Onto, base); err != nil || !has {
		return nil, errors.Join(err, fmt.Errorf("%s has a target without %.10s, which the task builds on", to.Remote, job.Onto))
	}
	lane, err := to.Open(ctx, dag.Claim{Task: j.Task, Attempt: j.Run.Attempt, Slot: e.Slot}, base, start)
	if err != nil {
		return nil, err
	}
	j.Place.Dir, j.Place.Sub, j.Place.Env = lane.Place()
	if j.History.Base == nil {
		j.History.Base = &attempt.Base{}
	}
	if j.Proof.Tree != "" {
		if _, err := to.Repo.Line(ctx, "cat-file", "-e", j.Proof.Tree); err != nil {
			j.Proof.Tree = "" // the task's own beginning is compared with
		}
	}
	j.History.Base.Tree, err = to.Repo.Tree(ctx, base)
	return lane, err
}

// leave pushes what the attempt leaves: its work, whatever came of it, and its files.
func (e Executor) leave(ctx context.Context, j attempt.Job, res *Result) error {
	to := e.Landing
	if res.Work == "" {
		res.Work = res.Base
	}
	res.Log, _ = pack(ctx, to.Repo, j.Place.Folder, "Files of "+j.Run.Attempt) // the work counts without them, too
	work, log := res.refs(j.Task.ID, j.Run.Attempt)
	var refs []merge.Ref
	if work != "" {
		refs = append(refs, merge.Ref{Name: work, Commit: res.Work})
	}
	if log != "" {
		refs = append(refs, merge.Ref{Name: log, Commit: res.Log})
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

// execution keeps the records of one attempt, and reports how far it has come.
type execution struct {
	report func(Progress)
	lost   event.Usage

	mu       sync.Mutex
	progress Progress
	records  []attempt.Record
	size     int // of events
}

// record keeps a record for the result, without what only this machine has.
func (x *execution) record(_ context.Context, rec attempt.Record) error {
	switch {
	case rec.Used != nil: // the last is in the result
		x.see(func(p *Progress) { p.Usage = rec.Used.Usage.Add(x.lost) })
		return nil
	case rec.Accepted != nil: // it is not, until the run has landed it
		return nil
	case rec.Base != nil:
		b := *rec.Base
		b.Tree, rec.Base = "", &b
	case rec.Note != nil:
		n := *rec.Note
		n.Usage, n.AgentPID, n.AgentPIDStart, n.Tree, n.TreeAfter, rec.Note = nil, 0, 0, "", "", &n
		if n.Phase != "" {
			defer x.see(func(p *Progress) { p.Phase = n.Phase })
		}
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.records = append(x.records, rec)
	return nil
}

func (x *execution) see(change func(*Progress)) {
	x.mu.Lock()
	change(&x.progress)
	now := x.progress
	x.mu.Unlock()
	if x.report != nil {
		x.report(now)
	}
}

// maxEvents is how many bytes the texts of the events of an attempt have that are delivered: all of it is in its files.
const maxEvents = 256 << 10

func (x *execution) observe(e event.Event) {
	switch e.Type {
	case event.AgentText:
		x.see(func(p *Progress) { p.Text = e.Text })
		return
	case event.AgentThought, event.AgentUsage:
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.size += 200 + len(e.Text) + len(e.Reason); x.size < maxEvents {
		x.records = append(x.records, attempt.Record{Event: &e})
	}
}
