// Package land takes the finished work of a run to its target: out of the slot of its attempt, through the queue, as a candidate that is
// judged as it would land. It knows neither agents nor how work is judged.
package land

import (
	"context"
	"fmt"
	"slices"
	"time"

	"ralph/dag"
	"ralph/internal/event"
	"ralph/internal/git"
	"ralph/internal/hooks"
	"ralph/internal/human"
	"ralph/internal/merge"
	"ralph/internal/redact"
	"ralph/internal/slot"
	"ralph/internal/testing/failpoint"
	"ralph/internal/wake"
	"ralph/loop/policy"
	"ralph/verify"
)

// Options say where finished work lands.
type Options struct {
	Repo    *git.Repo
	Slots   *slot.Pool
	Target  string   // a full ref name, merge.HeadRef, or merge.FolderRef
	Here    bool     // agents work in the project's own folder, and their work is there when it lands
	Remote  string   // where other machines get the code and leave their work; "" if they do not
	Window  int      // how many candidates are tested at once; 0 means as many as keep the processors busy
	Review  bool     // a person looks at all work before it lands
	Above   *float64 // or at what is riskier than that; nil: at none
	Protect []string // globs: what decides whether work is accepted, here and in CI
	Ahead   int      // how many pieces of held work may lie below a task that begins; 0: none
	Cut     bool     // a turn ends if the target moves so that its work conflicts
	// TakeIn commits what a person changed in a folder without git; nil elsewhere.
	TakeIn func(context.Context) error
	// Gates runs gates in a room as long as it shows the same. End removes what they left in other places.
	Gates func(slot.Room) (gates verify.Gates, end func() error, err error)
	// Folder runs gates in the project's own folder, and leaves that as it is; gates are nil where they would change it.
	Folder func() (gates *verify.Gates, end func() error, err error)
}

// name is the target as people call it.
func (o Options) name() string { return human.Branch(o.Target) }

// aside says that a person is to look at an entry before it lands.
func (o Options) aside(m dag.Merge) bool {
	switch {
	case m.Accepted:
		return false
	case o.Review:
		return true
	case o.Above == nil || !m.Rated:
		return false
	}
	return m.Risk.Risk > *o.Above
}

// Lander lands the work of one run.
type Lander struct {
	Options
	Store  *dag.Store
	Run    *dag.Run
	Dir    string   // the project
	Runs   string   // where the folders of runs are
	Checks []string // the gates of every task
	Skip   bool     // nothing is checked
	Redact *redact.Redactor
	Now    func() time.Time
	Poll   time.Duration
	Signal *wake.Signal // that the queue or the target has changed

	Tell     func(event.Event)
	WarnOnce func(subject, text string)
	Notify   func(ctx context.Context, c dag.Claim, subject, text string) // tells the agent of an attempt something
	Hook     func(context.Context, hooks.Payload) hooks.Outcome
	Own      func(attempt string) bool                        // it is one of this run
	Reclaim  func(context.Context) (reclaimed int, err error) // takes back the tasks of dead runs
	Demand   func() (wall, cpu time.Duration)                 // of the last test of a candidate

	shared
}

// shared is what the lanes of a run share.
type shared struct {
	tip       tip
	ahead     ahead
	resolving resolving
	authors   authors
	stuck     stuck
}

func (l *Lander) warn(task, text string) {
	l.Tell(event.Event{Type: event.Warned, Task: task, Text: text})
}

