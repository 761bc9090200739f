package attempt

import (
	"context"
	"time"

	"ralph/event"
	"ralph/internal/git"
	"ralph/loop/policy"
	"ralph/prompt"
	"ralph/risk"
	"ralph/verify"
)

// Lane is the way of one attempt's work from its slot to the target. It is nil where an
// attempt works in the project's own folder: then the work is done when it is verified.
type Lane interface {
	// Shown is what the slot was last made to look like. An agent may have changed it since.
	Shown() (state git.State, tree string)
	// Base is the commit of the target that the work in the slot lies on.
	Base() string
	// Tree is what is in the slot now, of the same kind.
	Tree(ctx context.Context) (string, error)
	// Keep stores what is in the slot as a commit, so that the slot can be used for other work. Left is what
	// cannot be part of it.
	Keep(ctx context.Context) (left []string, err error)
	// InConflict says that the target has come into conflict with what is in the slot. It changes nothing there.
	InConflict(ctx context.Context) (bool, error)
	// Follow brings what is in the slot onto the target, if that has moved. Work that conflicts
	// stays where it is, unless the slot is to show the conflicts.
	Follow(ctx context.Context, conflicts bool) (Followed, error)
	// Candidate enters what is in the slot into the merge queue, and waits until it can be tested as it will be on the target.
	Candidate(ctx context.Context, by Credit) (Candidate, error)
	// Show makes the room look like a commit: what the slot began with, the candidate, or what is below it. The room is a folder
	// like the slot that no agent writes; all that is judged is judged there.
	Show(ctx context.Context, commit string) error
	// Room runs gates in the room, with the variables that tell it from others. It shows something.
	Room() (verify.Gates, []string)
	// Tested stores what testing the candidate showed, and waits until that counts. Again
	// means that what was below the candidate is gone, or that it is too risky to land on what has not landed: it is to be
	// tested on something else. Work that is not green is what the slot shows afterwards, as it would have landed.
	Tested(ctx context.Context, green bool, seen risk.Facts) (again bool, err error)
	// Reviewed says that nobody else is to look at the candidate before it lands.
	Reviewed() bool
	// Holds says that the candidate can wait for a person before it lands.
	Holds() bool
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
	Onto, Commit string        // what is below it; the commit that would land
	Trees        [2]string     // of these two, in the project's folder
	Patch        string        // what it changes, as an ID
	Accepted     bool          // by a person: no verdict is needed
	Lost         []Loss        // what landed and is not in it after conflicts were resolved
	Unfit        string        // why gates may have seen other dependencies than it needs
	Conflict     prompt.Merged // with files in it: Commit is the work as it was, and cannot land
}

// Loss is something that landed while the work was done and is not in it.
type Loss struct {
	Text   string
	Marked bool // it was between conflict markers: whoever resolved them may say why
}

// Followed is what the slot is based on now, if that is something else than before.
type Followed struct {
	Commit, Tree string
	prompt.Merged
}

