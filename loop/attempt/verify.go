package attempt

import (
	"cmp"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"ralph/acp"
	"ralph/dag"
	"ralph/internal/event"
	"ralph/internal/human"
	"ralph/internal/proc"
	"ralph/internal/proof"
	"ralph/internal/redact"
	"ralph/internal/seq"
	"ralph/internal/testing/failpoint"
	"ralph/loop/land"
	"ralph/loop/policy"
	"ralph/prompt"
	"ralph/verify"
	"ralph/verify/coverage"
)

// verify checks what the agent says is done: where it is, or as it will be on the target.
func (a *attempt) verify(ctx context.Context) policy.Decision {
	a.work.Checked = true
	a.freeze()
	taken, err := a.evidence.finish(ctx)
	if a.job.Finished == nil {
		if err := a.keepFinished(ctx); err != nil {
			return a.unkept(err)
		}
	}
	failpoint.Hit("after-done")
	switch {
	case a.ended == policy.Interrupted:
		return a.decide()
	case a.job.Review != nil && err == nil:
		return a.reviewed(ctx, taken)
	case err != nil:
		a.work.CheckErr, a.ended = err, a.endedBy(ctx)
		return a.decide()
	}
	return a.queue(ctx)
}

// check checks the candidate in the room: whether it touched what checks it, the gates,
// whether anything changed at all, and then the verdict of another session.
func (a *attempt) check(ctx context.Context, taken string) policy.Decision {
	w := &a.work
	w.Verdict, w.VerifierErr, w.VerifierOver, w.CheckErr, w.Doubts, w.Refuted = nil, nil, nil, nil, nil, ""
	a.evidence.old, a.evidence.failed, w.Coverage = "", nil, coverage.Report{}
	if _, _, err := a.ports.Lane.Copy(ctx, nil); err != nil { // it stays there
		w.CheckErr, a.ended = err, a.endedBy(ctx)
		return a.decide()
	}
	if f := a.job.Finished; a.job.Verify.Skip || f.tested(a.evidence.landing) && len(a.evidence.landing.Lost) == 0 {
		d := a.decide()
		if f != nil {
			w.Gates = f.Gates
		}
		return d
	}
	a.note(ctx, dag.Note{Phase: dag.Verifying})
	w.WantVerdict = a.wantsVerdict() && !w.Accepted
	if red := a.verifyBefore(ctx); len(red) > 0 {
		w.Gates, w.Tampering, w.Unchanged, a.ended = red, nil, false, a.endedBy(ctx)
		a.note(ctx, dag.Note{Gates: seq.Map(w.Gates, record)})
		return a.decide()
	}
	err := a.examine(ctx, taken)
	if a.talk.set.Split && (w.Unchanged || a.evidence.base.Tree == "") { // the work is its subtasks, and each is judged by itself
		w.WantVerdict, w.Evident = false, true
	}
	if err == nil && len(w.Tampering) == 0 {
		err = a.runChecks(ctx, taken)
	}
	if err == nil {
		err = a.callWitness(ctx)
	}
	w.CheckErr = err
	a.ended = a.endedBy(ctx)
	verdict := ""
	if a.job.Accepted {
		verdict = "accepted by a person"
	}
	a.note(ctx, dag.Note{Gates: seq.Map(w.Gates, record), Verdict: verdict})
	d := a.decide()
	if d.Action == policy.AskVerdict {
		if w.VerifierOver = a.overspent(ctx); w.VerifierOver == nil {
			w.CheckErr = a.askVerdict(ctx, taken)
			a.ended = a.endedBy(ctx)
		}
		d = a.decide()
	}
	if red := a.verifyAfter(ctx, d); len(red) > 0 {
		w.Gates, a.ended = append(w.Gates, red...), a.endedBy(ctx)
		a.note(ctx, dag.Note{Gates: seq.Map(w.Gates, record)})
		d = a.decide()
	}
	if d.Action == policy.Complete {
		w.CheckErr, a.ended = a.prove(ctx, taken), a.endedBy(ctx)
		d = a.decide()
	}
	if d.Action == policy.Complete {
		w.CheckErr, a.ended = a.firstChecks(ctx, taken), a.endedBy(ctx)
		if len(a.evidence.first) > 0 {
			a.note(ctx, dag.Note{Gates: append(seq.Map(w.Gates, record), a.evidence.first...)})
		}
		d = a.decide()
	}
	return d
}

