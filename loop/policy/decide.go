// Package policy decides what happens to an attempt after each turn and each check of its
// work: facts in, one decision out. It calls nothing, reads no clock and stores nothing.
package policy

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"ralph/acp"
	"ralph/budget"
	"ralph/event"
	"ralph/internal/drift"
	"ralph/internal/human"
	"ralph/internal/ratelimit"
	"ralph/sigils"
	"ralph/verify"
)

// Action is what happens next with an attempt.
type Action string

// The actions. All but the first three end the attempt.
const (
	Verify   Action = "verify"   // check what it says is done
	Judge    Action = "judge"    // have an agent with fresh eyes look at it
	Reprompt Action = "reprompt" // say something more in the same session
	Wait     Action = "wait"     // give it back until a limit is over; costs nothing
	Complete Action = "complete" // the task is done
	Fail     Action = "fail"     // the task has failed
	Retry    Action = "retry"    // the work was not accepted
	Release  Action = "release"  // give it back to be tried again
	Abort    Action = "abort"    // the claim is lost: nothing to settle
)

// FollowUp is what is said in the same session.
type FollowUp string

// The follow-ups.
const (
	AskUnfinished FollowUp = "unfinished" // did you finish?
	AskGoOn       FollowUp = "go_on"      // you were cut off: go on
	AskRepair     FollowUp = "repair"     // a gate is red: mend it
	AskDrift      FollowUp = "drift"      // you get nowhere: take another way
)

// Facts are all that a decision depends on.
type Facts struct {
	Verified     bool // the work was checked: what follows counts
	Gates        []verify.Check
	CheckErr     error    // what kept the work from being checked
	Tampering    []string // what judges the work and was changed by it
	Unchanged    bool     // nothing differs from what was there before the task's first attempt
	Evident      bool     // it needs no change to be done: a check, or an exit status said so
	Judge        bool     // a verdict is wanted
	Verdict      *verify.Verdict
	JudgeErr     *acp.Error      // what kept an agent from giving one
	Unjudged     *budget.Finding // the budget that did not let one give it
	Disturbed    []string        // files that changed each time a verifier looked
	Repairs      int             // gates sent back into this session
	RepairRounds int
	Resumed      bool // there is no session that could be told anything

	Sigils      sigils.Set
	Stop        acp.StopReason
	Err         *acp.Error // nil if the turn ended properly
	Empty       bool       // no model answered: not a word, no tool call, nothing to pay
	Interrupted bool       // a person or a signal stopped the run
	Lost        bool       // the task was taken away
	Answered    bool       // an earlier turn of this attempt was not empty
	OwnAgent    bool       // the task brings its own agent
	OwnModel    bool       // the task brings its own model
	Substitute  bool       // another agent works, because the run's own has no room
	Proven      bool       // the agent has answered in this run
	Restarted   bool       // it could not be started, although it has answered, and was tried again

	Over    *budget.Finding // a budget that was passed while the agent worked
	Cut     bool            // the turn was cut short because of Drift
	Drift   []drift.Signal  // what is wrong with the attempt
	Nudged  int             // how often it was told in this session
	Drifted int             // earlier attempts that ended for it, since the last reset

	Asked       int // "did you finish?" in this session
	GoneOn      int // "go on" in this session
	Attempts    int // counted ones before this, since the last reset
	MaxAttempts int
	Retries     int           // since the last reset
	RetryFailed int           // how often "failed" is tried again
	Mute        bool          // the agent said nothing to this task before, and has answered to others since
	Suspected   bool          // the agent's last answer in this run was empty, too, and nothing was done about it
	Limited     int           // attempts in a row that ended at a limit, before this one
	LimitWait   time.Duration // for a limit of which nobody said when it is over; 0 means half a minute
	Backoff     time.Duration
}

// Decision says what happens next, and why.
type Decision struct {
	Action  Action
	Say     FollowUp // with Reprompt
	Outcome string   // how the journal remembers it
	Reason  string
	Gate    *verify.Check // with AskRepair

	Limit     *int             // with Retry: of retries, instead of the task's own or the configured one
	Uncounted bool             // no attempt and no iteration is charged
	Delay     time.Duration    // before the task is tried again
	Until     time.Time        // the same as a moment, if a provider named one
	Least     time.Duration    // but not sooner than that
	Everyone  bool             // with Wait: the agent has no room for any task
	Drop      bool             // the agent cannot be used at all: not again in this run
	Aside     bool             // the task is not claimed again in this run
	Drifted   bool             // because of Facts.Drift
	NoAnswer  bool             // counts for the circuit breaker
	EndRun    event.RunOutcome // not empty: the run ends after settling
}

const (
	maxGoOn      = 3
	limitWait    = 30 * time.Second
	maxLimitWait = 10 * time.Minute
	maxBackoff   = 5 * time.Minute
)