// queue verifies work as it will be on the target, and returns when the result counts.
func (a *attempt) queue(ctx context.Context) policy.Decision {
	w := &a.work
	var passed, elsewhere string // the patch that the verifier accepted, and that another machine's did: it did not see what is lost
	if a.job.Finished != nil {
		elsewhere = a.job.Finished.Patch
	}
	for {
		var c Candidate
		var err error
		a.intoSlot(func() {
			c, err = a.ports.Lane.Candidate(ctx, Credit{Agent: a.use.Name, Model: a.use.Model, Note: a.talk.set.Journal, Script: a.evident()})
		})
		a.merged, w.Conflict, w.With, w.Kept, w.Script = c.Conflict, c.Conflict.Files, c.Conflict.By(), c.Commit, a.evident()
		if err == nil && len(w.Conflict) == 0 {
			a.evidence.onto(c)
		}
		if err != nil || len(w.Conflict) > 0 {
			w.Checked, w.CheckErr, a.ended = true, err, a.endedBy(ctx)
			return a.decide()
		}
		w.Holdable = a.ports.Lane.Holds()
		w.Accepted = c.Accepted || c.Patch != "" && (c.Patch == passed || c.Patch == elsewhere && len(c.Lost) == 0)
		var d policy.Decision
		a.cpu = 0
		a.Demand.measure(a.Now, func() (time.Duration, bool) {
			d = a.check(ctx, git.Taken{Tree: c.Trees[1]}, nil)
			return a.cpu, a.ended == policy.Running && w.CheckErr == nil && (a.cpu > 0 || len(w.Gates) == 0)
		})
		if w.Verdict != nil && w.Verdict.Pass && d.Action == policy.Complete {
			passed = c.Patch
		}
		if a.ended != policy.Running || w.CheckErr != nil {
			return d
		}
		green, seen := d.Action == policy.Complete || d.Action == policy.Hold, risk.Facts{}
		if green {
			seen = a.facts(ctx)
		}
		again := false
		if green {
			again, err = a.ports.Lane.Tested(ctx, true, seen)
		} else {
			a.intoSlot(func() { again, err = a.ports.Lane.Tested(ctx, false, seen) })
			if err == nil && !again {
				again, err = a.blameTarget(ctx)
			}
		}
		if err != nil {
			w.CheckErr, a.ended = err, a.endedBy(ctx)
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
			a.work.CheckErr, a.ended = err, a.endedBy(ctx)
			return a.decide()
		}
		if !again {
			a.Baselines.landed(a.evidence.landing.Onto, a.evidence.landing.Commit, a.work.Gates)
			a.accepted(ctx)
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
	left, err := a.ports.Lane.Keep(ctx)
	for _, what := range left {
		a.warn(a.job.Task.ID, "not kept: "+what)
	}
	if err != nil {
		a.warn(a.job.Task.ID, "keeping what the attempt left in its slot: "+err.Error())
	}
}

// maxMoved is how often a turn is cut because the target has moved.
const maxMoved = 2

// inspectTarget says that a turn must end because the target has moved. A script goes on: it runs again if it has to.
func (a *attempt) inspectTarget(ctx context.Context) error {
	if a.ports.Lane == nil || a.evident() {
		return nil
	}
	conflict, err := a.ports.Lane.InConflict(ctx)
	if err != nil && ctx.Err() == nil {
		a.WarnOnce("target", "whether work conflicts with the target cannot be seen: "+err.Error())
	}
	if conflict && a.said.Moved < maxMoved {
		return errCut{moved: true}
	}
	return nil
}

// follow brings the work onto the target before the next prompt, as far as it merges.
func (a *attempt) follow(ctx context.Context, conflicts bool) prompt.Merged {
	if a.ports.Lane == nil {
		return prompt.Merged{}
	}
	var m Followed
	var err error
	a.intoSlot(func() { m, err = a.ports.Lane.Follow(ctx, conflicts) })
	if err != nil && ctx.Err() == nil {
		a.warn(a.job.Task.ID, "the work stays on an older target: "+err.Error())
	}
	if m.Commit != "" {
		a.evidence.tree, a.evidence.before.Head = m.Tree, m.Commit
	}
	return m.Merged
}

// resolve is the prompt of the session that resolves a conflict.
func (a *attempt) resolve(ctx context.Context) (string, error) {
	if a.turn.Moved { // and its session is gone
		a.said.Moved++
		a.merged = a.follow(ctx, true)
	} else {
		a.said.Resolved++
	}
	a.job.Session, a.work.Checked = nil, false
	a.talk.nextRound(a.job.Task.ID)
	return a.brief(ctx, a.merged)
}

// onto makes what is below a candidate the base that the work is compared with.
func (e *evidence) onto(c Candidate) {
	e.landing, e.candidate, e.base.Tree = c, c.Trees[1], c.Trees[0]
}
