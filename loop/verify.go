package loop

import (
	"cmp"
	"context"
	"errors"
	"path/filepath"

	"ralph/acp"
	"ralph/dag"
	"ralph/event"
	"ralph/internal/git"
	"ralph/internal/redact"
	"ralph/internal/testing/failpoint"
	"ralph/loop/policy"
	"ralph/prompt"
	"ralph/sigils"
)

// verify checks what the agent says is done: whether it touched what judges it,
// the gates, whether anything changed at all, and then the eyes of another agent.
func (a *attempt) verify(ctx context.Context) policy.Decision {
	f := &a.facts
	f.Work.Checked, f.Work.Verdict, f.Work.VerifierErr, f.Work.VerifierOver, f.Work.Disturbed = true, nil, nil, nil, nil
	taken, err := a.finish(ctx)
	if a.resumed == nil {
		if err := a.keepFinished(); err != nil {
			a.bus.warn(a.claim.Task.ID, "keeping what is to be verified: "+err.Error())
		} else {
			used := a.usage()
			note := dag.Note{Usage: &used}
			note.Phase, note.StopReason, note.TreeAfter = dag.Answered, string(a.stop), a.finished
			a.note(ctx, note)
		}
	}
	failpoint.Hit("K8")
	if a.opts.Skip || f.Ended == policy.Interrupted {
		return policy.Decide(*f)
	}
	a.note(ctx, dag.Note{Phase: dag.Verifying})
	now, err := a.examine(ctx, taken, err)
	if err == nil && len(f.Work.Tampering) == 0 {
		if f.Work.Gates, err = a.gates(ctx); err == nil {
			err = a.examineAgain(ctx)
		}
	}
	f.Work.CheckErr = err
	f.Work.WantVerdict = a.opts.Verdicts && (a.opts.OwnJudge || !a.evident())
	f.Ended = ended(ctx)
	a.note(ctx, dag.Note{Gates: records(f.Work.Gates)})
	d := policy.Decide(*f)
	if d.Action == policy.AskVerdict {
		if f.Work.VerifierOver = a.spentUp(ctx); f.Work.VerifierOver == nil {
			a.judge(ctx, now)
			f.Work.CheckErr = a.examineAgain(ctx)
			f.Ended = ended(ctx)
		}
		d = policy.Decide(*f)
	}
	return d
}

// finishedMeanwhile says that the agent was done, and its turn at an end, when the run
// was stopped: its work is kept as finished, and verified the next time.
func (a *attempt) finishedMeanwhile() bool {
	f := a.facts
	itself := (f.Turn.Err == nil || f.Turn.Err.Kind == acp.Cancelled) && f.Turn.Stop == acp.StopEnd
	return f.Ended == policy.Interrupted && itself && f.Turn.Sigils.Done && !f.Turn.Sigils.Failure
}

// evident says that the agent's word rests on an exit status.
func (a *attempt) evident() bool {
	if a.resumed != nil {
		return a.resumed.Evident
	}
	return a.session != nil && a.session.Evident()
}

// repair is what the agent is told about a red gate.
func (a *attempt) repair(d policy.Decision) string {
	a.answered()
	return prompt.Repair(prompt.RepairInput{
		TaskID: a.claim.Task.ID, Gate: d.Gate.Command, Inert: sigils.Inert,
		Output: prompt.Document{Text: d.Gate.Exit + "\n" + d.Gate.Tail, From: filepath.Join(a.folder, "verify.log")},
	})
}

// answered closes a round: what was said in it about the task no longer counts,
// what was noted and learned stays.
func (a *attempt) answered() {
	kept := a.scan.Set()
	a.kept.Journal = joinNotes(a.kept.Journal, kept.Journal)
	a.kept.Knowledge = append(a.kept.Knowledge, kept.Knowledge...)
	a.kept.NextModel = cmp.Or(kept.NextModel, a.kept.NextModel)
	a.scan = sigils.NewScanner(a.claim.Task.ID)
}

