// Package policy decides what happens to an attempt after each turn and each check of its
// work: facts in, one decision out. It calls nothing, reads no clock and stores nothing.
package policy

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"

	"ralph/acp"
	"ralph/internal/budget"
	"ralph/internal/detect"
	"ralph/internal/event"
	"ralph/internal/human"
	"ralph/internal/ratelimit"
	"ralph/verify"
)

// Action is what happens next with an attempt.
type Action string

// The actions. All but the first four end the attempt.
const (
	Verify     Action = "verify"      // check what it says is done
	AskVerdict Action = "ask_verdict" // have the verifier agent review it
	Reprompt   Action = "reprompt"    // say something more in the same session
	Resolve    Action = "resolve"     // have a new session resolve a conflict
	Wait       Action = "wait"        // give it back until a limit is over; costs nothing
	Complete   Action = "complete"    // the task is done
	Hold       Action = "hold"        // it passed its gates, and a person is to look at it before it lands
	Fail       Action = "fail"        // the task has failed
	Retry      Action = "retry"       // the work was not accepted
	Release    Action = "release"     // give it back to be tried again
	Park       Action = "park"        // give it back until a person has answered; costs nothing
	Abort      Action = "abort"       // the claim is lost: nothing to settle
)

// FollowUp is what is said in the same session.
type FollowUp string

// The follow-ups.
const (
	AskUnfinished FollowUp = "unfinished" // did you finish?
	AskGoOn       FollowUp = "go_on"      // you were cut off: go on
	AskRepair     FollowUp = "repair"     // a gate is red: repair it
	AskDrift      FollowUp = "drift"      // you get nowhere: take another way
	AskHeed       FollowUp = "heed"       // there are messages for you: do as they say
	AskQuery      FollowUp = "query"      // a person asks you something: answer it
	AskUncovered  FollowUp = "uncovered"  // no gate executed some of your lines: test or remove them
	AskWitness    FollowUp = "witness"    // a check that another agent wrote fails: repair the work, or say why that is wrong
	AskMoved      FollowUp = "moved"      // what landed conflicts with your work: resolve that and go on
)

// Reach is what a rate limit of an agent holds for.
type Reach int

// A limit that is only suspected never reaches other projects.
const (
	OneTask    Reach = iota // the task that met it
	AnyTask                 // every task of the project
	AnyProject              // every project of the account: a provider stated it
)

// Decision says what happens next, and why.
type Decision struct {
	Action  Action
	Say     FollowUp             // with Reprompt
	Outcome event.AttemptOutcome // how the journal remembers it
	Reason  string
	Gate    *verify.Check // with AskRepair

	Rejected event.Rejection // with Retry or Fail: what kind of reason that is, if the work was done

	Conflict  []string         // with Retry: files that whoever tries next has to itself
	Limit     *int             // with Retry: of retries, instead of the task's own or the configured one
	BlockedOn string           // with Release: the task that has to be done first
	Uncounted bool             // no attempt and no iteration is charged
	Delay     time.Duration    // before the task is tried again
	Until     time.Time        // the same as a moment, if a provider named one
	Least     time.Duration    // but not sooner than that
	Limits    Reach            // with Wait: what else the agent is rate-limited for
	Drop      bool             // the agent cannot be used at all: not again in this run
	Aside     bool             // the task is not claimed again in this run
	Hooked    bool             // with Aside: because of a hook
	Drifted   bool             // because of Turn.Drift
	NoAnswer  bool             // counts for the circuit breaker
	EndRun    event.RunOutcome // not empty: the run ends after settling
}

// Passed reports whether the work may land, now or once a person has looked at it.
func (d Decision) Passed() bool { return d.Action == Complete || d.Action == Hold }

const (
	maxGoOn      = 3
	maxHeeded    = 3
	maxQueried   = 20
	limitWait    = 30 * time.Second
	maxLimitWait = 10 * time.Minute
	maxBackoff   = 5 * time.Minute
)

