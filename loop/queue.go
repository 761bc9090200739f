package loop

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"ralph/dag"
	"ralph/event"
	"ralph/internal/git"
	"ralph/internal/human"
	"ralph/internal/plain"
	"ralph/internal/seq"
	"ralph/internal/slot"
	"ralph/internal/testing/failpoint"
	"ralph/internal/wake"
	"ralph/loop/attempt"
	"ralph/loop/policy"
	"ralph/merge"
	"ralph/risk"
	"ralph/verify"
)

func (l *lane) Candidate(ctx context.Context, by attempt.Credit) (c attempt.Candidate, err error) {
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
		switch {
		case err != nil:
			return c, err
		case do == merge.DoTest:
			c, err = l.candidate(ctx)
			c.Lost = l.lost
			return c, err
		case do == merge.DoResolve:
			c.Commit = l.work
			c.Conflict, err = l.resolve(ctx, by.Script)
			return c, err
		}
	}
}

func (l *lane) Show(ctx context.Context, commit string) (err error) {
	l.closeRoom()
	err = l.room.Show(ctx, l.slot.Base(), commit)
	if errors.As(err, new(*slot.SetupError)) || errors.Is(err, slot.ErrFull) { // no other work could be judged either
		return policy.Halted{Reason: err.Error()}
	}
	if err != nil {
		return err
	}
	l.gates, l.end, err = l.opts.Landing.Gates(l.room)
	return err
}

// closeRoom ends what was judged in the room last.
func (l *lane) closeRoom() {
	if l.end != nil {
		_ = l.end() // what is left goes with the sandbox
	}
	l.end = nil
}

func (l *lane) Room() (verify.Gates, []string) { return l.gates, l.room.Env() }

// copy makes the room look like the candidate with edits, until it ends.
func (l *lane) copy(ctx context.Context, _, _ string, edits []git.Edit) (verify.Gates, func() error, error) {
	commit, err := l.entry.Candidate, error(nil)
	trees := git.Trees{Sub: l.opts.Landing.Slots.Sub()}
	edits = slices.Clone(edits)
	for i := range edits {
		e := &edits[i]
		if e.Path = trees.Name(e.Path); e.From != "" {
			e.From = trees.Name(e.From)
		}
	}
	if len(edits) > 0 {
		commit, err = l.room.Edited(ctx, l.entry.Onto, commit, edits)
	}
	if err == nil {
		err = l.Show(ctx, commit)
	}
	if err == nil {
		err = git.Later(l.room.Top(), edits)
	}
	return l.gates, func() error { return l.Show(ctx, l.entry.Candidate) }, err
}

func (l *lane) Tested(ctx context.Context, green bool, seen risk.Facts) (again bool, err error) {
	score, rated := risk.Score{}, false
	if l.state = merge.Red; green {
		l.state = merge.Green
		score, rated = l.rate(ctx, seen)
	}
	err = l.update(ctx, func(g *dag.Graph) error {
		if !green {
			return g.Built(l.claim, l.entry.N, l.entry.Onto, l.entry.Onto) // nothing of it is to be built on
		}
		if rated {
			if err := g.Rate(l.claim, l.entry.N, score); err != nil {
				return err
			}
		}
		stored, err := g.Merge(l.entry.N)
		l.entry.Rated, l.entry.Risk = stored.Rated, stored.Risk
		return errors.Join(err, g.Tested(l.claim, l.entry.N))
	})
	if err != nil {
		return false, err
	}
	for {
		do, err := l.next(ctx)
		switch {
		case err != nil, do == merge.DoLand:
			return false, err
		case do == merge.DoReject:
			return false, l.giveBack(ctx, "it did not pass")
		case do == merge.DoTest, do == merge.DoResolve: // something else is below it now
			return true, nil
		}
	}
}

func (l *lane) Reviewed() bool { return !l.item(l.entry, l.state).Aside }

func (l *lane) Holds() bool { return true }

