package land

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"ralph/dag"
	"ralph/internal/event"
	"ralph/internal/git"
	"ralph/internal/human"
	"ralph/internal/merge"
	"ralph/internal/plain"
	"ralph/internal/risk"
	"ralph/internal/seq"
	"ralph/internal/testing/failpoint"
	"ralph/internal/wake"
	"ralph/prompt"
)

// Credit is who did the work, and what they noted about it.
type Credit struct {
	Agent, Model, Note string
	Script             bool // it cannot resolve a conflict: it does its work again instead
}

// Candidate is work as it would be on the target.
type Candidate struct {
	Entry        int64         // in the queue; 0 where there is none
	Onto, Commit string        // what is below it; the commit that would land
	Trees        [2]string     // of these two, in the project's folder
	Patch        string        // what it changes, as an ID
	Accepted     bool          // by a person: no verdict is needed
	Lost         []Loss        // what landed and is not in it after conflicts were resolved
	Unfit        string        // why gates may have seen other dependencies than it needs
	Resolved     string        // the commit of the work before its first conflict that was resolved; empty if it had none
	Refs         []Ref         // what it makes besides
	Conflict     prompt.Merged // with files in it: Commit is the work as it was, and cannot land
}

// Loss is something that landed while the work was done and is not in it.
type Loss struct {
	Text   string
	Marked bool // it was between conflict markers: whoever resolved them may say why
}

// Judge looks at a candidate.
type Judge func(Candidate) Verdict

// Verdict is what became of that.
type Verdict struct {
	Over          bool       // it was cut short: nothing counts
	Passed        bool       // it may land, or wait for a person
	BaseForOthers bool       // and each gate could say so: other tasks may begin on it while it waits
	Seen          risk.Facts // of work that passed
}

// Outcome is what became of work that passed.
type Outcome string

// What may become of it.
const (
	Landed Outcome = "landed"
	Held   Outcome = "held"   // it waits for a person
	Behind Outcome = "behind" // it waits until what it stands on has landed
	Moved  Outcome = "moved"  // the target has: it is to be submitted again
)

// Submit enters what is in the slot into the queue, and has it judged as it will be on the target, until the verdict counts: what is
// below it may go meanwhile. Work that does not pass, or conflicts, has left the queue then. It is what the slot shows, as it
// would have landed, or with its conflicts.
func (l *Lane) Submit(ctx context.Context, by Credit, judge Judge) (c Candidate, err error) {
	if l.entry.N == 0 {
		if left := l.slot.Unresolved(ctx); len(left) > 0 {
			c.Commit = l.work
			c.Conflict, err = l.since(ctx, l.below, l.slot.Base(), left)
			return c, err
		}
		if err := l.enter(ctx, by); err != nil {
			return c, err
		}
	}
	for {
		do, err := l.next(ctx)
		if err != nil {
			return c, err
		}
		switch do {
		case merge.DoTest:
			if c, err = l.candidate(ctx); err != nil {
				return c, err
			}
			v := judge(c)
			if v.Over {
				return c, nil
			}
			if err := l.tested(ctx, v); err != nil {
				return c, err
			}
		case merge.DoResolve:
			c = Candidate{Commit: l.work}
			c.Conflict, err = l.resolve(ctx, by.Script)
			return c, err
		case merge.DoReject:
			return c, l.giveBack(ctx, "it did not pass")
		case merge.DoLand:
			return c, nil
		}
	}
}

// enter keeps the work and puts it at the end of the queue.
func (l *Lane) enter(ctx context.Context, by Credit) error {
	m, err := l.finish(ctx)
	if err != nil {
		return err
	}
	m.Refs = append(m.Refs, takenBack(l.claim)...)
	if l.lost, err = l.dropped(ctx, m.Base, m.Work); err != nil {
		return err
	}
	body := by.Note
	if len(l.said) > 0 {
		body = strings.Join(l.said, "\n\n")
	}
	t := l.claim.Task
	l.message = merge.Message{Title: t.Title, Body: l.Redact.Text(body), Task: t.ID, Attempt: l.claim.Attempt, Patch: m.Patch, Agent: by.Agent, Model: by.Model}
	err = l.update(ctx, func(g *dag.Graph) (err error) {
		l.entry, err = g.Queue.Enter(l.claim, dag.NewMerge{Target: l.Target, Base: m.Base, Work: m.Work, Patch: m.Patch, Refs: m.Refs})
		return err
	})
	l.state = merge.Building
	if err == nil {
		l.emit(event.MergeQueued, "")
	}
	return err
}