// Decide is the policy of the product, asked after every turn and every verdict.
func Decide(f Facts) Decision {
	switch {
	case f.Ended == Lost:
		return Decision{Action: Abort, Outcome: event.AttemptInterrupted, Reason: "the task was taken away", Uncounted: true}
	case f.Ended == Interrupted && f.Work.Checked:
		return Decision{Action: Release, Outcome: event.AttemptInterrupted, Reason: "its work is finished, and is verified the next time", Uncounted: true}
	case f.Ended == Interrupted:
		return Decision{Action: Release, Outcome: event.AttemptInterrupted, Reason: "interrupted", Uncounted: true}
	case f.Ended == Exceeded && f.Work.Checked: // whoever works next gets that to read
		return reject(event.RejectedGate, f.Limit)
	case f.Ended == Exceeded:
		return release(f, event.AttemptError, f.Limit)
	case f.Work.Checked:
		return decideChecked(f)
	case f.Turn.Sigils.Failure:
		return Decision{Action: Release, Outcome: event.AttemptFailed, Reason: "the agent promised FAILURE", EndRun: event.OutcomeFailure}
	case f.Turn.Over != nil && !f.Turn.finished():
		return Overspent(*f.Turn.Over)
	case f.Turn.Parked != "" && (f.Turn.Err != nil || !f.Turn.Sigils.Done): // what went wrong meanwhile may have come of the cut
		return Decision{Action: Park, Outcome: event.AttemptAsked, Reason: "it waits for the answer to " + f.Turn.Parked, Uncounted: true}
	case f.Turn.Cut:
		return drifted(f)
	case f.Turn.Moved && f.Turn.Stop == "": // it did not stop when it was asked to: there is no session any more
		return Decision{Action: Resolve, Reason: movedReason}
	case f.Turn.Moved:
		return Decision{Action: Reprompt, Say: AskMoved, Reason: movedReason}
	case f.Turn.Err != nil:
		return afterError(f)
	case f.Turn.Stop == acp.StopRefusal:
		return Decision{Action: Fail, Outcome: event.AttemptRefused, Reason: "the model refused the task"}
	case f.Turn.Queries > 0 && f.mayAnswer():
		return Decision{Action: Reprompt, Say: AskQuery, Reason: "a person asks it something"}
	case f.Turn.Sigils.Done:
		if f.Turn.Unread > 0 && f.Session.Heeded < maxHeeded {
			return Decision{Action: Reprompt, Say: AskHeed, Reason: "messages came while it worked"}
		}
		return Decision{Action: Verify, Outcome: event.AttemptDone}
	case f.Turn.Sigils.Failed:
		reason := cmp.Or(f.Turn.Sigils.FailReason, "the agent said that it cannot be done")
		switch {
		case strings.HasPrefix(reason, fulfilled): // as the prompt has it say, and another attempt would, too
			return Decision{Action: Fail, Outcome: event.AttemptFailed, Reason: reason, Rejected: event.RejectedUnchanged}
		case f.History.Retries < f.Rules.RetryFailed:
			return Decision{Action: Retry, Outcome: event.AttemptRetried, Reason: reason, Limit: &f.Rules.RetryFailed}
		}
		return Decision{Action: Fail, Outcome: event.AttemptFailed, Reason: reason}
	case f.Turn.Sigils.BlockedOn != "":
		d := release(f, event.AttemptReleased, "it waits for "+f.Turn.Sigils.BlockedOn+", as its agent reported")
		d.Delay, d.BlockedOn = 0, f.Turn.Sigils.BlockedOn
		return d
	case len(f.Turn.Sigils.Foreign) > 0:
		other := f.Turn.Sigils.Foreign[0]
		return release(f, event.AttemptReleased, fmt.Sprintf("the agent spoke of another task: %s %s", other.Tag, other.ID))
	case f.Turn.Stop == acp.StopMaxTokens || f.Turn.Stop == acp.StopMaxTurnRequests:
		if f.Session.GoneOn < maxGoOn {
			return Decision{Action: Reprompt, Say: AskGoOn, Reason: "cut off: " + string(f.Turn.Stop)}
		}
		return release(f, event.AttemptReleased, fmt.Sprintf("cut off %d times: %s", f.Session.GoneOn+1, f.Turn.Stop))
	case f.Turn.Stop == acp.StopCancelled:
		return release(f, event.AttemptError, "the agent cancelled its own turn")
	case f.Turn.Empty && !f.Session.Answered:
		if f.Agent.Mute {
			return release(f, event.AttemptError, "an empty answer, though the agent answers to other tasks")
		}
		d := limited(f, "an empty answer: suspected rate limit or missing login")
		// Where no answer ever came, a login may be missing. An agent that has
		// answered before may have used up its allowance, or have nothing to say to
		// this task: another one is tried before the agent is left alone.
		if d.NoAnswer = !f.Agent.Proven; f.Agent.Proven && f.Agent.Suspected {
			d.Limits = AnyTask
		}
		return d
	case f.Session.Asked == 0:
		return Decision{Action: Reprompt, Say: AskUnfinished, Reason: "it ended without saying how the task stands"}
	case len(f.Turn.Drift) > 0:
		return drifted(f)
	default:
		return release(f, event.AttemptReleased, "it ended without saying how the task stands")
	}
}