func (l *lane) Land(ctx context.Context) (again bool, err error) {
	e := l.entry
	if err := l.mergeBefore(ctx); err != nil {
		return false, err
	}
	if err := merge.Prove(ctx, l.opts.Landing.Repo, e.Base, e.Work, e.Onto, e.Candidate); err != nil {
		return false, err
	}
	for {
		changed := l.signal.Changed()
		err := l.update(ctx, func(g *dag.Graph) error { return g.Landing(l.claim, e.N, "") })
		if err == nil {
			failpoint.Hit("K19")
			return l.move(ctx)
		}
		if !errors.Is(err, dag.ErrLanding) {
			return false, err
		}
		if err := l.wait(ctx, changed, 1); err != nil {
			return false, err
		}
	}
}

// patience is how many polls there are at most between two looks at a checkout that is in the way: each
// costs as much as two git status.
const patience = 5

// move moves the target.
func (l *lane) move(ctx context.Context) (again bool, err error) {
	to, e, said := l.opts.Landing, l.entry, ""
	for polls := 1; ; polls = min(polls+1, patience) {
		changed := l.signal.Changed()
		waits, err := merge.Land(ctx, to.Repo, to.Target, e.Onto, e.Candidate)
		if err == nil {
			failpoint.Hit("K22")
			l.hasLanded(to.Waits(waits))
			return false, nil
		}
		reason := strings.TrimPrefix(err.Error(), "land on "+to.Target+": ")
		switch {
		case errors.Is(err, merge.ErrMoved): // it has not landed, and others may
			return true, l.update(ctx, func(g *dag.Graph) error { return g.Built(l.claim, e.N, e.Onto, e.Onto) })
		case !errors.Is(err, merge.ErrLocked):
			if errors.Is(err, fs.ErrPermission) { // nobody else's work could land either
				err = policy.Halted{Reason: "nothing can land on " + human.Branch(to.Target) + ": " + reason}
			}
			if err = l.withdraw(ctx, err, reason); err == nil {
				l.bus.warn(l.claim.Task.ID, reason)
			}
			return false, err
		case said != reason && polls > 1: // most locks are gone in a moment
			said = reason
			if err := l.update(ctx, func(g *dag.Graph) error { return g.Landing(l.claim, e.N, said) }); err != nil {
				return false, err
			}
			l.emit(event.MergeWaiting, said)
			changed = l.signal.Changed() // we woke ourselves
		}
		if err := l.wait(ctx, changed, polls); err != nil {
			return false, l.withdraw(ctx, err, "the run ended before it could land")
		}
	}
}

// hasLanded tells that the work has landed, on the branch or beyond it.
func (l *lane) hasLanded(waits *event.Waits) {
	l.lander.Moved(l.entry.Candidate, waits)
	reason := ""
	if waits != nil {
		reason = waits.Reason
	}
	l.emit(event.MergeLanded, reason)
	if err := l.room.Trust(); err != nil { // then it is cleaned, which only takes time
		l.bus.warnOnce("room", "a room of work that landed is cleaned: "+err.Error())
	}
}

// withdraw takes work out of the queue that was landing, and returns why, unless it has landed after all: git may
// have moved the target and failed then. If even that cannot be known, the entry stays for recovery.
func (l *lane) withdraw(ctx context.Context, cause error, reason string) error {
	to, e, ctx := l.opts.Landing, l.entry, context.WithoutCancel(ctx)
	left, err := merge.Unfinish(ctx, to.Repo, to.Target, e.Onto, e.Candidate)
	switch {
	case err != nil:
		return errors.Join(cause, err)
	case left.Landed:
		l.emit(event.MergeLanded, "")
		return nil
	}
	return errors.Join(cause, l.giveBack(ctx, reason))
}

