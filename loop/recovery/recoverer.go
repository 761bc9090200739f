package recovery

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"ralph/dag"
	"ralph/internal/event"
	"ralph/internal/git"
	"ralph/internal/human"
	"ralph/internal/inbox"
	"ralph/internal/plain"
	"ralph/internal/provenance"
	"ralph/internal/seq"
	"ralph/internal/testing/failpoint"
	"ralph/journal"
	"ralph/loop/land"
)

// Recoverer reclaims the tasks of dead runs. Store, Life and Now are needed.
type Recoverer struct {
	Store *dag.Store
	Life  func(dag.Process) dag.Life
	Sweep func(owner string) (killed int, err error) // kills what a dead run left running; nil does nothing
	Count func(owner string) (int, error)            // counts them; nil counts none
	Rules Rules
	Now   func() time.Time

	Dir string // the project

	// Parallel finds where agents work side by side; it is asked only if some did. Nil finds nothing.
	Parallel func(context.Context) (land.Site, error)
	// Complete stores that a task is done, whose attempt died when its work had landed. Needed with Parallel.
	Complete func(*dag.Graph, dag.Task, dag.Merge, dag.Attempt) error

	// Calls finds the tool calls that cannot be repeated without a thought: those that an attempt began, and those of
	// them that were under way when it died. Nil finds none.
	Calls  func(dag.Attempt) (began []string, cut []inbox.Cut, err error)
	Expire time.Duration    // of what is asked about them; 0 means never
	Trust  provenance.Store // has the seals of what is asked

	LandsOnly bool   // nothing is done again: finished work that is gone stays what it is, and cannot land
	Adopts    string // the owner of a run that this process goes on with; "" for none
}

// found is what a look at the graph shows of dead runs.
type found struct {
	runs    []dag.Run
	tasks   []stale
	gone    map[string]string // attempts whose tasks people took away, and their owners
	landing []dag.Merge       // what was landing, of tasks that were taken away
	at      land.Site         // zero if no agent ever worked in a slot
}

// stale is a task that a dead run holds.
type stale struct {
	dag.Task
	run   dag.Run
	last  dag.Attempt
	entry dag.Merge // zero unless it was landing

	accepted bool // a person accepted the work that it was to check
}

// Recover kills what is left of dead runs, then reclaims their tasks: fencing protects
// the database, not the files. Two processes may do so at once, and any of them may die
// on the way: each task is reclaimed once.
func (r Recoverer) Recover(ctx context.Context) (Recovery, error) {
	f, err := r.find(ctx)
	if err != nil {
		return Recovery{}, err
	}
	var rec Recovery
	if rec.Orphans, err = f.each(r.Sweep); err != nil {
		return rec, err
	}
	failpoint.Hit("in-recovery")
	for _, m := range f.landing {
		if err := f.at.Settle(ctx, r.Store, m); err != nil {
			return rec, err
		}
	}
	for _, t := range f.tasks {
		task, err := r.take(ctx, t, f.at)
		if errors.Is(err, dag.ErrLost) {
			continue // another process was faster
		}
		if err != nil {
			return rec, err
		}
		failpoint.Hit("in-recovery")
		rec.Tasks = append(rec.Tasks, task)
	}
	if err := r.closeDeadRuns(ctx, f, &rec); err != nil || f.at.Repo == nil {
		return rec, err
	}
	if !r.LandsOnly {
		gone, err := f.at.Reopen(ctx, r.Store)
		for _, m := range gone {
			rec.Tasks = append(rec.Tasks, Reclaimed{Task: m.Task, Title: m.Title, Attempt: m.Attempt, Action: Released, Reason: m.Reason})
		}
		if err != nil {
			return rec, err
		}
	}
	return rec, f.at.Clean(ctx, r.Store, "")
}

// Preview says what Recover would do, and does nothing. It does not look at
// uncommitted work.
func (r Recoverer) Preview(ctx context.Context) (Recovery, error) {
	f, err := r.find(ctx)
	if err != nil {
		return Recovery{}, err
	}
	var rec Recovery
	if rec.Orphans, err = f.each(r.Count); err != nil {
		return rec, err
	}
	for _, run := range f.runs {
		rec.Runs = append(rec.Runs, run.ID)
	}
	for _, t := range f.tasks {
		landed, err := f.at.Has(ctx, t.entry)
		if err != nil {
			return rec, err
		}
		task, _ := r.decide(t, landed)
		rec.Tasks = append(rec.Tasks, task)
	}
	return rec, nil
}

