package attempt

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"ralph/acp"
	"ralph/dag"
	"ralph/internal/detect"
	"ralph/internal/event"
	"ralph/internal/git"
	"ralph/internal/inbox"
	"ralph/internal/plain"
	"ralph/internal/resource"
	"ralph/internal/seq"
	"ralph/internal/testing/failpoint"
	"ralph/loop/policy"
	"ralph/prompt"
	"ralph/sigils"
	"ralph/verify"
)

// attempt is one try under way.
type attempt struct {
	Worker
	job   Job
	ports Ports

	talk     conversation
	evidence evidence
	meter    *meter
	watch    *watch
	group    *resource.Group // of all its processes

	ended policy.Ended
	turn  policy.Turn
	said  policy.Session
	work  policy.Work

	seen Seen
	use  AgentUse

	planted   []string      // rules that the agent wrote, and in a slot what else it must not write
	merged    prompt.Merged // the conflict that a session is to resolve
	drifted   int           // earlier attempts that ended for drift
	verifiers int           // sessions that were opened for a verdict
	cpu       time.Duration // of the gates that were run

	review review // if it is one
}

// Run makes one try at a task. When it returns, nothing of its agent is left. The error is
// for what must end the run: a file cannot be written, or what is recorded is lost.
func (w Worker) Run(ctx context.Context, j Job, p Ports) (Result, error) {
	a := &attempt{
		Worker: w, job: j, ports: p, watch: newWatch(j, !p.Lane.Here(), w.Now),
		meter: &meter{prices: w.Prices, report: func(u Used) { _ = p.Record(context.WithoutCancel(ctx), Record{Used: &u}) }}, evidence: evidence{Worker: w, job: j, lane: p.Lane, trees: git.Trees{Dir: j.Place.Project, Sub: j.Place.Sub}, compared: map[[2]string]git.Difference{}},
		talk: conversation{scan: sigils.NewScanner(j.Task.ID), tools: p.Tools}, said: policy.Session{None: j.Finished != nil},
	}
	if p.Desk != nil && j.Review == nil {
		a.talk.asks = &asking{Desk: p.Desk, now: w.Now}
	}
	if m := j.Made; m != nil {
		a.seen, a.use = m.Seen, m.Agent
		a.meter.resume(m.Agent, j.Agent.Choice.Model)
	}
	a.drifted, _ = Drifted(j.Task, j.History.Attempts)
	defer a.meter.abandon()
	limited, group := w.Resources.Begin(ctx, j.Run.Owner)
	defer group.End()
	a.group = group
	d, err := a.try(limited)
	if cause := context.Cause(ctx); d.Action == policy.Abort || errors.Is(cause, ErrStopped) && d.Outcome == event.AttemptInterrupted && !a.work.Checked {
		d.Reason = cause.Error()
	}
	if ctx.Err() != nil {
		failpoint.Hit("in-shutdown")
	}
	if a.talk.session != nil {
		a.warnTampering(d)
	}
	script := a.evident()
	a.closeSession(d)
	d = a.land(limited, d)
	a.releaseWitness(d)
	a.learn(limited, d, script)
	a.keepWork(context.WithoutCancel(ctx), d)
	return a.result(context.WithoutCancel(ctx), d), err
}

// resume lets an agent go on that stood still while its work was judged.
func (a *attempt) resume() {
	if a.talk.thaw != nil {
		a.talk.thaw()
		a.talk.thaw = nil
	}
}

// closeSession ends the agent: nothing of it may be left when the task is given back.
func (a *attempt) closeSession(d policy.Decision) {
	s := a.talk.session
	if s == nil {
		return
	}
	a.talk.session = nil
	if a.talk.thaw != nil && d.Action == policy.Complete { // nothing of it may change what was accepted
		if err := s.Kill(); err != nil {
			a.warn(a.job.Task.ID, "ending the agent: "+err.Error())
		}
		a.talk.thaw = nil
	}
	a.resume()
	if err := s.Close(); err != nil {
		a.warn(a.job.Task.ID, "closing the agent: "+err.Error())
	}
	a.keepTouched(s, false)
	planted, err := a.Permissions.Reject() // what it wrote in its last moment
	if err != nil {
		planted = append(planted, err.Error())
	}
	if len(planted) > 0 {
		a.warn(a.job.Task.ID, "the agent changed what it must not: "+strings.Join(planted, ", "))
	}
	a.use.Model = cmp.Or(s.Model().Effective, a.use.Model) // it may have changed meanwhile
	a.meter.close(s, s.worked && (d.Action != policy.Wait || a.said.Answered))
	a.meter.tell()
	a.use.SessionUSD = s.SessionUSD()
}