// dropped compares work in which conflicts were resolved with what landed. What cannot be compared is for a person to look at.
func (l *Lane) dropped(ctx context.Context, onto, work string) (lost []Loss, err error) {
	before := l.slot.Resolves()
	if before == "" {
		return nil, nil
	}
	drops, err := merge.Dropped(ctx, l.Repo, before, onto, work)
	if err != nil && ctx.Err() == nil {
		return []Loss{{Text: "what the resolution of its conflicts dropped is unknown: " + err.Error()}}, nil
	}
	trees := git.Trees{Sub: l.Slots.Sub()}
	for _, d := range drops {
		landed, err := merge.Log(ctx, l.Repo, before+"^", onto, d.File)
		if err != nil {
			return nil, err
		}
		by := cmp.Or(human.List(seq.Map(landed, merge.Commit.String), 3), "others")
		what := "all of it: it is compared as a whole"
		if len(d.Lines) > 0 {
			what = human.List(seq.Map(d.Lines, func(line string) string { return strconv.Quote(plain.Brief(line)) }), 3)
		}
		lost = append(lost, Loss{Text: trees.Seen(d.File) + " lacks what " + by + " landed in it: " + what, Marked: d.Marked})
	}
	return lost, err
}

// next does what the policy says as far as it concerns the queue alone: it waits or builds.
func (l *Lane) next(ctx context.Context) (merge.Action, error) {
	changed := l.Signal.Changed()
	queue, err := l.queue(ctx)
	if err != nil {
		return "", err
	}
	tip, err := l.end(ctx)
	if err != nil {
		return "", err
	}
	var ahead []merge.Entry
	for _, m := range queue {
		if m.N < l.entry.N && l.on == "" { // others do not land below held work
			ahead = append(ahead, l.item(m, stateOf(m)))
		}
	}
	me := l.item(l.entry, l.state)
	me.Aside = me.Aside || l.on != ""
	step := merge.Next(me, tip, ahead, l.window())
	switch step.Do {
	case merge.DoWait:
		err = l.wait(ctx, changed, 1)
	case merge.DoBuild:
		err = l.build(ctx, step.Onto)
	case merge.DoResolve:
		if !l.resolving.take(l.claim.Attempt, l.files...) {
			return merge.DoWait, l.wait(ctx, changed, 1)
		}
		if now, err := l.end(ctx); now != tip { // who had them before has landed
			return merge.DoWait, err
		}
	}
	return step.Do, err
}

// item is what the policy knows of an entry.
func (l *Lane) item(m dag.Merge, s merge.State) merge.Entry {
	return merge.Entry{Onto: m.Onto, Candidate: m.Candidate, State: s, Aside: l.aside(m) || m.StandsOn != "" && m.N != l.entry.N}
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

// window is how many candidates are tested at once.
func (l *Lane) window() int {
	if l.Window > 0 {
		return l.Window
	}
	wall, cpu := l.Demand()
	return merge.Window(runtime.GOMAXPROCS(0), wall, cpu)
}

func (l *Lane) queue(ctx context.Context) (queue []dag.Merge, err error) {
	err = l.Store.View(ctx, func(g *dag.Graph) error { queue, err = g.Queue.OpenMerges(l.Target); return err })
	return queue, err
}

// wait waits until something changes that this process knows of, or for so many polls: other runs
// change the queue, too. If nothing has changed here, and attempts of other runs are in it, what dead
// runs left is taken back: nobody could land after them.
func (l *Lane) wait(ctx context.Context, changed <-chan struct{}, polls int) error {
	wake.Pause(ctx, changed, l.Now().Add(time.Duration(polls)*l.Poll), l.Now, l.Poll)
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-changed:
		return nil
	default:
	}
	queue, err := l.queue(ctx)
	if err == nil && slices.ContainsFunc(queue, func(m dag.Merge) bool { return !l.Own(m.Attempt) }) {
		_, err = l.Reclaim(ctx)
	}
	return err
}

// build makes a candidate. Of one that conflicts nothing is to be built on.
func (l *Lane) build(ctx context.Context, onto string) error {
	built, err := merge.Build(ctx, l.Repo, onto, l.entry.Base, l.entry.Work, l.message.String())
	if err != nil {
		return err
	}
	rebuilt := l.entry.Onto != ""
	l.entry.Onto, l.entry.Candidate, l.files, l.state = onto, built.Candidate, built.Files, merge.Building
	if len(l.files) > 0 {
		l.state = merge.Conflict
		return l.update(ctx, func(g *dag.Graph) error { return g.Queue.Built(l.claim, l.entry.N, onto, onto) })
	}
	if rebuilt {
		l.emit(event.MergeRebuilt, "")
	}
	if err := merge.SetRefs(ctx, l.Repo, merge.Ref{Name: merge.CandidateRef(l.claim.Attempt), Commit: built.Candidate}); err != nil {
		return err
	}
	failpoint.Hit("after-candidate")
	return l.update(ctx, func(g *dag.Graph) error { return g.Queue.Built(l.claim, l.entry.N, onto, built.Candidate) })
}