// runChecks runs the gates, looks at what they print and at what the agent did while they ran, and has them check what they accept with
// the old tests.
func (a *attempt) runChecks(ctx context.Context, taken string) (err error) {
	if err := a.clearCoverage(ctx, taken); err != nil {
		return err
	}
	if a.work.Gates, err = a.gates(ctx); err != nil || len(a.work.Gates) == 0 {
		return err
	}
	if err = a.cover(ctx, taken); err == nil {
		err = a.findTampering()
	}
	if err == nil {
		err = a.doubtGates(ctx, taken)
	}
	if err != nil || a.work.Refused() {
		return err
	}
	return a.oldTests(ctx, taken)
}

// wantsVerdict reports whether work which passes its gates is judged by the verifier agent.
func (a *attempt) wantsVerdict() bool {
	if !a.job.verifies() || !a.job.Verify.AgentVerdict {
		return false
	}
	return a.job.Agent.Verifier != "" || !a.evident()
}

// keepFinished records what verification needs, before the attempt's phase says so. In a slot that is the work
// first of all: a later run that finds the phase takes what is not kept for unchanged.
func (a *attempt) keepFinished(ctx context.Context) error {
	if _, err := a.ports.Lane.Keep(context.WithoutCancel(ctx)); err != nil {
		return err
	}
	f := Finished{Set: a.talk.set, Stop: string(a.use.Stop), Evident: a.evident(), Told: a.talk.told}
	if err := a.ports.Record(ctx, Record{Finished: &f}); err != nil {
		a.warn(a.job.Task.ID, "keeping what is to be verified: "+err.Error())
		return nil //nolint:nilerr // it can be verified now all the same
	}
	used := a.meter.tell()
	_, steps := a.watch.steps()
	a.note(ctx, dag.Note{Phase: dag.Answered, StopReason: string(a.use.Stop), TreeAfter: a.evidence.finished, Usage: &used, Steps: steps})
	return nil
}

// unkept decides about work that could not be kept: it is not finished, and an agent does it again.
func (a *attempt) unkept(err error) policy.Decision {
	a.work.CheckErr, a.work.Checked = err, a.ended == policy.Running
	d := a.decide()
	a.work.Checked, a.evidence.finished = false, ""
	return d
}

// finishedMeanwhile reports whether the agent was done, and its turn at an end, when the run
// was stopped: its work is kept as finished, and verified the next time.
func (a *attempt) finishedMeanwhile() bool {
	t := a.turn
	switch {
	case a.ended != policy.Interrupted, t.Stop != acp.StopEnd:
		return false
	case t.Err != nil && t.Err.Kind != acp.Cancelled:
		return false
	}
	return t.Sigils.Done && !t.Sigils.Failure
}

// evident reports whether the agent's word rests on an exit status.
func (a *attempt) evident() bool {
	if a.job.Finished != nil {
		return a.job.Finished.Evident
	}
	return a.talk.session != nil && a.talk.session.Evident()
}

// examine looks for tampering, for changes, and for what has to be cleared before these land.
func (a *attempt) examine(ctx context.Context, taken string) error {
	w, e := &a.work, &a.evidence
	w.Tampering, w.Unchanged, e.protected = nil, false, nil
	w.Evident = a.job.Task.Kind == dag.Check || a.job.Accepted || a.evident()
	if e.base.Tree == "" || e.base.Gone {
		a.doubt("git does not have what the task began with: what the work changed before is not known")
	}
	if e.base.Tree != "" {
		changes, err := e.changes(ctx, taken, a.prevented())
		if err == nil && !a.job.Accepted {
			err = a.findDoubts(ctx, changes, taken)
		}
		if w.Unchanged = len(changes)+len(e.landing.Refs) == 0; err != nil {
			return err
		}
	}
	for _, r := range e.landing.Refs {
		switch {
		case r.Clash != "":
			a.hold(verify.Doubt{Why: r.Clash})
		case !r.Asked && !a.job.Accepted:
			a.hold(verify.Doubt{Why: "it " + r.Text, Words: ownWords(a.job.Task)})
		}
	}
	if e.landing.Unfit != "" {
		a.doubt(e.landing.Unfit)
	}
	for _, l := range e.landing.Lost {
		d := verify.Doubt{Why: l.Text}
		if why := a.talk.set.MergeDropped; l.Marked && why != "" {
			d.Why, d.Words = d.Why+"; the agent's reason: "+why, []string{why}
		}
		a.hold(d)
	}
	return a.findTampering()
}

// findTampering takes in what is protected and was changed, by the work or by an agent that is still there.
func (a *attempt) findTampering() error {
	w := &a.work
	w.Tampering = a.evidence.protected
	if a.talk.session == nil {
		return nil
	}
	touched, err := a.tampered()
	w.Tampering = append(seq.Map(touched, func(path string) string { return "protected: " + path }), w.Tampering...)
	return err
}