// result looks at what the attempt leaves behind.
func (a *attempt) result(ctx context.Context, d policy.Decision) Result {
	if err := a.talk.close(); err != nil {
		a.warn(a.job.Task.ID, "keeping the answer: "+err.Error())
	}
	a.keepTree(ctx, d)
	files := slices.Concat(a.talk.files, a.evidence.worked(ctx))
	slices.Sort(files)
	files = slices.Compact(files)
	if a.work.Unchanged { // what the agent wrote was there before, or does not count as work
		files = nil
	}
	seen, use := a.seen, a.use
	seen.Answered, seen.Empty, seen.Checked = seen.Answered || a.said.Answered, seen.Empty || a.turn.Empty, a.work.Checked
	seen.Passed = seen.Passed || a.work.Verdict != nil || slices.ContainsFunc(a.work.Gates, func(c verify.Check) bool { return c.Passed || c.Verdict() == event.GateExpected })
	use.Usage, use.Shares = a.meter.tell(), a.meter.split(use.Name, cmp.Or(use.Model, a.job.Agent.Choice.Model))
	unusual := a.watch.unusual()
	if m := a.job.Made; m != nil {
		unusual = m.Unusual
	}
	return Result{
		Decision: d, Said: a.talk.set, Files: files, Seen: seen, Agent: use, Findings: a.review.findings, Unusual: unusual, Told: a.talk.told,
		Judged: a.evidence.landing, Gates: a.work.Gates,
	}
}

// keepTree notes what the attempt ended with, unless that was noted when its agent
// said that it is done. Work that was not accepted ends here: its agent lived until now.
func (a *attempt) keepTree(ctx context.Context, d policy.Decision) {
	e := &a.evidence
	switch {
	case e.tree == "":
	case e.verifiesOnly():
		a.note(ctx, dag.Note{TreeAfter: e.finished})
	case e.finished != "" && d.Action != policy.Retry && d.Action != policy.Fail:
	default:
		if now, err := e.take(ctx); err == nil { // else all until the next attempt counts as this one's
			a.note(ctx, dag.Note{TreeAfter: now})
		}
	}
}

// try runs the agent and decides, turn by turn.
func (a *attempt) try(ctx context.Context) (policy.Decision, error) {
	if err := os.MkdirAll(a.job.Place.Folder, 0o700); err != nil {
		return Unprepared(), err
	}
	failpoint.Hit("after-claim")
	if a.job.Finished != nil {
		return a.verifyOnly(ctx)
	}
	if err := a.prepare(ctx); err != nil {
		return a.unseen(ctx, err)
	}
	a.follow(ctx, false)
	if a.job.Review != nil {
		if a.job.Review.Acceptance() && a.unconfirmed() != "" {
			return policy.Decision{Action: policy.Fail, Outcome: event.AttemptFailed, Reason: a.unconfirmed()}, nil
		}
		why, err := a.nothingToReview(ctx)
		switch {
		case err != nil:
			return a.unseen(ctx, err)
		case why != "":
			return policy.Decision{Action: policy.Complete, Outcome: event.AttemptDone, Reason: why}, nil
		case a.job.Review.Acceptance():
			return a.accept(ctx)
		}
	}
	if err := a.askWitness(ctx); err != nil {
		return a.unseen(ctx, err)
	}
	text, err := a.brief(ctx, prompt.Merged{})
	if err != nil {
		return Unprepared(), err
	}
	if err := a.open(ctx); err != nil {
		return a.after(ctx, acp.Turn{}, err), nil
	}
	why := ""
	for {
		a.tell(event.Event{Type: event.Prompted, Reason: why})
		a.notePrompted(ctx)
		turn, err := a.prompt(ctx, text)
		failpoint.Hit("after-answer")
		d := a.after(ctx, turn, err)
		a.turnAfter(ctx, turn)
		if d.Action == policy.Verify || a.finishedMeanwhile() {
			d = a.verify(ctx)
		}
		if d.Drifted {
			a.noteDrift(ctx, d)
		}
		switch d.Action {
		case policy.Reprompt:
			a.resume()
			why, text = d.Reason, a.promptBefore(ctx, a.withInjected(a.followUp(ctx, d), a.talk.injected.take()))
		case policy.Resolve:
			a.closeSession(d) // what it knows of the project is not true any more
			why = d.Reason
			if text, err = a.resolve(ctx); err != nil {
				return Unprepared(), err
			}
			if err := a.open(ctx); err != nil {
				return a.after(ctx, acp.Turn{}, err), nil
			}
		default:
			return d, nil
		}
	}
}