// Take prepares the slot of a claim. Finished work is shown in it as it was left; a script does its work again each time.
func (l *Lander) Take(ctx context.Context, claim dag.Claim, finished, script bool) (*Lane, error) {
	failpoint.Hit("after-claim")
	if l.Here {
		w, err := l.enter(ctx, claim, finished, script)
		if err != nil {
			return nil, halted(err)
		}
		w.lands = true
		return &Lane{Workspace: w, Lander: l, tried: w.slot.Base()}, nil
	}
	begin, err := l.Start(ctx, claim, finished, script)
	if err != nil {
		return nil, err
	}
	if space, err := l.Slots.Space(false); err == nil && space.Low {
		l.WarnOnce("disk", "the disk that slots are on is nearly full: "+space.String())
	}
	w, err := l.Open(ctx, claim, begin.Base, begin.Commit)
	if err != nil {
		return nil, err
	}
	w.lands = true
	if err := w.giveRefs(begin.refs); err != nil {
		return nil, err
	}
	lane := &Lane{Workspace: w, Lander: l, tried: begin.Base}
	if claim.Task.StandsOn != "" {
		lane.on = begin.Base
	}
	return lane, nil
}

// Beginning is what an attempt begins with: the tip of the target, held work on it, or earlier work, on them if that merges.
type Beginning struct {
	Commit string
	Base   string       // what is below its work
	refs   []merge.Made // of the earlier work
}

// Start finds out what an attempt begins with.
func (l *Lander) Start(ctx context.Context, claim dag.Claim, finished, script bool) (b Beginning, err error) {
	if l.TakeIn != nil {
		if err := l.TakeIn(ctx); err != nil {
			l.WarnOnce("edits", "what you changed in this folder is not taken in: "+err.Error())
		}
	}
	if b.Base, err = l.baseAhead(ctx, claim); err == nil && b.Base == "" {
		b.Base, err = l.Tip(ctx)
	}
	if err != nil {
		return b, err
	}
	b.Commit = b.Base
	work, refs, err := l.earlier(ctx, claim)
	switch {
	case err != nil || script && !claim.Resume: // a script does all of it again
		return b, err
	case work == "":
		b.refs = refs
		return b, nil
	}
	below, err := l.Repo.Commit(ctx, work+"^")
	if err != nil {
		return b, err
	}
	if finished {
		return Beginning{work, below, refs}, nil
	}
	said, err := l.Repo.Git(ctx, git.Call{}, "show", "-s", "--no-show-signature", "--format=%B", work)
	if err != nil {
		return b, err
	}
	built, err := merge.Build(ctx, l.Repo, b.Base, below, work, said) // and so what it resolves
	if err != nil || len(built.Files) > 0 {
		return b, err
	}
	return Beginning{built.Candidate, b.Base, refs}, nil
}

// earlier is the work that an attempt only has to land, or goes on with, and its refs: what the last attempt left that left anything, as
// one may end before it has a slot.
func (l *Lander) earlier(ctx context.Context, claim dag.Claim) (work string, refs []merge.Made, err error) {
	made, err := merge.MadeBy(ctx, l.Repo)
	if err != nil {
		return "", nil, err
	}
	if claim.Resume {
		work, err := l.Repo.Commit(ctx, merge.WorkRef(claim.Task.ID, claim.Resumed.ID))
		if m := claim.Merge; work == "" && m.Work != m.Base && err == nil { // the ref is gone
			if work, err = l.Repo.Commit(ctx, m.Work); work == "" && err == nil {
				err = policy.Halted{Reason: fmt.Sprintf("the work of %s is finished, but its commit %.10s is gone; to do it again: ralph task reset %[1]s", m.Task, m.Work)}
			}
		}
		return work, made[claim.Resumed.ID], err
	}
	var attempts []dag.Attempt
	err = l.Store.View(ctx, func(g *dag.Graph) (err error) { attempts, err = g.History.Attempts(claim.Task); return err })
	if err != nil {
		return "", nil, err
	}
	kept, err := merge.Kept(ctx, l.Repo)
	for _, a := range slices.Backward(attempts) {
		if a.StartedAt.Before(claim.Task.StartedAt) { // then the task was reset
			break
		}
		if ref := kept[a.ID]; ref != "" {
			work, err = l.Repo.Commit(ctx, ref)
		}
		if refs = made[a.ID]; err != nil || work != "" || len(refs) > 0 {
			return work, refs, err
		}
	}
	return "", nil, err
}