func (r Recoverer) find(ctx context.Context) (found, error) {
	f, parallel := found{gone: map[string]string{}}, false
	err := r.Store.View(ctx, func(g *dag.Graph) error {
		tasks, err := g.Queue.Stale(r.Life)
		if err != nil {
			return err
		}
		finished, err := r.finished(g)
		if err != nil {
			return err
		}
		for _, t := range append(tasks, finished...) {
			run, _ := g.History.Owner(t.Owner) // the first error of the database is that of the transaction
			last, _ := lastAttempt(g, t)
			accepted, _ := g.Queue.AcceptedWork(t)
			f.tasks = append(f.tasks, stale{Task: t, run: run, last: last, accepted: accepted})
		}
		if err := r.leaving(g, &f); err != nil {
			return err
		}
		if err := r.unlanded(g, &f); err != nil {
			return err
		}
		parallel = g.Queue.UsesSlots() || f.inSlots()
		open, err := g.History.OpenRuns()
		f.runs = slices.DeleteFunc(open, func(run dag.Run) bool { return !r.Dead(run) })
		return err
	})
	if err == nil && parallel && r.Parallel != nil {
		f.at, err = r.Parallel(ctx)
		// Without a repository nothing can have landed in it, and nothing be kept. One that git
		// cannot open now may have both; only if nobody asks, that need not be known.
		if git.Top(r.Dir) == "" || !f.inSlots() {
			err = nil
		}
	}
	return f, err
}

// finished are the tasks of a run that this process goes on with whose work was delivered before: they are taken back as those of
// a dead run, and only land. The others are still made elsewhere.
func (r Recoverer) finished(g *dag.Graph) (tasks []dag.Task, err error) {
	if r.Adopts == "" {
		return nil, nil
	}
	claims, err := g.Queue.Owned(dag.Run{Owner: r.Adopts})
	for _, c := range claims {
		if at, aerr := g.History.Attempt(c.Attempt); aerr == nil && (Finished(at) || c.Task.Unverified != "") {
			tasks = append(tasks, c.Task)
		}
	}
	return tasks, err
}

// inSlots says that dead runs left something in slots, or landing.
func (f found) inSlots() bool {
	return len(f.landing) > 0 || slices.ContainsFunc(f.tasks, func(t stale) bool { return t.last.Slot > 0 || t.entry.N > 0 })
}

// silence is how long a run without a heartbeat counts as alive if its process is out of sight.
const silence = 2 * time.Minute

// leaving finds tasks that wait for the agent of a dead run to go.
func (r Recoverer) leaving(g *dag.Graph, f *found) error {
	leaving, err := g.Queue.Leaving()
	for attempt, owner := range leaving {
		run, err := g.History.Owner(owner)
		if err != nil {
			return err
		}
		if r.over(run) || owner == r.Adopts {
			f.gone[attempt] = owner
		}
	}
	return err
}

// over says that nothing of a run is at work any more.
func (r Recoverer) over(run dag.Run) bool { return !run.EndedAt.IsZero() || r.gone(run, silence) }

func (r Recoverer) gone(run dag.Run, silence time.Duration) bool {
	known := r.Life(run.Process)
	return known == dag.Dead || known == dag.Unknown && r.Now().Sub(run.Heartbeat) > silence
}

// unlanded finds what was landing when its run died, or when its run lost the task: nobody else says
// what became of it.
func (r Recoverer) unlanded(g *dag.Graph, f *found) error {
	landing, err := g.Queue.MergesIn(dag.MergeLanding)
	for _, m := range landing {
		if i := slices.IndexFunc(f.tasks, func(t stale) bool { return t.last.ID == m.Attempt }); i >= 0 {
			f.tasks[i].entry = m
			continue
		}
		a, _ := g.History.Attempt(m.Attempt)
		run, err := g.History.RunOf(m.Attempt)
		if err != nil {
			return err
		}
		if !a.EndedAt.IsZero() || r.over(run) {
			f.landing = append(f.landing, m)
		}
	}
	return err
}

// Dead reports whether a run will not come back. Where nobody can look, only a very long
// silence says so: its claims are given up sooner, by their leases.
func (r Recoverer) Dead(run dag.Run) bool { return r.gone(run, max(r.Rules.MaxAge, 24*time.Hour)) }

// each calls do for every owner that is dead, and adds up what it found.
func (f found) each(do func(owner string) (int, error)) (int, error) {
	if do == nil {
		return 0, nil
	}
	owners := slices.Collect(maps.Values(f.gone))
	for _, run := range f.runs {
		owners = append(owners, run.Owner)
	}
	for _, t := range f.tasks {
		owners = append(owners, t.Owner)
	}
	slices.Sort(owners)
	total := 0
	for _, owner := range slices.Compact(owners) {
		n, err := do(owner)
		total += n
		if err != nil {
			return total, fmt.Errorf("end what the run of %s left running: %w", owner, err)
		}
	}
	return total, nil
}

