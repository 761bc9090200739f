package loop

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"ralph/dag"
	"ralph/event"
	"ralph/internal/git"
	"ralph/internal/slot"
	"ralph/internal/testing/failpoint"
	"ralph/loop/attempt"
	"ralph/loop/policy"
	"ralph/merge"
	"ralph/verify"
)

// Landing is where finished work ends up, if agents do not work in the project's own folder.
type Landing struct {
	Repo   *git.Repo // nil: they do
	Slots  *slot.Pool
	Target string // a full ref name
	Window int    // how many candidates are tested at once; 0 means as many as keep the processors busy
	Review bool   // a person looks at all work before it lands
	// Gates runs gates in a slot.
	Gates func(attempt.Place) (verify.Gates, error)
}

// tip is the end of the target as it was last seen.
type tip struct {
	begun atomic.Int64 // looks

	mu     sync.Mutex
	last   string
	looked int64 // the look that saw it
}

// look returns where the target is. It is an error if that is not where it can have come to
// by landing or by a person's commits. Workers that wake up together share a look that began after they asked.
func (t *tip) look(ctx context.Context, to Landing) (string, error) {
	asked := t.begun.Load()
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.looked > asked {
		return t.last, nil
	}
	look := t.begun.Add(1)
	now, how, err := merge.Watch(ctx, to.Repo, to.Target, t.last)
	name := strings.TrimPrefix(to.Target, "refs/heads/")
	switch {
	case err != nil:
		return "", err
	case how == merge.Deleted:
		return "", policy.Halted{Reason: "the branch " + name + " was deleted; work that is finished is kept, and lands when it is back"}
	case how == merge.Rewritten:
		return "", policy.Halted{Reason: fmt.Sprintf("the branch %s was rewritten: %.10s is not in its history any more; to go on with what it is now, run again", name, t.last)}
	}
	t.last, t.looked = now, look
	return now, nil
}

// lane takes the work of one attempt from its slot to the target.
type lane struct {
	shared
	signal  *signal
	reclaim func(context.Context) (int, error)                       // takes back the tasks of dead runs
	unland  func(ctx context.Context, repo *git.Repo, n int64) error // says what became of an entry whose claim is lost
	tip     *tip
	demand  *attempt.Demand
	claim   dag.Claim
	slot    *slot.Slot
	gates   verify.Gates
	base    string // the commit below what is in the slot

	entry   dag.Merge   // zero outside the queue
	state   merge.State // of the entry: the database does not tell red from untested
	files   []string    // that conflict
	message merge.Message
}

// Shown is what the slot was last made to look like.
func (l *lane) Shown() (git.State, string) {
	head, tree := l.slot.Shown()
	return git.State{Known: true, Branch: strings.TrimPrefix(l.opts.Landing.Target, "refs/heads/"), Head: head}, tree
}

// Tree is what is in the slot now.
func (l *lane) Tree(ctx context.Context) (string, error) { return l.slot.Tree(ctx) }

// Keep stores what is in the slot, but not a merge that nobody finished: the work as it was
// before is kept already.
func (l *lane) Keep(ctx context.Context) error {
	if len(l.files) > 0 {
		return nil
	}
	_, err := l.keep(ctx)
	return err
}

func (l *lane) keep(ctx context.Context) (work string, err error) {
	w, err := l.slot.Keep(ctx, l.base, "Work on "+l.claim.Task.ID)
	if err != nil || w.Commit == l.base {
		return l.base, err
	}
	for _, left := range w.Left {
		l.bus.warn(l.claim.Task.ID, "not kept: "+left.String())
	}
	work = w.Commit
	return work, merge.SetRefs(ctx, l.opts.Landing.Repo, merge.Ref{Name: merge.WorkRef(l.claim.Task.ID, l.claim.Attempt), Commit: work})
}

// Candidate enters the work into the queue and returns what is to be tested.
func (l *lane) Candidate(ctx context.Context, by attempt.Credit) (attempt.Candidate, error) {
	if l.entry.N == 0 {
		if l.files = l.slot.Unresolved(); len(l.files) > 0 {
			return attempt.Candidate{Conflict: l.files}, nil
		}
		if err := l.enter(ctx, by); err != nil {
			return attempt.Candidate{}, err
		}
	}
	for {
		do, err := l.next(ctx)
		switch {
		case err != nil:
			return attempt.Candidate{}, err
		case do == merge.DoTest:
			return l.show(ctx)
		case do == merge.DoResolve:
			return l.conflict(ctx, by.Script)
		}
	}
}