// tampered lists what the agent changed that no agent may change. Rules that it wrote never counted, and count
// against it for as long as it works.
func (a *attempt) tampered() ([]string, error) {
	touched, err := a.talk.session.Tampered()
	planted, perr := a.Permissions.Reject()
	a.planted = append(a.planted, planted...)
	all := slices.Concat(touched, a.planted)
	slices.Sort(all)
	return slices.Compact(all), errors.Join(err, perr)
}

// keepTouched remembers what the agent changed in its slot that no agent may change: it is not there any more once ralph checks something
// out. In the project's own folder nothing is, and the agent can put it back.
func (a *attempt) keepTouched(s *metered, checksOut bool) {
	if s == nil || checksOut && a.ports.Lane.Here() {
		return
	}
	touched, err := s.Tampered()
	if err != nil {
		a.warn(a.job.Task.ID, "looking for what the agent must not change: "+err.Error())
	}
	a.planted = append(a.planted, touched...)
}

// renew takes what ralph has made of the slot for what the agent was given: that is none of its doing.
func (a *attempt) renew() {
	if s := a.talk.session; s != nil && !a.ports.Lane.Here() {
		if err := s.Renew(); err != nil {
			a.warn(a.job.Task.ID, "looking at what the agent must not change: "+err.Error())
		}
	}
}

func ownWords(t dag.Task) []string { return []string{t.Title, t.Description} }

// prevented reports whether no agent could write ralph's own files.
func (a *attempt) prevented() bool {
	return a.talk.session != nil && Prevents(a.talk.session.Sandbox())
}

// warnTampering says what an attempt touched that nobody asked about, because it
// did not end with "done".
func (a *attempt) warnTampering(d policy.Decision) {
	if a.work.Checked || d.Action == policy.Abort {
		return
	}
	touched, err := a.tampered()
	if err == nil && len(touched) > 0 {
		a.warn(a.job.Task.ID, "the agent changed what it must not: "+strings.Join(touched, ", "))
	}
}

// askVerdict asks the verifier agent.
func (a *attempt) askVerdict(ctx context.Context, shown string) error {
	a.tell(a.askOnce(ctx, shown))
	return a.findTampering()
}

// question is what the verifier is asked about the work that a tree shows.
func (a *attempt) question(ctx context.Context, shown string) verify.Question {
	w, t := &a.work, a.job.Task
	sources := a.Documents(t)
	in := prompt.VerifyInput{
		Task: prompt.Task{ID: t.ID, Title: t.Title, Description: t.Description, MayChange: t.MayChange}, Spec: sources.Spec, Plan: sources.Plan,
		Split: a.talk.set.Split, Proves: proof.Lines(a.job.Proof.Criteria), Sections: sources.Sections,
	}
	if shown != "" && a.evidence.base.Tree != "" {
		in.Diff, in.Cosmetic = a.shownChanges(ctx, shown)
	}
	in.Refs = seq.Map(a.evidence.landing.Refs, func(r land.Ref) string { return r.Text })
	in.Resolved, in.Effort = a.resolvedConflicts(), a.effort()
	in.Gates = seq.Map(w.Gates, func(g verify.Check) prompt.Gate {
		r, name := record(g), g.Command
		if g.ExpectRed {
			name += " (the task wants it to fail)"
		}
		return prompt.Gate{Name: name, Passed: g.Passed, Output: g.Tail, Tests: human.Tests(r.Tests, r.TestsBefore), Excused: r.Verdict == event.GateExcused}
	})
	in.Unchanged, in.Unexecuted = w.Unproven(), w.Coverage.Unexecuted
	if r := a.evidence.failed; r != nil {
		in.Doubt.Failed = []prompt.Gate{{Name: r.Command, Output: r.Tail, Failures: r.Failures}}
	}
	for i, d := range w.Doubts {
		in.Doubt.Changes = append(in.Doubt.Changes, prompt.Change{N: i + 1, File: d.File, Text: d.Text(), Open: d.Open})
	}
	return verify.Question{Text: prompt.Verify(in), Doubts: w.Doubts, Unchanged: in.Unchanged}
}

// askOnce has one verifier look, and returns the event that says what came of it.
func (a *attempt) askOnce(ctx context.Context, shown string) event.Event {
	w := &a.work
	a.tell(event.Event{Type: event.VerifierStarted})
	verdict, err := a.verdict(ctx, a.question(ctx, shown))
	e := event.Event{Type: event.VerifierEnded, Outcome: string(event.VerdictPass), Reason: verdict.Reason}
	if err != nil {
		if w.VerifierOver = asCut(err).over; w.VerifierOver == nil && !errors.As(err, &w.VerifierErr) {
			w.VerifierErr = &acp.Error{Kind: acp.Cancelled, Op: "verify", Text: err.Error(), Err: err}
		}
		e.Outcome, e.Reason = string(event.VerdictNone), err.Error()
		return e
	}
	w.Verdict = &verdict
	a.note(ctx, dag.Note{Verdict: verdict.String()})
	if !verdict.Pass {
		e.Outcome = string(event.VerdictFail)
	}
	return e
}