// drifted decides about an attempt that gets nowhere: the next rung of the ladder. A stronger model is asked to change once, too.
func drifted(f Facts) Decision {
	nudged := f.Session.Nudged
	if f.Turn.Cut && f.Turn.Stop == "" {
		nudged++ // it did not stop when it was asked to: there is no session any more
	}
	reason := DriftReason + detect.Texts(f.Turn.Drift)
	var d Decision
	switch {
	case nudged == 0:
		d = Decision{Action: Reprompt, Say: AskDrift, Reason: reason}
	case f.History.Drifted == 0:
		d = release(f, event.AttemptReleased, reason)
	default:
		d = Decision{Action: Fail, Outcome: event.AttemptFailed, Reason: reason}
	}
	d.Drifted = true
	return d
}

// mayGoOn reports whether the attempt can have another turn: there is a session, and no budget is exceeded.
func (f Facts) mayGoOn() bool { return !f.Session.None && f.Turn.Over == nil }

func (f Facts) mayRepair() bool { return f.mayGoOn() && f.Session.Repairs < f.Rules.RepairRounds }

// mayAskUncovered reports whether the agent is asked for tests of what no gate executed: once.
func (f Facts) mayAskUncovered() bool {
	if !f.Rules.AskUncovered || f.Work.Script {
		return false
	}
	return f.mayGoOn() && f.Session.Uncovered == 0
}

// mayAnswer reports whether a turn that ended as it should can be followed by what a person asks.
func (f Facts) mayAnswer() bool {
	if f.Turn.Stop != acp.StopEnd || f.Turn.Empty {
		return false
	}
	return f.Turn.Over == nil && f.Session.Queried < maxQueried
}

// Unchanged is how the reason of work begins that changed nothing.
const Unchanged = "nothing changed: "

// fulfilled is how the reason of a failure begins where an agent finds nothing left to do.
const fulfilled = "already fulfilled"

const nothingChanged = Unchanged + "the task was called done, but since its first attempt there is no commit, no difference in the files " +
	"and no gate that turned green"

const movedReason = "moved: what landed on the target conflicts with the work"

// DriftReason is how the reason of an attempt begins that ended by drift.
const DriftReason = "drift: "