// heard is what the agent has said in all rounds. Sigils are found in the text as it
// came; what they hold is for records and prompts, and so has no secrets.
func (a *attempt) heard() sigils.Set {
	set := a.scan.Set()
	set.Journal = joinNotes(a.kept.Journal, set.Journal)
	set.Knowledge = append(append([]sigils.Knowledge(nil), a.kept.Knowledge...), set.Knowledge...)
	set.NextModel = cmp.Or(set.NextModel, a.kept.NextModel)
	return redact.Deep(a.opts.Redact, set)
}

func joinNotes(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "\n\n" + b
}

// judge asks an agent with fresh eyes, and once more if the project changed while it
// looked: nobody knows then what it saw.
func (a *attempt) judge(ctx context.Context, now string) {
	f := &a.facts
	for round := 1; ; round++ {
		since := a.opts.Now()
		var before git.Taken
		var err error
		if a.tree != "" {
			before, err = a.take(ctx)
		}
		e := a.ask(ctx, now)
		if f.Work.Disturbed = nil; err == nil && f.Work.VerifierErr == nil && f.Work.VerifierOver == nil && ctx.Err() == nil {
			f.Work.Disturbed = a.changedMeanwhile(ctx, before.Tree, since)
		}
		if len(f.Work.Disturbed) > 0 {
			f.Work.Verdict = nil
			e.Outcome, e.Reason, e.Files = string(event.VerdictNone), policy.DisturbedReason(f.Work.Disturbed), f.Work.Disturbed
			a.note(ctx, dag.Note{Verdict: "none: " + e.Reason})
		}
		a.bus.emit(e)
		if len(f.Work.Disturbed) == 0 || round == rounds {
			return
		}
		if f.Work.VerifierOver = a.spentUp(ctx); f.Work.VerifierOver != nil {
			return
		}
		now = a.taken.Tree // what the next one finds
	}
}

// rounds is how often a verdict is asked for while the project keeps changing.
const rounds = 2

// ask has one verifier look, and returns the event that says what came of it.
func (a *attempt) ask(ctx context.Context, now string) event.Event {
	f, t := &a.facts, a.claim.Task
	in := prompt.VerifyInput{Task: prompt.Task{ID: t.ID, Title: t.Title, Description: t.Description}, Inert: sigils.Inert}
	if a.opts.Context != nil {
		c := a.opts.Context(t)
		in.Spec, in.Plan = c.Spec, c.Plan
	}
	if now != "" {
		patch, cut, err := git.Patch(ctx, a.opts.Dir, a.opts.Objects, a.base.Tree, now, maxPatch)
		if err != nil {
			patch = "(" + err.Error() + ")"
		}
		in.Diff = prompt.Document{Text: patch, From: "the difference since the task began"}
		if cut {
			in.Diff.From += ", cut: look at the files for the rest"
		}
	}
	for _, g := range f.Work.Gates {
		in.Gates = append(in.Gates, prompt.Gate{Name: g.Command, Passed: g.Passed, Output: g.Tail})
	}
	a.bus.emit(event.Event{Type: event.VerifierStarted, Task: t.ID, Attempt: a.claim.Attempt})
	verdict, err := a.verdict(ctx, prompt.Verify(in))
	e := event.Event{Type: event.VerifierEnded, Task: t.ID, Attempt: a.claim.Attempt, Outcome: string(event.VerdictPass), Reason: verdict.Reason}
	if err != nil {
		if f.Work.VerifierOver = asOverspent(err); f.Work.VerifierOver == nil && !errors.As(err, &f.Work.VerifierErr) {
			f.Work.VerifierErr = &acp.Error{Kind: acp.Cancelled, Op: "verify", Text: err.Error(), Err: err}
		}
		e.Outcome, e.Reason = string(event.VerdictNone), err.Error()
		return e
	}
	f.Work.Verdict = &verdict
	a.note(ctx, dag.Note{Verdict: verdict.String()})
	if !verdict.Pass {
		e.Outcome = string(event.VerdictFail)
	}
	return e
}

// maxPatch is how much of a difference is read; the prompt cuts further.
const maxPatch = 256 << 10