// Tested stores what testing showed, and waits until that counts.
func (l *lane) Tested(ctx context.Context, green bool) (again bool, err error) {
	if l.state = merge.Red; green {
		l.state = merge.Green
	}
	err = l.update(ctx, func(g *dag.Graph) error {
		if !green {
			return g.Built(l.claim, l.entry.N, l.entry.Onto, l.entry.Onto) // nothing of it is to be built on
		}
		return g.Tested(l.claim, l.entry.N)
	})
	if err != nil {
		return false, err
	}
	for {
		do, err := l.next(ctx)
		switch {
		case err != nil, do == merge.DoLand:
			return false, err
		case do == merge.DoTest: // something else is below it now
			return true, nil
		case do == merge.DoReject:
			return false, l.leave(ctx, "its gates are red")
		case do == merge.DoResolve:
			return true, nil
		}
	}
}

// Reviewed says that nobody else is to look at the candidate before it lands.
func (l *lane) Reviewed() bool { return !l.opts.Landing.Review || l.entry.Accepted }

// Land moves the target.
func (l *lane) Land(ctx context.Context) (again bool, err error) {
	to, e := l.opts.Landing, l.entry
	if err := merge.Prove(ctx, to.Repo, e.Base, e.Work, e.Onto, e.Candidate); err != nil {
		return false, err
	}
	for {
		changed := l.signal.changed()
		err := l.update(ctx, func(g *dag.Graph) error { return g.Landing(l.claim, e.N, "") })
		if err == nil {
			break
		}
		if !errors.Is(err, dag.ErrLanding) {
			return false, err
		}
		if err := l.wait(ctx, changed); err != nil {
			return false, err
		}
	}
	failpoint.Hit("K19")
	said := ""
	for {
		changed := l.signal.changed()
		err := merge.Land(ctx, to.Repo, to.Target, e.Onto, e.Candidate)
		var blocked *merge.BlockedError
		switch {
		case err == nil:
			failpoint.Hit("K22")
			l.emit(event.MergeLanded, "")
			return false, nil
		case errors.Is(err, merge.ErrMoved):
			return true, nil
		case errors.As(err, &blocked) && said != blocked.Error():
			said = blocked.Error()
			if err := l.update(ctx, func(g *dag.Graph) error { return g.Landing(l.claim, e.N, said) }); err != nil {
				return false, err
			}
			l.emit(event.MergeWaiting, said)
		case blocked == nil && !errors.Is(err, merge.ErrLocked):
			return false, errors.Join(err, l.leave(context.WithoutCancel(ctx), err.Error()))
		}
		if err := l.wait(ctx, changed); err != nil {
			return false, errors.Join(err, l.leave(context.WithoutCancel(ctx), "the run ended before it could land"))
		}
	}
}

// landed is where the work of the run ended up. Not to know that is no reason to fail.
func (r *Runner) landed(ctx context.Context) *event.Work {
	to := r.opts.Landing
	if to.Repo == nil {
		return nil
	}
	var w event.Work
	kept, err := merge.Kept(ctx, to.Repo)
	if err == nil {
		err = r.opts.Graph.Store.View(ctx, func(g *dag.Graph) (err error) { w, err = g.Work(r.run.ID, kept); return err })
	}
	if err != nil {
		r.bus.warn("", "where work ended up is not known: "+err.Error())
		return nil
	}
	w.Target = to.Target
	return &w
}

// newLane prepares the slot of a claim. It is nil if agents work in the project's own folder.
func (r *Runner) newLane(ctx context.Context, claim dag.Claim, j *attempt.Job) (*lane, error) {
	to := r.opts.Landing
	if to.Repo == nil {
		return nil, nil
	}
	l := &lane{shared: r.shared, signal: &r.signal, tip: &r.tip, demand: r.worker.Demand, claim: claim, reclaim: r.reclaim, unland: r.recoverer().Unland}
	start, err := l.tip.look(ctx, to)
	if err != nil {
		return nil, err
	}
	l.base = start
	if work, err := l.earlier(ctx); err != nil {
		return nil, err
	} else if work != "" {
		base, err := to.Repo.Commit(ctx, work+"^")
		if err != nil {
			return nil, err
		}
		if j.Finished != nil {
			start, l.base = work, base
		} else if start, err = l.goOn(ctx, base, work, r.scripted(j)); err != nil {
			return nil, err
		}
	}
	if l.slot, err = to.Slots.Take(ctx, claim.Slot, l.base, start); err != nil {
		return nil, err
	}
	j.Place.Dir, j.Place.Env = l.slot.Dir(), l.slot.Env()
	l.gates, err = to.Gates(j.Place)
	return l, err
}

// scripted says that the agent of a job does the same again each time.
func (r *Runner) scripted(j *attempt.Job) bool {
	return r.opts.Agents.Modelless != nil && r.opts.Agents.Modelless(j.Agent.Name)
}