// Decide is the policy of the product, asked after every turn and every verdict.
func Decide(f Facts) Decision {
	switch {
	case f.Lost:
		return Decision{Action: Abort, Outcome: "interrupted", Reason: "the task was taken away", Uncounted: true}
	case f.Interrupted && f.Verified:
		return Decision{Action: Release, Outcome: "interrupted", Reason: "its work is finished, and is verified the next time", Uncounted: true}
	case f.Interrupted:
		return Decision{Action: Release, Outcome: "interrupted", Reason: "interrupted", Uncounted: true}
	case f.Verified:
		return judge(f)
	case f.Sigils.Failure:
		return Decision{Action: Release, Outcome: "failed", Reason: "the agent promised FAILURE", EndRun: event.OutcomeFailure}
	case f.Over != nil && (f.Err != nil || !f.Sigils.Done && !f.Sigils.Failed):
		return Overspent(*f.Over)
	case f.Cut:
		return drifted(f)
	case f.Err != nil:
		return afterError(f)
	case f.Stop == acp.StopRefusal:
		return Decision{Action: Fail, Outcome: "refused", Reason: "the model refused the task"}
	case f.Sigils.Done:
		return Decision{Action: Verify, Outcome: "done"}
	case f.Sigils.Failed:
		reason := f.Sigils.FailReason
		if reason == "" {
			reason = "the agent said that it cannot be done"
		}
		if f.Retries < f.RetryFailed {
			return Decision{Action: Retry, Outcome: "retried", Reason: reason, Limit: &f.RetryFailed}
		}
		return Decision{Action: Fail, Outcome: "failed", Reason: reason}
	case len(f.Sigils.Foreign) > 0:
		other := f.Sigils.Foreign[0]
		return release(f, "released", fmt.Sprintf("the agent spoke of another task: %s %s", other.Tag, other.ID))
	case f.Stop == acp.StopMaxTokens || f.Stop == acp.StopMaxTurnRequests:
		if f.GoneOn < maxGoOn {
			return Decision{Action: Reprompt, Say: AskGoOn, Reason: "cut off: " + string(f.Stop)}
		}
		return release(f, "released", fmt.Sprintf("cut off %d times: %s", f.GoneOn+1, f.Stop))
	case f.Stop == acp.StopCancelled:
		return release(f, "error", "the agent cancelled its own turn")
	case f.Empty && !f.Answered && f.Mute:
		return release(f, "error", "an empty answer, though the agent answers to other tasks")
	case f.Empty && !f.Answered:
		d := limited(f, "an empty answer: suspected rate limit or missing login")
		// Where no answer ever came, a login may be missing. An agent that has
		// answered before may have used up its allowance, or have nothing to say to
		// this task: another one is tried before the agent is left alone.
		d.NoAnswer, d.Everyone = !f.Proven, f.Proven && f.Suspected
		return d
	case f.Asked == 0:
		return Decision{Action: Reprompt, Say: AskUnfinished, Reason: "it ended without saying how the task stands"}
	case len(f.Drift) > 0:
		return drifted(f)
	default:
		return release(f, "released", "it ended without saying how the task stands")
	}
}

// drifted decides about an attempt that gets nowhere: the next rung of the ladder.
func drifted(f Facts) Decision {
	past := drift.Past{Nudged: f.Nudged, Ended: f.Drifted}
	if f.Cut && f.Stop == "" {
		past.Nudged++ // it did not stop when it was asked to: there is no session any more
	}
	reason := DriftReason + drift.Texts(f.Drift)
	var d Decision
	switch drift.Ladder(past) {
	case drift.Nudge:
		d = Decision{Action: Reprompt, Say: AskDrift, Reason: reason}
	case drift.Stronger:
		d = release(f, "released", reason)
	default:
		d = Decision{Action: Fail, Outcome: "failed", Reason: reason}
	}
	d.Drifted = true
	return d
}

// DriftReason is how the reason of an attempt begins that ended by drift.
const DriftReason = "drift: "