// decideChecked decides about work that was checked: what cost nothing first. The next agent gets the reason to read.
func decideChecked(f Facts) Decision {
	if decided := Decided(nil); errors.As(f.Work.CheckErr, &decided) {
		return decided.Decision()
	}
	if f.Work.CheckErr != nil {
		return release(f, event.AttemptError, f.Work.CheckErr.Error())
	}
	if len(f.Work.Conflict) > 0 {
		d := reject(event.RejectedConflict, "conflict: "+human.Few(f.Work.Conflict)+" changed on the target")
		if len(f.Work.With) > 0 {
			d.Reason += " by " + human.Few(f.Work.With)
		}
		// A script is run again on what landed meanwhile: somebody gets further each time.
		if f.mayGoOn() && (f.Work.Script || f.Session.Resolved < f.Rules.Resolve) {
			return Decision{Action: Resolve, Reason: d.Reason}
		}
		if f.Work.Kept != "" { // the next attempt begins without it
			d.Reason += fmt.Sprintf("; what was done before is in commit %.10s", f.Work.Kept)
		}
		d.Conflict = f.Work.Conflict
		return d
	}
	if len(f.Work.Tampering) > 0 {
		return reject(event.RejectedTampering, "tampering: "+strings.Join(f.Work.Tampering, "; "))
	}
	for i, g := range f.Work.Gates {
		if g.Verdict() != event.GateFailed {
			continue
		}
		reason := fmt.Sprintf("gate %q: %s", g.Command, g.Exit)
		if g.ExpectRed { // there is nothing to repair
			but := ", but the work has to make it fail"
			if !g.Passed && !g.Killed {
				but = ", as before the work, which has to make it fail otherwise"
			}
			return reject(event.RejectedGate, reason+but+"\n"+g.Tail)
		}
		if f.mayRepair() {
			return Decision{Action: Reprompt, Say: AskRepair, Reason: reason, Gate: &f.Work.Gates[i]}
		}
		return reject(event.RejectedGate, reason+"\n"+g.Tail)
	}
	// Only a doubt remains of it afterwards: a witness may be wrong.
	if f.Work.Refuted != "" && !f.Work.Script && f.mayRepair() {
		return Decision{Action: Reprompt, Say: AskWitness, Reason: f.Work.Refuted}
	}
	if f.mayAskUncovered() && f.Work.Coverage.Missed > 0 {
		return Decision{Action: Reprompt, Say: AskUncovered, Reason: f.Work.Coverage.String()}
	}
	if f.Work.Unproven() && !f.Work.MayBeFulfilled() {
		return reject(event.RejectedUnchanged, nothingChanged)
	}
	if len(f.Work.Excused()) > 0 {
		return held(f.Work)
	}
	switch {
	case f.Work.VerifierOver != nil:
		return unverified(*f.Work.VerifierOver)
	case f.Work.VerifierErr != nil:
		f.Turn.Err = f.Work.VerifierErr
		f.Agent.OwnAgent, f.Agent.OwnModel, f.Agent.Substitute = false, false, false // it is not the worker that cannot be had
		return afterError(f)
	case f.Work.WantVerdict && f.Work.Verdict == nil:
		return Decision{Action: AskVerdict}
	case f.Work.Verdict != nil && f.Work.Verdict.Silent:
		return unjudged(f.Work)
	case f.Work.Unproven() && (!f.Work.Verdict.Fulfilled || len(f.Work.Left()) > 0): // there is nothing that could wait
		return reject(event.RejectedUnchanged, nothingChanged+"; the verifier says: "+f.Work.Verdict.Reason)
	case f.Work.Verdict.Refuses():
		return reject(event.RejectedVerdict, "verdict: "+f.Work.Verdict.Reason)
	case f.Work.Unproven():
		return Decision{Action: Complete, Outcome: event.AttemptAlreadyDone, Reason: f.Work.Verdict.Reason}
	case len(f.Work.Nameless()) > 0, len(f.Work.Left()) > 0:
		return held(f.Work)
	default:
		return Decision{Action: Complete, Outcome: event.AttemptDone}
	}
}

func reject(as event.Rejection, reason string) Decision {
	return Decision{Action: Retry, Outcome: event.AttemptRetried, Reason: reason, Rejected: as}
}