// Unprepared is the decision about an attempt that ralph itself could not prepare.
func Unprepared() policy.Decision {
	return policy.Decision{Action: policy.Release, Outcome: event.AttemptError, Reason: "ralph could not prepare the attempt", Uncounted: true}
}

// verifyOnly verifies what an earlier attempt finished. No agent is run again.
func (a *attempt) verifyOnly(ctx context.Context) (policy.Decision, error) {
	old, f := a.job.History.Finished, a.job.Finished
	a.talk.told, a.talk.set, a.use.Stop, a.use.Name, a.use.Model = f.Told, f.Set, acp.StopReason(f.Stop), old.Agent, old.ModelEffective
	a.note(ctx, dag.Note{
		Phase: dag.Answered, Agent: old.Agent, Model: old.Model, ModelEffective: old.ModelEffective,
		Base: old.Base, Tree: old.Tree, TreeAfter: old.TreeAfter, Came: old.Came,
	})
	if err := a.evidence.begin(ctx); err != nil {
		return a.unseen(ctx, err)
	}
	return a.verify(ctx), nil
}

// brief makes the prompt, which is kept beside the transcript.
func (a *attempt) brief(ctx context.Context, conflict prompt.Merged) (string, error) {
	sources := a.Sources(ctx, a.job.Place.Dir, a.job.Task, a.job.History.Changed)
	for _, u := range sources.Unread {
		a.WarnOnce(u.Subject, u.Text)
	}
	if by := sources.SpecBy; by != "" {
		a.WarnOnce("spec\x00"+a.job.Task.Feature, fmt.Sprintf("agents are told a spec.md of %s that was changed while %s, was at work, which could write it; look at it", a.job.Task.Feature, by))
	}
	var text string
	if a.job.Review != nil {
		text = reviewPrompt(a.job.Task, *a.job.Review, sources, a.review.patches)
	} else {
		in := Brief(a.job.Brief, sources, a.evidence.before, a.job.History.Last())
		in.Conflict, in.Messages, in.Printed = conflict, a.mail(ctx), a.printed(ctx)
		text, a.talk.told = prompt.Build(in), sources.Told
	}
	text = a.promptBefore(ctx, a.Redact.Text(text))
	return text, os.WriteFile(filepath.Join(a.job.Place.Folder, "prompt.md"), []byte(text), 0o600)
}

// Brief adds to what graph and journal know what the files of the project say. Whatever
// an attempt that did not finish left behind is the next one's to look at.
func Brief(in prompt.Input, s Sources, state git.State, last dag.Attempt) prompt.Input {
	in.Spec, in.Plan, in.Instructions, in.Skills = s.Spec, s.Plan, s.Instructions, s.Skills
	in.Knowledge, in.TaskKnowledge, in.Sections = s.Knowledge, s.TaskKnowledge, s.Sections
	if state.Known {
		in.Git = &prompt.Git{Branch: state.Branch, Head: state.Head, Uncommitted: slices.Clone(state.Uncommitted)}
	}
	if last.ID != "" && !last.Outcome.Done() {
		in.Interrupted = last.Outcome == event.AttemptInterrupted || state.Known && len(state.Uncommitted) > 0
	}
	return in
}

// prepare learns what there is before the agent begins. Where nothing is verified,
// recovery still has to know what the attempt found.
func (a *attempt) prepare(ctx context.Context) error {
	if err := a.evidence.begin(ctx); err != nil || a.job.Verify.Skip || a.job.Review != nil {
		return err
	}
	return a.baseline(ctx)
}