// judge decides about work that was checked: what cost nothing first. The first
// word of a reason is its kind; the next agent gets it to read.
func judge(f Facts) Decision {
	if f.CheckErr != nil {
		return release(f, "error", f.CheckErr.Error())
	}
	if len(f.Tampering) > 0 {
		return retry("tampering: " + strings.Join(f.Tampering, "; "))
	}
	for i, g := range f.Gates {
		if g.Word() != verify.Failed {
			continue
		}
		reason := fmt.Sprintf("gate %q: %s", g.Command, g.Exit)
		if f.Repairs < f.RepairRounds && !f.Resumed && f.Over == nil {
			return Decision{Action: Reprompt, Say: AskRepair, Reason: reason, Gate: &f.Gates[i]}
		}
		return retry(reason + "\n" + g.Tail)
	}
	if f.Unchanged && !f.Evident && !slices.ContainsFunc(f.Gates, verify.Check.TurnedGreen) {
		return retry("nothing changed: the task was called done, but since its first attempt there is no commit, no difference " +
			"in the files and no gate that turned green; if it needs no change, its kind is check")
	}
	switch {
	case f.Unjudged != nil:
		return unjudged(*f.Unjudged)
	case f.JudgeErr != nil:
		f.Err = f.JudgeErr
		f.OwnAgent, f.OwnModel, f.Substitute = false, false, false // it is not the worker that cannot be had
		return afterError(f)
	case len(f.Disturbed) > 0:
		return Decision{
			Action: Release, Outcome: "interrupted", Uncounted: true, Aside: true,
			Reason: "its work is finished but not verified, because " + DisturbedReason(f.Disturbed) + "; the next run verifies it",
		}
	case f.Judge && f.Verdict == nil:
		return Decision{Action: Judge}
	case f.Verdict != nil && !f.Verdict.Pass:
		return retry("verdict: " + f.Verdict.Reason)
	default:
		return Decision{Action: Complete, Outcome: "done"}
	}
}

func retry(reason string) Decision {
	return Decision{Action: Retry, Outcome: "retried", Reason: reason}
}

// afterError decides about a turn that did not end properly. What the agent said
// before counts for nothing: it may have been in the middle of its work.
func afterError(f Facts) Decision {
	reason := f.Err.Error()
	switch f.Err.Kind {
	case acp.NotFound, acp.CannotStart, acp.WrongVersion, acp.AuthRequired, acp.ModelUnknown:
		if f.OwnAgent || (f.OwnModel && f.Err.Kind == acp.ModelUnknown) { // only this task is concerned, and only a person can mend it
			return Decision{Action: Fail, Outcome: "error", Reason: "its own agent or model cannot be used: " + reason}
		}
		if f.Substitute { // the run's own agent can still be waited for
			return Decision{Action: Release, Outcome: "error", Reason: reason, Uncounted: true, Drop: true}
		}
		// It is not the task's fault.
		d := Decision{Action: Release, Outcome: "error", Reason: reason, Uncounted: true, NoAnswer: true}
		if !f.Restarted { // otherwise the circuit breaker decides
			d.EndRun = event.OutcomeUnavailable
		}
		return d
	case acp.RateLimited:
		d := limited(f, reason)
		d.Everyone, d.Until = true, f.Err.Until
		if f.Err.RetryAfter > 0 {
			d.Delay = min(f.Err.RetryAfter, ratelimit.Longest)
		}
		return d
	case acp.IdleTimeout, acp.TurnTimeout:
		d := release(f, "timeout", reason)
		d.NoAnswer = f.Empty && !f.Answered
		return d
	default:
		d := release(f, "error", reason)
		d.NoAnswer = f.Empty && !f.Answered
		return d
	}
}

// release gives a task back, and fails it when that happened too often: a silent
// agent must not eat the night.
func release(f Facts, outcome, reason string) Decision {
	if f.Attempts+1 >= f.MaxAttempts {
		return Decision{Action: Fail, Outcome: outcome, Reason: fmt.Sprintf("no result in %d attempts; the last: %s", f.Attempts+1, reason)}
	}
	return Decision{Action: Release, Outcome: outcome, Reason: reason, Delay: backoff(f.Backoff, f.Attempts)}
}

func limited(f Facts, reason string) Decision {
	d := Decision{Action: Wait, Outcome: "limited", Reason: reason, Uncounted: true, Delay: f.limitDelay(f.Limited)}
	if f.Limited >= believed {
		d.Least = f.limitDelay(f.Limited - believed)
	}
	return d
}

// believed is how often in a row a provider is believed that says when there is
// room again. After that agents would be started all night for nothing.
const believed = 3

// limitDelay is how long a limit is waited for after so many of them in a row.
func (f Facts) limitDelay(before int) time.Duration {
	wait := cmp.Or(f.LimitWait, limitWait)
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

// Overspent decides about an attempt that may not go on. A task that used up its
// own budget has failed; any other keeps its attempts, and what was done so far.
func Overspent(f budget.Finding) Decision {
	if f.Scope == budget.Task {
		return Decision{Action: Fail, Outcome: "failed", Reason: "its budget is used up: " + f.Text}
	}
	return Decision{Action: Release, Outcome: "interrupted", Reason: "a budget is used up: " + f.Text, Uncounted: true}
}

// unjudged decides about finished work that nobody may be paid for looking at. It is
// kept, and the next run only has it judged; but a task that used up its own budget
// would wait for that for ever.
func unjudged(f budget.Finding) Decision {
	d := Overspent(f)
	d.Reason = strings.Replace(d.Reason, "used up", "used up before the work could be judged", 1)
	return d
}

// DisturbedReason says why a verdict does not count.
func DisturbedReason(files []string) string {
	return "project files changed while the verifier looked: " + human.List(files, 5)
}