// decide says what becomes of a task, without doing it.
func (r Recoverer) decide(t stale, landed bool) (Reclaimed, dag.ReclaimOptions) {
	seen := slices.MaxFunc([]time.Time{t.run.Heartbeat, t.last.StartedAt, t.last.Heartbeat}, time.Time.Compare)
	action, how := r.Rules.decide(t.Task, t.last, t.accepted, seen, r.Now())
	if landed {
		action, how.Reason = Landed, "its run died after its work had landed; done"
	}
	return Reclaimed{
		Task: t.ID, Title: t.Title, Run: t.run.ID, Attempt: t.last.ID, Phase: t.last.Phase, Action: action, Reason: how.Reason,
	}, how
}

func lastAttempt(g *dag.Graph, t dag.Task) (dag.Attempt, error) {
	attempts, err := g.History.Attempts(t)
	if err != nil || len(attempts) == 0 {
		return dag.Attempt{}, err
	}
	return attempts[len(attempts)-1], nil
}

// take reclaims one task, or completes it if its work has landed: all that its run had left to do was to store
// that. Only the rest of it is in the transaction, because git may take long. Two who do so are kept apart before:
// once the task is released, somebody else may be at work in its slot.
func (r Recoverer) take(ctx context.Context, t stale, at land.Site) (task Reclaimed, err error) {
	alone, err := at.Lock(ctx, t.last)
	if err != nil {
		return task, err
	}
	defer alone.Close()
	if err := r.Store.View(ctx, func(g *dag.Graph) error { return g.Queue.Holds(t.Claim()) }); err != nil {
		return task, err
	}
	landed, why, err := at.Unfinish(ctx, t.entry)
	if err != nil {
		return task, err
	}
	slot, kerr := at.Keep(ctx, t.Task, t.last, Finished(t.last), r.Rules.OnDirty == Stash)
	if t.last.Slot == 0 && t.last.Tree != "" && t.run.Process.Remote == "" { // an older ralph's agent worked in the project's own folder
		slot.Files = slices.DeleteFunc(git.Look(ctx, r.Dir).Uncommitted, func(name string) bool { return git.Within(name, []string{".ralph"}) })
	}
	calls := r.calls(t.last)
	err = r.Store.Update(ctx, func(g *dag.Graph) error {
		if err := g.Queue.Holds(t.Claim()); err != nil {
			return err
		}
		if landed {
			task, _ = r.decide(t, true)
			task.Reason += why
			return r.Complete(g, t.Task, t.entry, t.last)
		}
		if t.entry.N > 0 {
			if err := g.Queue.Drop(t.Claim(), t.entry.N, why); err != nil && !errors.Is(err, dag.ErrRefused) {
				return err
			}
		}
		if kerr != nil {
			return kerr
		}
		task, err = r.reclaim(g, t, slot, calls)
		failpoint.Hit("in-recovery")
		return err
	})
	return task, err
}

// reclaim makes one task available again, in the caller's transaction.
func (r Recoverer) reclaim(g *dag.Graph, t stale, slot land.Kept, c calls) (Reclaimed, error) {
	task, how := r.decide(t, false)
	review, err := g.Plan.Review(t.Task)
	if err != nil {
		return task, err
	}
	if slot.Lost && how.Unverified == t.last.ID && review == nil { // what a review found is not in its slot
		task.Action, how.Unverified = Released, ""
		how.Reason = "its run died " + during(t.last.Phase) + ", and its slot is gone; released"
	}
	if how.Unverified == "" && !how.Fail { // finished work is about to be verified
		note, fail := r.Rules.dirty(slot)
		if how.Reason += note; fail {
			task.Action, how.Fail, how.Counted = Failed, true, true
			how.Reason = fmt.Sprintf("its run died %s and %s", during(t.last.Phase), note)
		}
	}
	how.Reason += slot.Note + c.note
	anew := how.Unverified == "" && !how.Fail && review == nil // an agent does it again
	if anew && len(c.cut) > 0 {
		how.Reason += "; under way were " + human.Few(seq.Map(c.cut, func(c inbox.Cut) string { return plain.Brief(c.Text) }))
	}
	task.Reason = how.Reason
	if err := Reclaim(g, t.Task, how, r.Now()); err != nil || !anew {
		return task, err
	}
	task.Asked, err = r.record(g, t.last, c)
	return task, err
}

