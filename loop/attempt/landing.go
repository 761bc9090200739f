package attempt

import (
	"context"
	"slices"
	"strings"
	"time"

	"ralph/event"
	"ralph/internal/git"
	"ralph/loop/policy"
)

// Lane is the way of one attempt's work from its slot to the target. It is nil where an
// attempt works in the project's own folder: then the work is done when it is verified.
type Lane interface {
	// Shown is what the slot was last made to look like. An agent may have changed it since.
	Shown() (state git.State, tree string)
	// Tree is what is in the slot now, of the same kind.
	Tree(ctx context.Context) (string, error)
	// Keep stores what is in the slot as a commit, so that the slot can be used for other work.
	Keep(ctx context.Context) error
	// Candidate enters what is in the slot into the merge queue, waits until it can be tested,
	// and makes the slot look like it will look on the target.
	Candidate(ctx context.Context, by Credit) (Candidate, error)
	// Tested stores what testing the candidate showed, and waits until that counts. Again
	// means that what was below the candidate is gone: it is to be tested on something else.
	Tested(ctx context.Context, green bool) (again bool, err error)
	// Reviewed says that nobody else is to look at the candidate before it lands.
	Reviewed() bool
	// Land moves the target to the candidate. Again means what it means for Tested.
	Land(ctx context.Context) (again bool, err error)
}

// Credit is who did the work, and what they noted about it.
type Credit struct {
	Agent, Model, Note string
	Script             bool // it cannot resolve a conflict: it does its work again instead
}

// Candidate is work as it would be on the target.
type Candidate struct {
	Onto, Commit string    // what is below it; the commit that would land
	Trees        [2]string // of these two
	Patch        string    // what it changes, as an ID
	Accepted     bool      // by a person: no verdict is needed
	Conflict     []string  // files that cannot be merged: there is no Commit
	With         []string  // the tasks that changed them
}

// queue verifies work as it will be on the target, and returns when the result counts.
func (a *attempt) queue(ctx context.Context) policy.Decision {
	w := &a.work
	var passed string // the patch that the verifier accepted
	for {
		c, err := a.ports.Lane.Candidate(ctx, Credit{Agent: a.use.Name, Model: a.use.Model, Note: a.talk.set.Journal, Script: a.evident()})
		w.Conflict, w.With, w.Script = c.Conflict, c.With, a.evident()
		if err == nil && len(c.Conflict) == 0 {
			a.evidence.onto(c)
		}
		if err != nil || len(c.Conflict) > 0 {
			w.Checked, w.CheckErr, a.ended = true, err, ended(ctx)
			return a.decide()
		}
		w.Accepted = c.Accepted || passed != "" && passed == c.Patch
		var d policy.Decision
		a.cpu = 0
		a.Demand.measure(a.Now, func() (time.Duration, bool) {
			d = a.check(ctx, a.evidence.shown, nil)
			return a.cpu, a.ended == policy.Running && w.CheckErr == nil && (a.cpu > 0 || len(w.Gates) == 0)
		})
		if w.Verdict != nil && w.Verdict.Pass {
			passed = c.Patch
		}
		if a.ended != policy.Running || w.CheckErr != nil {
			return d
		}
		again, err := a.ports.Lane.Tested(ctx, d.Action == policy.Complete)
		if err != nil {
			w.CheckErr, a.ended = err, ended(ctx)
			return a.decide()
		}
		if !again {
			return d
		}
	}
}

// land moves the target to work that was accepted, unless that waits for a person. If somebody else moved it first, the work
// is tested again on what is there now.
func (a *attempt) land(ctx context.Context, d policy.Decision) policy.Decision {
	for a.ports.Lane != nil && d.Action == policy.Complete {
		if !a.ports.Lane.Reviewed() {
			return policy.Decision{Action: policy.Hold, Outcome: event.AttemptReleased, Reason: "its work waits for review"}
		}
		again, err := a.ports.Lane.Land(ctx)
		if err != nil {
			a.work.CheckErr, a.ended = err, ended(ctx)
			return a.decide()
		}
		if !again {
			a.Baselines.landed(a.evidence.landing.Onto, a.evidence.landing.Commit, a.work.Gates)
			break
		}
		a.said.None = true // its agent is gone
		d = a.queue(ctx)
	}
	return d
}

// keepWork keeps what an attempt leaves in its slot, whatever came of it.
func (a *attempt) keepWork(ctx context.Context, d policy.Decision) {
	if a.ports.Lane == nil || d.Action == policy.Complete || d.Action == policy.Hold {
		return
	}
	if err := a.ports.Lane.Keep(ctx); err != nil {
		a.warn(a.job.Task.ID, "keeping what the attempt left in its slot: "+err.Error())
	}
}

// resolve is the prompt of the session that resolves a conflict.
func (a *attempt) resolve(ctx context.Context) (string, error) {
	w := &a.work
	a.said.Resolved++
	a.job.Session = nil
	a.talk.nextRound(a.job.Task.ID)
	text := "Files with conflict markers:\n" + strings.Join(w.Conflict, "\n")
	if len(w.With) > 0 {
		text += "\n\nWhat has landed there:\n" + strings.Join(w.With, "\n")
	}
	w.Checked, w.Conflict, w.With = false, nil, nil
	return a.brief(ctx, text)
}

// onto makes what is below a candidate the base that the work is compared with.
func (e *evidence) onto(c Candidate) {
	e.landing, e.candidate, e.base.Tree = c, c.Trees[1], c.Trees[0]
	_, e.shown.Tree = e.lane.Shown()
}

// candidateChanges lists what a candidate changes, and what has changed in the slot since
// it was shown there: an agent that lives on could help the gates.
func (e *evidence) candidateChanges(ctx context.Context, now string) (lands, all []git.Change, err error) {
	if e.candidate == "" {
		return nil, nil, nil
	}
	if lands, err = e.compare(ctx, e.base.Tree, e.candidate); err != nil {
		return nil, nil, err
	}
	since, err := e.compare(ctx, e.shown.Tree, now)
	return lands, slices.Concat(lands, since), err
}