// greenBefore reports whether there are gates, and that all passed before the work.
func greenBefore(gates []verify.Check) bool {
	return len(gates) > 0 && !slices.ContainsFunc(gates, func(c verify.Check) bool { return !c.PassedBefore() })
}

// verdict asks for one, and is guarded as the work is: it ends with errCut when
// a budget is exceeded meanwhile. A verdict that was given all the same counts.
func (a *attempt) verdict(ctx context.Context, q verify.Question) (verify.Verdict, error) {
	ctx, cut := context.WithCancelCause(ctx)
	guarding := a.guard(a.inspectBudgets).Watch(ctx, cut)
	v, err := verify.Ask(ctx, q, func(ctx context.Context, try int) (verify.Verifier, error) {
		if over := a.overspent(ctx); over != nil && try > 1 { // the first was asked about already
			cut(errCut{over: over})
			return nil, context.Cause(ctx)
		}
		return a.openVerifier(ctx)
	})
	cut(nil)
	<-guarding
	return redact.Deep(a.Redact, v), err
}

// openVerifier opens the next session that is to give a verdict, in a folder of its own.
func (a *attempt) openVerifier(ctx context.Context) (verify.Verifier, error) {
	a.verifiers++
	folder := filepath.Join(a.job.Place.Folder, "verify-"+strconv.Itoa(a.verifiers))
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, err
	}
	r, err := a.openReader(ctx, a.opening(folder, true), a.job.Agent.Verifier != "")
	if err != nil {
		return nil, err
	}
	if a.job.Review.Acceptance() { // it is the attempt's own agent
		a.seen.Opened, a.use.Name, a.use.Model, a.use.Sandbox = true, r.agent, r.Model().Effective, r.Sandbox()
		asked := r.asked
		if r.another { // that was asked for another one
			asked = r.Model().Requested
			a.use.Model = cmp.Or(a.use.Model, asked)
		}
		a.note(ctx, dag.Note{Phase: dag.Prompted, Agent: a.use.Name, Model: asked, ModelEffective: a.use.Model, Sandbox: a.use.Sandbox})
	}
	if a.verifiers == 1 { // if it disturbs this one, it does not disturb the next
		next := a.opening(a.job.Place.Folder, false)
		next.Task = dag.Task{} // whichever comes next
		a.Warm(ctx, next)
	}
	return verifier{r}, nil
}

// openReader opens a session that changes nothing. Another says that it is one with another agent than the attempt's.
func (a *attempt) openReader(ctx context.Context, op Opening, another bool) (*reader, error) {
	name := ""
	op.Started = func(agent string, _ proc.Identity) error { name = agent; return nil }
	s, err := a.start(ctx, op)
	if err != nil {
		return nil, err
	}
	m := &metered{Session: s, agent: name, asked: op.Model, another: another, worked: true}
	a.meter.add(m)
	return &reader{metered: m, attempt: a}, nil
}

// reader is a session that changes nothing.
type reader struct {
	*metered
	attempt *attempt
	refused bool // the provider was at its limit, so nothing was paid
}

// verifier is one that gives a verdict.
type verifier struct{ *reader }

func (v verifier) Prompt(ctx context.Context, text string) (acp.Turn, error) {
	turn, err := v.reader.Prompt(ctx, text)
	a := v.attempt
	a.seen.VerifierAnswered = a.seen.VerifierAnswered || !turn.Empty()
	return turn, err
}

// Prompt is the session's, but a turn that completed while it was being cut short is
// whole. From now on it costs something, whether or not we live to record what.
func (v *reader) Prompt(ctx context.Context, text string) (acp.Turn, error) {
	a := v.attempt
	used := a.meter.tell()
	a.note(ctx, dag.Note{Usage: &used})
	turn, err := v.Session.Prompt(ctx, text)
	if asCut(context.Cause(ctx)).over != nil && turn.Completed() {
		err = nil
	}
	v.refused = turn.Empty() && (errors.Is(err, acp.RateLimited) || errors.Is(err, acp.AuthRequired))
	return turn, err
}

// Close is the session's, and keeps what it used.
func (v *reader) Close() error {
	err := v.Session.Close()
	v.attempt.meter.close(v.metered, !v.refused)
	v.attempt.meter.tell()
	return err
}
