package attempt

import (
	"context"
	"slices"
	"time"

	"ralph/internal/event"
	"ralph/internal/git"
	"ralph/loop/land"
	"ralph/loop/policy"
	"ralph/prompt"
	"ralph/verify"
)

// Lane is the way of one attempt's work from its slot to the target: a land.Lane, a land.Workspace far from the run, or a
// land.View where there is nothing to land.
type Lane interface {
	Here() bool // it works in the project's own folder
	Shown() (state git.State, tree string)
	Base() string
	Tree(ctx context.Context) (string, error)
	Hold() (release func())
	Keep(ctx context.Context) (left []string, err error)
	InConflict(ctx context.Context) (bool, error)
	Follow(ctx context.Context, conflicts bool) (land.Followed, error)
	Show(ctx context.Context, commit string) error
	Copy(ctx context.Context, edits []git.Edit) (gates verify.Gates, end func() error, err error)
	Room() (verify.Gates, []string)
	Lacks(ctx context.Context) (missing []string, gates *verify.Gates, end func() error, err error)
	Submit(ctx context.Context, by land.Credit, judge land.Judge) (land.Candidate, error)
	Land(ctx context.Context) (land.Outcome, error)
	// BaseFails is a policy.BrokenBase if the work stands on held work, with which that is wrong without it.
	BaseFails(ctx context.Context, why string) error
}

// freeze stops the agent: what it says is done is judged, and nothing that its processes do to that meanwhile.
func (a *attempt) freeze() {
	s := a.talk.session
	if s == nil {
		return
	}
	thaw, release := s.Freeze(), a.ports.Lane.Hold()
	a.talk.thaw = func() { release(); thaw() }
}

// judged is what is known of work while it is in the queue.
type judged struct {
	last     policy.Decision // about the last candidate; none passed yet if it is empty
	verified string          // the patch that the verifier accepted
	remote   string          // the patch that a verifier on another machine accepted
}

// accepts reports whether a candidate needs no verdict any more. A verifier on another machine saw neither what is lost nor what does not fit here.
func (j judged) accepts(c land.Candidate) bool {
	switch c.Patch {
	case "":
		return c.Accepted
	case j.verified:
		return true
	case j.remote:
		return c.Accepted || len(c.Lost) == 0 && c.Unfit == ""
	}
	return c.Accepted
}

// undisturbed reports whether nothing ended the attempt or its checks: what they said counts.
func (a *attempt) undisturbed() bool { return a.ended == policy.Running && a.work.CheckErr == nil }

// queue has work judged as it will be on the target, and returns when the result counts.
func (a *attempt) queue(ctx context.Context) policy.Decision {
	w, known := &a.work, judged{}
	if a.job.Finished != nil {
		known.remote = a.job.Finished.Patch
	}
	a.keepTouched(a.talk.session, true)
	by := land.Credit{Agent: a.use.Name, Model: a.use.Model, Note: a.talk.set.Journal, Script: a.evident()}
	see := func(c land.Candidate) {
		a.merged, w.Conflict, w.With, w.Kept, w.Script = c.Conflict, c.Conflict.Files, c.Conflict.By(), c.Commit, by.Script
	}
	c, err := a.ports.Lane.Submit(ctx, by, func(c land.Candidate) (v land.Verdict) {
		see(c)
		a.evidence.onto(c)
		w.Accepted = known.accepts(c)
		a.cpu = 0
		a.Demand.measure(a.Now, func() (time.Duration, bool) {
			known.last = a.check(ctx, c.Trees[1])
			return a.cpu, a.undisturbed() && (a.cpu > 0 || len(w.Gates) == 0)
		})
		if known.last.Action == policy.Complete && w.Verdict.Passes() {
			known.verified = c.Patch
		}
		v.Over, v.Passed = !a.undisturbed(), known.last.Passed()
		if !v.Over && v.Passed {
			v.Seen, v.BaseForOthers = a.facts(ctx), a.beyondDoubt()
		}
		a.keepTouched(a.talk.session, true)
		return v
	})
	see(c)
	again := false
	if conflict := len(w.Conflict) > 0; conflict || !known.last.Passed() {
		a.renew()
		if err == nil && !conflict && a.undisturbed() {
			again, err = a.blameTarget(ctx)
		}
	}
	if err != nil || len(w.Conflict) > 0 {
		w.Checked, w.CheckErr, a.ended = true, err, a.endedBy(ctx)
		return a.decide()
	}
	if again {
		return a.queue(ctx)
	}
	return known.last
}

// land moves the target to work that was accepted, unless that waits for a person. If somebody else moved it first, the work
// is judged again on what is there now.
func (a *attempt) land(ctx context.Context, d policy.Decision) policy.Decision {
	for a.job.Review == nil && d.Action == policy.Complete {
		out, err := a.ports.Lane.Land(ctx)
		switch {
		case err != nil:
			a.work.CheckErr, a.ended = err, a.endedBy(ctx)
			return a.decide()
		case out == land.Held:
			return policy.Decision{Action: policy.Hold, Outcome: event.AttemptReleased, Reason: "its work waits for review"}
		case out == land.Behind:
			a.keepVerdict(ctx)
			return policy.Decision{Action: policy.Release, Outcome: event.AttemptReleased, Reason: "it passed, and lands after " + a.job.Task.StandsOn + ", which is held"}
		case out == land.Landed:
			a.Baselines.landed(a.evidence.landing.Onto, a.evidence.landing.Commit, a.work.Gates)
			a.accepted(ctx)
			return d
		}
		a.said.None = true // its agent is gone
		d = a.queue(ctx)
	}
	return d
}

// beyondDoubt reports whether only a person's wish is open about work that passed: each of its checks was carried out.
func (a *attempt) beyondDoubt() bool {
	w := &a.work
	switch {
	case a.job.Verify.Skip, w.GateFailed(), len(w.Nameless()) > 0:
		return false
	case w.Verdict.Refuses():
		return false
	}
	return !slices.ContainsFunc(w.Left(), func(d verify.Doubt) bool { return d.Open })
}

// keepVerdict records what was judged, for when it lands: the same on the same needs nothing more.
func (a *attempt) keepVerdict(ctx context.Context) {
	c := a.evidence.landing
	f := Finished{
		Set: a.talk.set, Stop: string(a.use.Stop), Evident: a.evident(), Told: a.talk.told, Patch: c.Patch, Trees: c.Trees, Gates: a.work.Gates,
	}
	if err := a.ports.Record(context.WithoutCancel(ctx), Record{Finished: &f}); err != nil {
		a.warn(a.job.Task.ID, "keeping what was judged: "+err.Error())
	}
}

// keepWork keeps what an attempt leaves in its slot, whatever came of it.
func (a *attempt) keepWork(ctx context.Context, d policy.Decision) {
	if d.Passed() {
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
	if a.evident() {
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
	a.keepTouched(a.talk.session, true)
	m, err := a.ports.Lane.Follow(ctx, conflicts)
	a.renew()
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
	a.evidence.resolved = append(a.evidence.resolved, a.merged)
	a.job.Session, a.work.Checked = nil, false
	a.talk.nextRound(a.job.Task.ID)
	return a.brief(ctx, a.merged)
}

// onto makes what is below a candidate the base that the work is compared with.
func (e *evidence) onto(c land.Candidate) {
	e.landing, e.candidate, e.base.Tree = c, c.Trees[1], c.Trees[0]
}