// unseen decides about an attempt that did not come to its agent.
func (a *attempt) unseen(ctx context.Context, err error) (policy.Decision, error) {
	if a.ended = a.endedBy(ctx); a.ended != policy.Running {
		return a.decide(), nil
	}
	if decided := policy.Decided(nil); errors.As(err, &decided) {
		return decided.Decision(), nil
	}
	d := Unprepared()
	d.Reason = "ralph could not look at the project: " + err.Error()
	return d, err
}

// after takes in a turn and asks the policy.
func (a *attempt) after(ctx context.Context, turn acp.Turn, err error) policy.Decision {
	err = cmp.Or(err, a.talk.hear(context.WithoutCancel(ctx), turn, a.job.Place.Folder, a.Redact))
	a.use.Stop = turn.Stop
	a.noteCame(ctx, turn)
	t := &a.turn
	t.Sigils, t.Stop, t.Empty, t.Err = a.talk.set, turn.Stop, turn.Empty(), nil
	t.Parked, _ = a.talk.asks.waiting()
	a.reply(context.WithoutCancel(ctx), turn)
	t.Queries = len(a.queries(context.WithoutCancel(ctx)))
	if t.Unread = 0; t.Sigils.Done {
		t.Unread = len(slices.DeleteFunc(a.unread(ctx), inbox.Request.IsNotice)) // no turn is paid for what the run has noticed
	}
	a.ended = a.endedBy(ctx)
	if err != nil && !errors.As(err, &t.Err) {
		t.Err = &acp.Error{Kind: acp.CannotStart, Op: "start", Text: err.Error(), Err: err}
	}
	d := a.decide()
	if d.Action == policy.Release && t.Err == nil && a.said.Asked > 0 && !d.Drifted {
		changed := len(a.talk.files) > 0 || a.evidence.touched(context.WithoutCancel(ctx))
		if t.Drift = a.watch.atEnd(a.talk.session.Usage(), changed); len(t.Drift) > 0 {
			d = a.decide()
		}
	}
	a.said.Answered = a.said.Answered || !t.Empty
	return d
}

// decide asks the policy about all that is known.
func (a *attempt) decide() policy.Decision {
	return policy.Decide(policy.Facts{
		Ended: a.ended, Limit: a.group.Reason(), Turn: a.turn, Session: a.said, Work: a.work, Agent: a.job.Agent.Standing, Rules: a.job.Rules,
		History: policy.History{Attempts: a.job.Task.Attempts, Retries: a.job.Task.Retries, Drifted: a.drifted},
	})
}

// endedBy says who ended an attempt from outside, if anybody did.
func (a *attempt) endedBy(ctx context.Context) policy.Ended {
	switch {
	case a.group.Exceeded() != nil && (ctx.Err() == nil || overLimit(ctx)):
		return policy.Exceeded
	case ctx.Err() == nil:
		return policy.Running
	case errors.Is(context.Cause(ctx), ErrLost):
		return policy.Lost
	default:
		return policy.Interrupted
	}
}

// overLimit reports whether a context ended because the attempt's processes used too much.
func overLimit(ctx context.Context) bool {
	var e *resource.Exceeded
	return errors.As(context.Cause(ctx), &e)
}

// followUp is the next prompt in the same session; it counts the reason. It says what has
// landed meanwhile, because files have changed by that.
func (a *attempt) followUp(ctx context.Context, d policy.Decision) string {
	task := a.job.Task.ID
	switch d.Say {
	case policy.AskQuery: // alone: what it is told besides would be part of the answer, and be heeded by nobody
		return a.query(ctx, task)
	case policy.AskMoved:
		a.said.Moved++
		a.talk.nextRound(task) // it spoke of other files
		return prompt.Moved(task, a.follow(ctx, true))
	}
	return prompt.Meanwhile(a.follow(ctx, false)) + prompt.Told(a.mail(ctx)) + a.ask(task, d)
}