// afterError decides about a turn that did not end properly. What the agent said
// before counts for nothing: it may have been in the middle of its work.
func afterError(f Facts) Decision {
	reason := f.Turn.Err.Error()
	switch f.Turn.Err.Kind {
	case acp.NotFound, acp.CannotStart, acp.WrongVersion, acp.AuthRequired, acp.ModelUnknown:
		if f.Agent.OwnAgent || (f.Agent.OwnModel && f.Turn.Err.Kind == acp.ModelUnknown) { // only this task is concerned, and only a person can fix it
			return Decision{Action: Fail, Outcome: event.AttemptError, Reason: "its own agent or model cannot be used: " + reason}
		}
		if f.Agent.Substitute { // the run's own agent can still be waited for
			return Decision{Action: Release, Outcome: event.AttemptError, Reason: reason, Uncounted: true, Drop: true}
		}
		// It is not the task's fault.
		d := Decision{Action: Release, Outcome: event.AttemptError, Reason: reason, Uncounted: true, NoAnswer: true}
		if !f.Session.Restarted { // otherwise the circuit breaker decides
			d.EndRun = event.OutcomeUnavailable
		}
		return d
	case acp.Unkept: // nor is a full disk, and the next attempt would find it full
		return Decision{Action: Release, Outcome: event.AttemptError, Reason: reason, Uncounted: true, EndRun: event.OutcomeError}
	case acp.RateLimited:
		d := limited(f, reason)
		d.Limits, d.Until = AnyProject, f.Turn.Err.Until
		if f.Turn.Err.RetryAfter > 0 {
			d.Delay = min(f.Turn.Err.RetryAfter, ratelimit.Longest)
		}
		return d
	}
	outcome := event.AttemptError
	if kind := f.Turn.Err.Kind; kind == acp.IdleTimeout || kind == acp.TurnTimeout {
		outcome = event.AttemptTimeout
	}
	d := release(f, outcome, reason)
	d.NoAnswer = f.Turn.Empty && !f.Session.Answered
	return d
}

// release gives a task back, and fails it when that happened too often: a silent
// agent must not eat the night.
func release(f Facts, outcome event.AttemptOutcome, reason string) Decision {
	if f.History.Attempts+1 >= f.Rules.MaxAttempts {
		return Decision{Action: Fail, Outcome: outcome, Reason: fmt.Sprintf("no result in %d attempts; the last: %s", f.History.Attempts+1, reason)}
	}
	return Decision{Action: Release, Outcome: outcome, Reason: reason, Delay: backoff(f.Rules.Backoff, f.History.Attempts)}
}

func limited(f Facts, reason string) Decision {
	d := Decision{Action: Wait, Outcome: event.AttemptLimited, Reason: reason, Uncounted: true, Delay: f.Rules.limitDelay(f.Agent.Limited)}
	if f.Agent.Limited >= believed {
		d.Least = f.Rules.limitDelay(f.Agent.Limited - believed)
	}
	return d
}

// believed is how often in a row a provider is believed that says when its
// limit ends. After that agents would be started all night for nothing.
const believed = 3

// limitDelay is how long a limit is waited for after so many of them in a row.
func (r Rules) limitDelay(before int) time.Duration {
	wait := cmp.Or(r.LimitWait, limitWait)
	for range before {
		wait = min(2*wait, maxLimitWait)
	}
	return wait
}

// backoff grows threefold with each attempt, so that other tasks go first.
func backoff(base time.Duration, attempts int) time.Duration {
	d := min(base, maxBackoff)
	for range attempts {
		d = min(3*d, maxBackoff)
	}
	return d
}