// candidate is the entry as it is judged.
func (l *Lane) candidate(ctx context.Context) (Candidate, error) {
	l.state = merge.Testing
	c, err := l.Workspace.candidate(ctx)
	c.Entry, c.Lost = l.entry.N, slices.Clone(l.lost)
	if err == nil {
		var gone []git.Ref
		gone, err = l.slot.GoneRefs(ctx)
		for _, r := range gone {
			short := dag.MadeRef{Name: r.Name}.Short()
			kind, name, _ := strings.Cut(strings.TrimPrefix(short, "the "), " ")
			c.Lost = append(c.Lost, Loss{Text: fmt.Sprintf("%s was deleted or moved while the task was worked on; it was at %s; to have that back: git %s -f %s %[2]s", short, r.ID, kind, name)})
		}
	}
	if err == nil {
		c.Unfit, err = l.unfit(ctx, c.Onto, c.Commit)
	}
	if err == nil {
		c.Refs, err = l.judged(ctx, l.entry)
	}
	return c, err
}

// unfit says that work changes which dependencies are to be installed, where nothing installs them for gates.
func (l *Lane) unfit(ctx context.Context, onto, work string) (string, error) {
	if !l.slot.Depends() {
		return "", nil
	}
	out, err := l.Repo.Git(ctx, git.Call{}, "diff-tree", "-r", "-z", "--name-only", onto, work)
	trees := git.Trees{Sub: l.Slots.Sub()}
	locks := seq.Map(l.slot.Locks(git.Split(out)), trees.Seen)
	if err != nil || len(locks) == 0 {
		return "", err
	}
	return "it changes " + human.Few(locks) + ", and gates saw the dependencies of your folder, which may not fit; install what it names and accept it, or set [parallel] setup", nil
}

// tested stores what judging the candidate showed.
func (l *Lane) tested(ctx context.Context, v Verdict) error {
	if l.state = merge.Red; !v.Passed {
		return l.update(ctx, func(g *dag.Graph) error { return g.Queue.Built(l.claim, l.entry.N, l.entry.Onto, l.entry.Onto) }) // nothing of it is to be built on
	}
	l.state = merge.Green
	score, rated := l.rate(ctx, v.Seen)
	return l.update(ctx, func(g *dag.Graph) error {
		if rated {
			if err := g.Queue.Rate(l.claim, l.entry.N, score); err != nil {
				return err
			}
		}
		if v.BaseForOthers && v.Seen.Unseen == "" && !l.protected(v.Seen.Files) {
			if err := g.Queue.AllowOn(l.claim, l.entry.N); err != nil {
				return err
			}
		}
		stored, err := g.Queue.Merge(l.entry.N)
		l.entry.Rated, l.entry.Risk = stored.Rated, stored.Risk
		return errors.Join(err, g.Queue.Tested(l.claim, l.entry.N))
	})
}

// resolve takes the work out of the queue and shows its conflicts with the target. A script begins there
// again instead.
func (l *Lane) resolve(ctx context.Context, script bool) (prompt.Merged, error) {
	e := l.entry
	l.emit(event.MergeConflict, strings.Join(l.files, ", "))
	if err := l.leave(ctx, "it conflicts with the target"); err != nil {
		return prompt.Merged{}, err
	}
	if !script {
		return l.set(ctx, e.Onto, e.Base, e.Work, merge.Built{Files: l.files})
	}
	if err := l.slot.Show(ctx, e.Onto, e.Onto); err != nil {
		return prompt.Merged{}, err
	}
	return l.since(ctx, e.Base, e.Onto, l.files)
}

// giveBack takes work out of the queue and shows it in the slot as it would have landed.
func (l *Lane) giveBack(ctx context.Context, reason string) error {
	return errors.Join(l.slot.Show(ctx, l.entry.Onto, l.entry.Candidate), l.leave(ctx, reason))
}

// leave takes the work out of the queue.
func (l *Lane) leave(ctx context.Context, reason string) error {
	err := l.update(ctx, func(g *dag.Graph) error { return g.Queue.Drop(l.claim, l.entry.N, reason) })
	if err != nil {
		return err
	}
	l.emit(event.MergeDropped, reason)
	l.entry = dag.Merge{}
	return merge.SetRefs(ctx, l.Repo, merge.Ref{Name: merge.CandidateRef(l.claim.Attempt)})
}

// update changes the graph and tells who waits for the queue.
func (l *Lane) update(ctx context.Context, do func(*dag.Graph) error) error {
	err := l.Store.Update(context.WithoutCancel(ctx), do)
	if err == nil {
		l.Signal.Wake()
	}
	return err
}

func (l *Lane) emit(kind event.Type, reason string) {
	t := l.claim.Task
	l.Tell(event.Event{Type: kind, Task: t.ID, Title: t.Title, Attempt: l.claim.Attempt, Reason: reason, Merge: &event.Merge{
		N: l.entry.N, Target: l.Target, Onto: l.entry.Onto, Commit: l.entry.Candidate, Refs: l.entry.RefsText(),
	}})
}