func (a *attempt) ask(task string, d policy.Decision) string {
	switch d.Say {
	case policy.AskRepair:
		a.said.Repairs++
		a.talk.repaired = append(a.talk.repaired, d.Reason+"\n"+d.Gate.Tail)
		a.work.Checked = false
		a.talk.nextRound(task)
		return prompt.Repair(prompt.RepairInput{
			TaskID: task, Gate: d.Gate.Command,
			Output: prompt.Document{Text: d.Gate.Exit + "\n" + d.Gate.Tail, From: filepath.Join(a.job.Place.Folder, "verify.log")},
		})
	case policy.AskWitness:
		a.said.Repairs++
		a.talk.repaired = append(a.talk.repaired, d.Reason+"\n"+a.evidence.refuted)
		a.work.Checked = false
		a.talk.nextRound(task)
		return prompt.Refuted(task, a.evidence.refuted)
	case policy.AskUncovered:
		a.said.Uncovered++
		a.work.Checked = false
		a.talk.nextRound(task)
		return prompt.Uncovered(task, a.work.Coverage.Unexecuted)
	case policy.AskDrift:
		a.watch.forgive(a.talk.session.Usage())
		if a.talk.approved {
			a.talk.approved = false
			return prompt.GoOn(task)
		}
		a.said.Nudged++
		say := prompt.Unusual
		if slices.ContainsFunc(a.turn.Drift, func(s detect.Signal) bool { return !s.Anomaly() }) {
			say = prompt.Drift
		}
		return say(task, seq.Map(a.turn.Drift, func(s detect.Signal) string { return s.Text }))
	case policy.AskHeed:
		a.said.Heeded++
		a.talk.nextRound(task)
		return prompt.Heed(task)
	case policy.AskGoOn:
		a.said.GoneOn++
		return prompt.GoOn(task)
	default:
		a.said.Asked++
		return prompt.Unfinished(task)
	}
}

// noteDrift reports and records what fired, and what is done about it.
func (a *attempt) noteDrift(ctx context.Context, d policy.Decision) {
	rung := event.DriftNudge
	switch d.Action {
	case policy.Fail:
		rung = event.DriftGiveUp
	case policy.Release:
		rung = event.DriftStronger
	}
	for _, s := range a.turn.Drift {
		a.watch.fired = append(a.watch.fired, string(s.Kind))
	}
	a.note(ctx, dag.Note{Drift: a.watch.fired})
	a.tell(event.Event{Type: event.Drifted, Outcome: string(rung), Reason: detect.Texts(a.turn.Drift)})
}

// notePrompted records that the agent is at work: from now on it costs something,
// whether or not it lives to report what.
func (a *attempt) notePrompted(ctx context.Context) {
	a.evidence.finished, a.evidence.candidate = "", "" // if it was
	a.meter.prompted(a.talk.session)
	used := a.meter.tell()
	a.note(ctx, dag.Note{Phase: dag.Prompted, Usage: &used})
}

// noteCame records what a turn came to, if later tasks may ask. Of a script that is what the terminal says in which it ran, and not what
// its agent says of it. It is on record before the attempt is settled, so that a later task finds both or neither.
func (a *attempt) noteCame(ctx context.Context, turn acp.Turn) {
	if a.job.Task.Output == "" || turn.Stop != acp.StopEnd {
		return
	}
	var came dag.Came
	printed, err := turn.Text()
	if s := a.talk.session; s != nil && s.Evident() {
		if turn.Ran == nil {
			return
		}
		code := turn.Ran.Code
		if printed = turn.Ran.Output(); turn.Ran.Signal != "" {
			code = dag.BySignal
		}
		came.Exit = &code
	}
	if err == nil {
		printed = plain.Tail(a.Redact.Text(strings.ToValidUTF8(strings.ReplaceAll(printed, "\x00", ""), "?")), dag.MaxPrinted) // half a secret would be none
		came.Printed = &printed
	}
	a.note(ctx, dag.Note{Came: came})
}

// note records what became known. That it could not be recorded is no reason to stop
// an agent at work; the settling write will say so.
func (a *attempt) note(ctx context.Context, n dag.Note) {
	if err := a.ports.Record(context.WithoutCancel(ctx), Record{Note: &n}); err != nil {
		a.warn(a.job.Task.ID, "recording the attempt: "+err.Error())
	}
}