// goOn is the commit from which an attempt goes on with earlier work: with that on the
// target, or without it where that does not merge or a script does it again.
func (l *lane) goOn(ctx context.Context, base, work string, script bool) (string, error) {
	if script {
		return l.base, nil
	}
	built, err := merge.Build(ctx, l.opts.Landing.Repo, l.base, base, work, "Earlier work on "+l.claim.Task.ID)
	if err != nil || len(built.Files) > 0 {
		return l.base, err
	}
	return built.Candidate, nil
}

// earlier is the work that this attempt only has to land, or goes on with.
func (l *lane) earlier(ctx context.Context) (string, error) {
	of := l.claim.Resumed.ID
	if !l.claim.Resume {
		var attempts []dag.Attempt
		err := l.opts.Graph.Store.View(ctx, func(g *dag.Graph) (err error) { attempts, err = g.Attempts(l.claim.Task); return err })
		last := attempt.History{Attempts: attempts}.Last()
		if err != nil || last.ID == "" || last.StartedAt.Before(l.claim.Task.StartedAt) {
			return "", err
		}
		of = last.ID
	}
	return l.opts.Landing.Repo.Commit(ctx, merge.WorkRef(l.claim.Task.ID, of))
}

// clear removes the refs of a task that is settled. If the task was taken away while it was
// landing, nobody has said yet what became of that.
func (l *lane) clear(ctx context.Context, status dag.Status) error {
	repo := l.opts.Landing.Repo
	if l.entry.N > 0 {
		if err := l.unland(ctx, repo, l.entry.N); err != nil {
			return err
		}
	}
	refs, err := merge.ListRefs(ctx, repo, "work/"+l.claim.Task.ID)
	if status != dag.Done {
		refs = nil
	}
	if l.entry.N > 0 {
		refs = append(refs, merge.Ref{Name: merge.CandidateRef(l.entry.N)})
	}
	if err != nil || len(refs) == 0 {
		return err
	}
	for i := range refs {
		refs[i].Commit = ""
	}
	failpoint.Hit("K23")
	return merge.SetRefs(ctx, repo, refs...)
}

// enter keeps the work and puts it at the end of the queue.
func (l *lane) enter(ctx context.Context, by attempt.Credit) error {
	body, err := l.slot.Message(ctx)
	if err != nil {
		return err
	}
	work, err := l.keep(ctx)
	if err != nil {
		return err
	}
	failpoint.Hit("K17")
	patch, err := merge.Patch(ctx, l.opts.Landing.Repo, l.base, work)
	if err != nil {
		return err
	}
	if body == "" {
		body = by.Note
	}
	t := l.claim.Task
	l.message = merge.Message{Title: t.Title, Body: body, Task: t.ID, Attempt: l.claim.Attempt, Patch: patch, Agent: by.Agent, Model: by.Model}
	err = l.update(ctx, func(g *dag.Graph) (err error) {
		l.entry, err = g.Enter(l.claim, dag.NewMerge{Target: l.opts.Landing.Target, Base: l.base, Work: work, Patch: patch})
		return err
	})
	l.state = merge.Building
	if err == nil {
		l.emit(event.MergeQueued, "")
	}
	return err
}

// leave takes the work out of the queue. What is in the slot lies on what the candidate lay on.
func (l *lane) leave(ctx context.Context, reason string) error {
	err := l.update(ctx, func(g *dag.Graph) error { return g.Drop(l.claim, l.entry.N, reason) })
	if err != nil {
		return err
	}
	l.emit(event.MergeDropped, reason)
	gone := merge.Ref{Name: merge.CandidateRef(l.entry.N)}
	l.base, l.entry = l.entry.Onto, dag.Merge{}
	return merge.SetRefs(ctx, l.opts.Landing.Repo, gone)
}

// next does what the policy says as far as it concerns the queue alone: it waits or builds.
func (l *lane) next(ctx context.Context) (merge.Action, error) {
	to, changed := l.opts.Landing, l.signal.changed()
	queue, err := l.queue(ctx)
	if err != nil {
		return "", err
	}
	tip, err := l.tip.look(ctx, to)
	if err != nil {
		return "", err
	}
	var ahead []merge.Entry
	for _, m := range queue {
		if m.N < l.entry.N {
			ahead = append(ahead, merge.Entry{Onto: m.Onto, Candidate: m.Candidate, State: stateOf(m)})
		}
	}
	step := merge.Next(merge.Entry{Onto: l.entry.Onto, Candidate: l.entry.Candidate, State: l.state}, tip, ahead, l.window())
	switch step.Do {
	case merge.DoWait:
		err = l.wait(ctx, changed)
	case merge.DoBuild:
		err = l.build(ctx, step.Onto)
	}
	return step.Do, err
}

// window is how many candidates are tested at once.
func (l *lane) window() int {
	if n := l.opts.Landing.Window; n > 0 {
		return n
	}
	wall, cpu := l.demand.Last()
	return merge.Window(runtime.GOMAXPROCS(0), wall, cpu)
}