// Overspent decides about an attempt that may not continue. A task that used up its
// own budget has failed; any other keeps its attempts, and what was done so far.
func Overspent(f budget.Finding) Decision {
	if f.Scope == budget.Task {
		return Decision{Action: Fail, Outcome: event.AttemptFailed, Reason: "its budget is used up: " + f.Text}
	}
	return Decision{Action: Release, Outcome: event.AttemptInterrupted, Reason: "a budget is used up: " + f.Text, Uncounted: true}
}

// unverified decides about finished work that nobody may be paid for looking at. It is
// kept, and the next run only has it verified; but a task that used up its own budget
// would wait for that for ever.
func unverified(f budget.Finding) Decision {
	d := Overspent(f)
	d.Reason = strings.Replace(d.Reason, "used up", "used up before the work could be verified", 1)
	return d
}

// unjudged decides about finished work of which no verifier said anything: a person does. The worker would only do it again.
func unjudged(w Work) Decision {
	if w.Unproven() { // there is nothing that could wait
		return final(reject(event.RejectedUnchanged, nothingChanged+"; the verifier says: "+w.Verdict.Reason))
	}
	return held(w)
}

// held decides about work that only a person can judge, and names every reason for that.
func held(w Work) Decision {
	var excused, nameless, verdict string
	left := w.Left()
	if gates := w.Excused(); len(gates) > 0 {
		excused = "every gate failed before the work and still does: " + human.Few(gates)
	} else if gates := w.Nameless(); len(gates) > 0 {
		nameless = "gates failed before the work and still do, without naming what fails: " + human.Few(gates)
	}
	if w.Verdict != nil && (w.Verdict.Silent || len(left) > 0) {
		verdict = w.Verdict.Reason
	}
	reasons := human.Parts(excused, nameless, verify.Whys(left), verdict)
	return Decision{Action: Hold, Outcome: event.AttemptReleased, Reason: "its work waits for review: " + strings.Join(reasons, "; ")}
}

// final rejects work that another attempt would leave the same.
func final(rejected Decision) Decision {
	rejected.Limit = new(int)
	return rejected
}

// Decided is an error that says what follows from it.
type Decided interface {
	error
	Decision() Decision
}

// Halted is what keeps all work from landing until a person looks.
type Halted struct{ Reason string }

func (h Halted) Error() string { return h.Reason }

// Decision gives a task back, and ends the run.
func (h Halted) Decision() Decision {
	return Decision{Action: Release, Outcome: event.AttemptInterrupted, Uncounted: true, Reason: h.Reason, EndRun: event.OutcomeBlocked}
}

// BrokenBase is what is wrong with the held work that a task stands on, and not with its own.
type BrokenBase struct{ Reason string }

func (b BrokenBase) Error() string { return b.Reason }

// Decision gives a task back, at no charge.
func (b BrokenBase) Decision() Decision {
	return Decision{Action: Release, Outcome: event.AttemptReleased, Uncounted: true, Reason: b.Reason}
}

// Unlandable is work that cannot land as it is.
type Unlandable struct{ Reason string }

func (u Unlandable) Error() string { return u.Reason }

// Decision rejects the work.
func (u Unlandable) Decision() Decision {
	return reject(event.RejectedIncomplete, "incomplete: "+u.Reason)
}

// Tampered is work that changed what it must not.
type Tampered struct{ Reason string }

func (t Tampered) Error() string { return t.Reason }

// Decision rejects the work.
func (t Tampered) Decision() Decision {
	return reject(event.RejectedTampering, "tampering: "+t.Reason)
}

// Refused is work that a hook, or what a person has changed, does not let land.
type Refused struct{ Reason string }

func (r Refused) Error() string { return r.Reason }

// Decision rejects the work.
func (r Refused) Decision() Decision { return reject(event.RejectedGate, r.Reason) }

// KeptBack decides about a task that a hook does not let begin. Nothing is charged, and this run does not try again: the
// hook would most likely say the same for ever.
func KeptBack(reason string) Decision {
	return Decision{Action: Release, Outcome: event.AttemptInterrupted, Uncounted: true, Aside: true, Hooked: true, Reason: reason}
}