// enter keeps the work and puts it at the end of the queue.
func (l *lane) enter(ctx context.Context, by attempt.Credit) error {
	if err := l.hear(ctx); err != nil {
		return err
	}
	work, left, err := l.keep(ctx)
	if err != nil {
		return err
	}
	if len(left) > 0 {
		return policy.Unlandable{Reason: strings.Join(left, "; ")}
	}
	failpoint.Hit("K17")
	base := l.slot.Base()
	patch, err := merge.Patch(ctx, l.opts.Landing.Repo, base, work)
	if err != nil {
		return err
	}
	if l.lost, err = l.dropped(ctx, base, work); err != nil {
		return err
	}
	body := by.Note
	if len(l.said) > 0 {
		body = strings.Join(l.said, "\n\n")
	}
	t := l.claim.Task
	l.message = merge.Message{Title: t.Title, Body: l.opts.Host.Redact.Text(body), Task: t.ID, Attempt: l.claim.Attempt, Patch: patch, Agent: by.Agent, Model: by.Model}
	err = l.update(ctx, func(g *dag.Graph) (err error) {
		l.entry, err = g.Enter(l.claim, dag.NewMerge{Target: l.opts.Landing.Target, Base: base, Work: work, Patch: patch})
		return err
	})
	l.state = merge.Building
	if err == nil {
		l.emit(event.MergeQueued, "")
	}
	return err
}

// dropped compares work in which conflicts were resolved with what landed. What cannot be compared is for a person to look at.
func (l *lane) dropped(ctx context.Context, onto, work string) (lost []attempt.Loss, err error) {
	before, repo := l.slot.Resolves(), l.opts.Landing.Repo
	if before == "" {
		return nil, nil
	}
	drops, err := merge.Dropped(ctx, repo, before, onto, work)
	if err != nil && ctx.Err() == nil {
		return []attempt.Loss{{Text: "what the resolution of its conflicts dropped is unknown: " + err.Error()}}, nil
	}
	trees := git.Trees{Sub: l.opts.Landing.Slots.Sub()}
	for _, d := range drops {
		landed, err := merge.Log(ctx, repo, before+"^", onto, d.File)
		if err != nil {
			return nil, err
		}
		by := cmp.Or(human.List(seq.Map(landed, merge.Commit.String), 3), "others")
		what := "all of it: it is compared as a whole"
		if len(d.Lines) > 0 {
			what = human.List(seq.Map(d.Lines, func(line string) string { return strconv.Quote(plain.Cut(strings.TrimSpace(line), maxLine)) }), 3)
		}
		lost = append(lost, attempt.Loss{Text: trees.Seen(d.File) + " lacks what " + by + " landed in it: " + what, Marked: d.Marked})
	}
	return lost, err
}

// maxLine is how much of a line names what is missing.
const maxLine = 100

// leave takes the work out of the queue.
func (l *lane) leave(ctx context.Context, reason string) error {
	err := l.update(ctx, func(g *dag.Graph) error { return g.Drop(l.claim, l.entry.N, reason) })
	if err != nil {
		return err
	}
	l.emit(event.MergeDropped, reason)
	gone := merge.Ref{Name: merge.CandidateRef(l.claim.Attempt)}
	l.entry = dag.Merge{}
	return merge.SetRefs(ctx, l.opts.Landing.Repo, gone)
}

// giveBack takes work out of the queue and shows it in the slot as it would have landed.
func (l *lane) giveBack(ctx context.Context, reason string) error {
	return errors.Join(l.slot.Show(ctx, l.entry.Onto, l.entry.Candidate), l.leave(ctx, reason))
}