// calls are what an attempt did that cannot be repeated without a thought.
type calls struct {
	began []string
	cut   []inbox.Cut
	note  string // for people
}

// maxCut is how many calls of one attempt are asked about.
const maxCut = 10

func (r Recoverer) calls(last dag.Attempt) (c calls) {
	if r.Calls == nil || last.Transcript == "" || Finished(last) {
		return c
	}
	var err error
	if c.began, c.cut, err = r.Calls(last); err != nil { // it must not keep everybody from working
		c.note = "; what was under way could not be read: " + err.Error()
	}
	if more := len(c.cut) - maxCut; more > 0 {
		c.cut = append(c.cut[:maxCut:maxCut], inbox.Cut{Text: "and " + human.Count(more, "other call")})
	}
	return c
}

// record has somebody told of the calls, in the transaction that gives the task back: once, whoever dies when.
func (r Recoverer) record(g *dag.Graph, last dag.Attempt, c calls) (asked []inbox.Request, err error) {
	if err := inbox.Repeated(g, last, c.began); err != nil {
		return nil, err
	}
	var expires time.Time
	if r.Expire > 0 {
		expires = r.Now().Add(r.Expire)
	}
	for _, cut := range c.cut {
		said, err := inbox.CutOff(g, r.Trust, last, cut, expires)
		if err != nil {
			return nil, err
		}
		if said.Parks {
			asked = append(asked, said)
		}
	}
	return asked, nil
}

// ResetStale makes every task whose run died pending as if it had never run, after ending the
// processes of that run: they must not keep working on it.
func ResetStale(g *dag.Graph, life func(dag.Process) dag.Life, sweep func(owner string) (int, error), now time.Time) (int, error) {
	stale, err := g.Queue.Stale(life)
	for _, t := range stale {
		if _, err := sweep(t.Owner); err != nil {
			return 0, fmt.Errorf("end the processes of the run of %s: %w", t.ID, err)
		}
		err := Reclaim(g, t, dag.ReclaimOptions{Reason: "its run died; reset by hand"}, now)
		if err == nil {
			err = g.Tasks.Reset(t.ID)
		}
		if err != nil && !errors.Is(err, dag.ErrNotFound) { // a revert is gone by now
			return 0, fmt.Errorf("reset %s: %w", t.ID, err)
		}
	}
	return len(stale), err
}

// Reclaim makes the task of a dead run available again and adds the interrupted iteration
// to the journal.
func Reclaim(g *dag.Graph, t dag.Task, how dag.ReclaimOptions, now time.Time) error {
	last, err := lastAttempt(g, t)
	if err != nil {
		return err
	}
	if err := g.Queue.Reclaim(t, how); err != nil || last.ID == "" {
		return err
	}
	e := entry(t, last, now)
	e.Outcome, e.Reason = event.AttemptInterrupted, how.Reason
	return journal.Add(g.Tx(), e)
}

// entry is what the journal has about any attempt.
func entry(t dag.Task, a dag.Attempt, now time.Time) journal.Entry {
	return journal.Entry{
		At: now, Run: a.Run, Attempt: a.ID, Iteration: a.Iteration, Task: t.ID, Feature: t.Feature, Title: t.Title,
		Agent: a.Agent, Model: a.Model, ModelEffective: a.ModelEffective, Duration: now.Sub(a.StartedAt), Usage: a.Usage, Files: a.Files,
	}
}

// closeDeadRuns ends the records of the dead runs and adds the summary to the journal,
// unless there is nothing to report.
func (r Recoverer) closeDeadRuns(ctx context.Context, f found, rec *Recovery) error {
	if len(f.runs)+len(f.gone) == 0 && rec.Empty() {
		return nil
	}
	return r.Store.Update(ctx, func(g *dag.Graph) error {
		for attempt := range f.gone {
			_ = g.Queue.Left(attempt) // the first error of the database is that of the transaction
		}
		for _, run := range f.runs {
			if ended, _ := g.Queue.Died(run.ID, "its process is gone"); ended {
				rec.Runs = append(rec.Runs, run.ID)
			}
		}
		if rec.Empty() {
			return nil
		}
		of := ""
		switch {
		case len(rec.Runs) > 0:
			of = rec.Runs[0]
		case len(rec.Tasks) > 0:
			of = rec.Tasks[0].Run
		}
		return journal.Add(g.Tx(), journal.Entry{At: r.Now(), Run: of, Title: "recovery", Outcome: event.AttemptInterrupted, Reason: rec.Summary().String()})
	})
}