func (l *lane) queue(ctx context.Context) (queue []dag.Merge, err error) {
	err = l.opts.Graph.Store.View(ctx, func(g *dag.Graph) error { queue, err = g.Queue(l.opts.Landing.Target); return err })
	return queue, err
}

// wait waits until something changes that this process knows of, or for a moment: other runs
// and people move the target, too. If nothing has changed here, and attempts of other runs are in the queue, what dead
// runs left is taken back: nobody could land after them.
func (l *lane) wait(ctx context.Context, changed <-chan struct{}) error {
	attempt.Pause(ctx, changed, l.opts.Host.Now().Add(l.opts.Workers.Poll), l.opts.Host.Now, l.opts.Workers.Poll)
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-changed:
		return nil
	default:
	}
	queue, err := l.queue(ctx)
	if err == nil && slices.ContainsFunc(queue, func(m dag.Merge) bool { return !l.live.own(m.Attempt) }) {
		_, err = l.reclaim(ctx)
	}
	return err
}

// stateOf is how far an entry of another worker has come.
func stateOf(m dag.Merge) merge.State {
	switch {
	case m.State != dag.MergeTesting:
		return merge.Green
	case m.Candidate == "":
		return merge.Building
	default:
		return merge.Testing
	}
}

// build makes a candidate.
func (l *lane) build(ctx context.Context, onto string) error {
	repo := l.opts.Landing.Repo
	built, err := merge.Build(ctx, repo, onto, l.entry.Base, l.entry.Work, l.message.String())
	if err != nil {
		return err
	}
	rebuilt := l.entry.Onto != ""
	l.entry.Onto, l.entry.Candidate, l.files, l.state = onto, built.Candidate, built.Files, merge.Building
	if len(l.files) > 0 {
		l.state = merge.Conflict
		return l.update(ctx, func(g *dag.Graph) error { return g.Built(l.claim, l.entry.N, onto, onto) }) // nor of this
	}
	if rebuilt {
		l.emit(event.MergeRebuilt, "")
	}
	if err := merge.SetRefs(ctx, repo, merge.Ref{Name: merge.CandidateRef(l.entry.N), Commit: built.Candidate}); err != nil {
		return err
	}
	failpoint.Hit("K18")
	return l.update(ctx, func(g *dag.Graph) error { return g.Built(l.claim, l.entry.N, onto, built.Candidate) })
}

// show makes the slot look like the candidate.
func (l *lane) show(ctx context.Context) (c attempt.Candidate, err error) {
	l.state = merge.Testing
	c = attempt.Candidate{Onto: l.entry.Onto, Commit: l.entry.Candidate, Patch: l.entry.Patch, Accepted: l.entry.Accepted}
	trees, err := l.opts.Landing.Repo.Line(ctx, "rev-parse", c.Onto+"^{tree}", c.Commit+"^{tree}")
	if err != nil {
		return c, err
	}
	c.Trees[0], c.Trees[1], _ = strings.Cut(trees, "\n")
	return c, l.slot.Show(ctx, c.Onto, c.Commit)
}

// conflict shows the tip with the conflicts of the work in it, outside the queue.
func (l *lane) conflict(ctx context.Context, script bool) (c attempt.Candidate, err error) {
	onto, work, base := l.entry.Onto, l.entry.Work, l.entry.Base
	c.Conflict = l.files
	l.emit(event.MergeConflict, strings.Join(l.files, ", "))
	if err := l.leave(ctx, "it conflicts with the target"); err != nil {
		return c, err
	}
	if script {
		l.files = nil
		return c, l.slot.Show(ctx, onto, onto)
	}
	if err := l.slot.Conflict(ctx, base, onto, work); err != nil {
		return c, err
	}
	since, err := l.opts.Landing.Repo.Line(ctx, append([]string{"log", "--no-show-signature", "--format=%s", base + ".." + onto, "--"}, l.files...)...)
	if since != "" {
		c.With = strings.Split(since, "\n")
	}
	return c, err
}

// update changes the graph and tells who waits for the queue.
func (l *lane) update(ctx context.Context, do func(*dag.Graph) error) error {
	err := l.opts.Graph.Store.Update(context.WithoutCancel(ctx), do)
	if err == nil {
		l.signal.wake()
	}
	return err
}

func (l *lane) emit(kind event.Type, reason string) {
	t := l.claim.Task
	l.bus.emit(event.Event{Type: kind, Task: t.ID, Title: t.Title, Attempt: l.claim.Attempt, Reason: reason, Merge: &event.Merge{
		N: l.entry.N, Target: l.opts.Landing.Target, Onto: l.entry.Onto, Commit: l.entry.Candidate,
	}})
}