// next does what the policy says as far as it concerns the queue alone: it waits or builds.
func (l *lane) next(ctx context.Context) (merge.Action, error) {
	changed := l.signal.Changed()
	queue, err := l.queue(ctx)
	if err != nil {
		return "", err
	}
	tip, err := l.lander.Tip(ctx)
	if err != nil {
		return "", err
	}
	var ahead []merge.Entry
	for _, m := range queue {
		if m.N < l.entry.N {
			ahead = append(ahead, l.item(m, stateOf(m)))
		}
	}
	step := merge.Next(l.item(l.entry, l.state), tip, ahead, l.window())
	switch step.Do {
	case merge.DoWait:
		err = l.wait(ctx, changed, 1)
	case merge.DoBuild:
		err = l.build(ctx, step.Onto)
	case merge.DoResolve:
		if !l.resolving.take(l.claim.Attempt, l.files...) {
			return merge.DoWait, l.wait(ctx, changed, 1)
		}
		if now, err := l.lander.Tip(ctx); now != tip { // who had them before has landed
			return merge.DoWait, err
		}
	}
	return step.Do, err
}

// item is what the policy knows of an entry.
func (l *lane) item(m dag.Merge, s merge.State) merge.Entry {
	return merge.Entry{Onto: m.Onto, Candidate: m.Candidate, State: s, Aside: aside(l.opts.Landing, m)}
}

// window is how many candidates are tested at once.
func (l *lane) window() int {
	if n := l.opts.Landing.Window; n > 0 {
		return n
	}
	wall, cpu := l.worker.Demand.Last()
	return merge.Window(runtime.GOMAXPROCS(0), wall, cpu)
}

func (l *lane) queue(ctx context.Context) (queue []dag.Merge, err error) {
	err = l.opts.Graph.Store.View(ctx, func(g *dag.Graph) error { queue, err = g.Queue(l.opts.Landing.Target); return err })
	return queue, err
}

// wait waits until something changes that this process knows of, or for so many polls: other runs
// change the queue, too. If nothing has changed here, and attempts of other runs are in it, what dead
// runs left is taken back: nobody could land after them.
func (l *lane) wait(ctx context.Context, changed <-chan struct{}, polls int) error {
	poll, now := l.opts.Workers.Poll, l.opts.Host.Now
	wake.Pause(ctx, changed, now().Add(time.Duration(polls)*poll), now, poll)
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

// build makes a candidate. Of one that conflicts nothing is to be built on.
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
		return l.update(ctx, func(g *dag.Graph) error { return g.Built(l.claim, l.entry.N, onto, onto) })
	}
	if rebuilt {
		l.emit(event.MergeRebuilt, "")
	}
	if err := merge.SetRefs(ctx, repo, merge.Ref{Name: merge.CandidateRef(l.claim.Attempt), Commit: built.Candidate}); err != nil {
		return err
	}
	failpoint.Hit("K18")
	return l.update(ctx, func(g *dag.Graph) error { return g.Built(l.claim, l.entry.N, onto, built.Candidate) })
}

// candidate is the entry as it is judged.
func (l *lane) candidate(ctx context.Context) (c attempt.Candidate, err error) {
	l.state = merge.Testing
	if err := l.room.Begin(); err != nil {
		return c, err
	}
	c = attempt.Candidate{Onto: l.entry.Onto, Commit: l.entry.Candidate, Patch: l.entry.Patch, Accepted: l.entry.Accepted}
	for i, commit := range []string{c.Onto, c.Commit} {
		if c.Trees[i], err = l.opts.Landing.Repo.Tree(ctx, commit); err != nil {
			return c, err
		}
	}
	return c, nil
}

// update changes the graph and tells who waits for the queue.
func (l *lane) update(ctx context.Context, do func(*dag.Graph) error) error {
	err := l.opts.Graph.Store.Update(context.WithoutCancel(ctx), do)
	if err == nil {
		l.signal.Wake()
	}
	return err
}

func (l *lane) emit(kind event.Type, reason string) {
	t := l.claim.Task
	l.bus.emit(event.Event{Type: kind, Task: t.ID, Title: t.Title, Attempt: l.claim.Attempt, Reason: reason, Merge: &event.Merge{
		N: l.entry.N, Target: l.opts.Landing.Target, Onto: l.entry.Onto, Commit: l.entry.Candidate,
	}})
}
