package policy

import (
	"errors"
	"testing"
	"time"

	"ralph/acp"
	"ralph/event"
	"ralph/internal/proc"
	"ralph/internal/testing/check"
	"ralph/sigils"
	"ralph/verify"
)

// The sets that tests speak of.
var (
	saysDone  = sigils.Set{Done: true}
	greenGate = verify.Check{Result: verify.Result{Command: "make", Passed: true, Exit: "exit status 0"}}
	redGate   = verify.Check{Result: verify.Result{Command: "make test", Exit: "exit status 2", Tail: "FAIL x\n"}}
)

// facts are those of a first attempt whose first turn ended properly, with a
// limit of five attempts and a backoff of five seconds.
func facts(change func(*Facts)) Facts {
	f := Facts{Turn: Turn{Stop: acp.StopEnd}, Rules: Rules{MaxAttempts: 5, Backoff: 5 * time.Second}}
	if change != nil {
		change(&f)
	}
	return f
}

func failing(kind acp.Kind) *acp.Error { return &acp.Error{Kind: kind, Op: "session/prompt"} }

// TestDecide is the whole policy.
func TestDecide(t *testing.T) {
	t.Parallel()
	const unsaid = "it ended without saying how the task stands"
	decisions{
		"done is verified, not believed": {
			facts(func(f *Facts) { f.Turn.Sigils = saysDone }),
			Decision{Action: Verify, Outcome: "done"},
		},
		"failed fails the task with the agent's reason": {
			facts(func(f *Facts) { f.Turn.Sigils = sigils.Set{Failed: true, FailReason: "no compiler"} }),
			Decision{Action: Fail, Outcome: "failed", Reason: "no compiler"},
		},
		"failed without a reason gets one": {
			facts(func(f *Facts) { f.Turn.Sigils = sigils.Set{Failed: true} }),
			Decision{Action: Fail, Outcome: "failed", Reason: "the agent said that it cannot be done"},
		},
		"done and failed together is done": {
			facts(func(f *Facts) { f.Turn.Sigils = sigils.Set{Done: true, Failed: true, FailReason: "x"} }),
			Decision{Action: Verify, Outcome: "done"},
		},
		"done beside a sigil for another task is done": {
			facts(func(f *Facts) {
				f.Turn.Sigils = sigils.Set{Done: true, Foreign: []sigils.Foreign{{Tag: "task-done", ID: "t-2"}}}
			}),
			Decision{Action: Verify, Outcome: "done"},
		},

		"no sigil the first time asks whether it finished": {
			facts(nil),
			Decision{Action: Reprompt, Say: AskUnfinished, Reason: unsaid},
		},
		"no sigil a second time releases with backoff": {
			facts(func(f *Facts) { f.Session.Asked = 1 }),
			Decision{Action: Release, Outcome: "released", Reason: unsaid, Delay: 5 * time.Second},
		},
		"the backoff grows threefold with each counted attempt": {
			facts(func(f *Facts) { f.Session.Asked, f.History.Attempts = 1, 2 }),
			Decision{Action: Release, Outcome: "released", Reason: unsaid, Delay: 45 * time.Second},
		},
		"the backoff has an end": {
			facts(func(f *Facts) { f.Session.Asked, f.History.Attempts, f.Rules.MaxAttempts = 1, 60, 100 }),
			Decision{Action: Release, Outcome: "released", Reason: unsaid, Delay: 5 * time.Minute},
		},
		"a configured backoff beyond the end is cut": {
			facts(func(f *Facts) { f.Session.Asked, f.History.Attempts, f.Rules.Backoff = 1, 1, 1<<62 }),
			Decision{Action: Release, Outcome: "released", Reason: unsaid, Delay: 5 * time.Minute},
		},
		"no sigil in the last attempt fails the task with that reason": {
			facts(func(f *Facts) { f.Session.Asked, f.History.Attempts = 1, 4 }),
			Decision{Action: Fail, Outcome: "released", Reason: "no result in 5 attempts; the last: " + unsaid},
		},
		"no sigil in the last attempt is still asked about first": {
			facts(func(f *Facts) { f.History.Attempts = 4 }),
			Decision{Action: Reprompt, Say: AskUnfinished, Reason: unsaid},
		},
		"a journal note alone says nothing about the task": {
			facts(func(f *Facts) { f.Session.Asked, f.Turn.Sigils = 1, sigils.Set{Journal: "note"} }),
			Decision{Action: Release, Outcome: "released", Reason: unsaid, Delay: 5 * time.Second},
		},
		"a verdict of a verifier means nothing from a worker": {
			facts(func(f *Facts) { f.Session.Asked, f.Turn.Sigils = 1, sigils.Set{VerifyPass: true} }),
			Decision{Action: Release, Outcome: "released", Reason: unsaid, Delay: 5 * time.Second},
		},

		"a wrong ID releases the task": {
			facts(func(f *Facts) { f.Turn.Sigils = sigils.Set{Foreign: []sigils.Foreign{{Tag: "task-done", ID: "t-2"}}} }),
			Decision{Action: Release, Outcome: "released", Reason: "the agent spoke of another task: task-done t-2", Delay: 5 * time.Second},
		},
		"a wrong ID in the last attempt fails the task": {
			facts(func(f *Facts) {
				f.History.Attempts, f.Turn.Sigils = 4, sigils.Set{Foreign: []sigils.Foreign{{Tag: "task-failed", ID: "t-2"}}}
			}),
			Decision{Action: Fail, Outcome: "released", Reason: "no result in 5 attempts; the last: the agent spoke of another task: task-failed t-2"},
		},

		"promise COMPLETE alone is only recorded": {
			facts(func(f *Facts) { f.Turn.Sigils = sigils.Set{Complete: true} }),
			Decision{Action: Reprompt, Say: AskUnfinished, Reason: unsaid},
		},
		"promise COMPLETE beside done changes nothing": {
			facts(func(f *Facts) { f.Turn.Sigils = sigils.Set{Complete: true, Done: true} }),
			Decision{Action: Verify, Outcome: "done"},
		},
		"promise FAILURE releases the task and then ends the run": {
			facts(func(f *Facts) { f.Turn.Sigils = sigils.Set{Failure: true} }),
			Decision{Action: Release, Outcome: "failed", Reason: "the agent promised FAILURE", EndRun: event.OutcomeFailure},
		},
		"promise FAILURE beside done ends the run": {
			facts(func(f *Facts) { f.Turn.Sigils = sigils.Set{Failure: true, Done: true} }),
			Decision{Action: Release, Outcome: "failed", Reason: "the agent promised FAILURE", EndRun: event.OutcomeFailure},
		},
		"promise FAILURE before a crash ends the run": {
			facts(func(f *Facts) { f.Turn.Sigils, f.Turn.Err = sigils.Set{Failure: true}, failing(acp.Died) }),
			Decision{Action: Release, Outcome: "failed", Reason: "the agent promised FAILURE", EndRun: event.OutcomeFailure},
		},

		"an empty answer is a suspected limit and costs nothing": {
			facts(func(f *Facts) { f.Turn.Empty = true }),
			Decision{
				Action: Wait, Outcome: "limited", Reason: "an empty answer: suspected rate limit or missing login",
				Uncounted: true, NoAnswer: true, Delay: 30 * time.Second,
			},
		},
		"an empty answer in the last attempt does not fail the task": {
			facts(func(f *Facts) { f.Turn.Empty, f.History.Attempts = true, 4 }),
			Decision{
				Action: Wait, Outcome: "limited", Reason: "an empty answer: suspected rate limit or missing login",
				Uncounted: true, NoAnswer: true, Delay: 30 * time.Second,
			},
		},
		"an empty answer to the question after a real one is no limit": {
			facts(func(f *Facts) { f.Turn.Empty, f.Session.Answered, f.Session.Asked = true, true, 1 }),
			Decision{Action: Release, Outcome: "released", Reason: unsaid, Delay: 5 * time.Second},
		},

		"a refusal fails the task": {
			facts(func(f *Facts) { f.Turn.Stop = acp.StopRefusal }),
			Decision{Action: Fail, Outcome: "refused", Reason: "the model refused the task"},
		},
		"a refusal after done fails the task": {
			facts(func(f *Facts) { f.Turn.Stop, f.Turn.Sigils = acp.StopRefusal, saysDone }),
			Decision{Action: Fail, Outcome: "refused", Reason: "the model refused the task"},
		},
		"a turn cut off by tokens is told to go on": {
			facts(func(f *Facts) { f.Turn.Stop = acp.StopMaxTokens }),
			Decision{Action: Reprompt, Say: AskGoOn, Reason: "cut off: max_tokens"},
		},
		"a turn cut off by requests is told to go on a third time": {
			facts(func(f *Facts) { f.Turn.Stop, f.Session.GoneOn = acp.StopMaxTurnRequests, 2 }),
			Decision{Action: Reprompt, Say: AskGoOn, Reason: "cut off: max_turn_requests"},
		},
		"a turn cut off a fourth time is released": {
			facts(func(f *Facts) { f.Turn.Stop, f.Session.GoneOn = acp.StopMaxTokens, 3 }),
			Decision{Action: Release, Outcome: "released", Reason: "cut off 4 times: max_tokens", Delay: 5 * time.Second},
		},
		"a turn cut off after done is done": {
			facts(func(f *Facts) { f.Turn.Stop, f.Turn.Sigils = acp.StopMaxTokens, saysDone }),
			Decision{Action: Verify, Outcome: "done"},
		},
		"an agent that cancels by itself is released": {
			facts(func(f *Facts) { f.Turn.Stop = acp.StopCancelled }),
			Decision{Action: Release, Outcome: "error", Reason: "the agent cancelled its own turn", Delay: 5 * time.Second},
		},

		"an agent that cannot be found ends the run and costs nothing": {
			facts(func(f *Facts) { f.Turn.Err, f.Turn.Empty = failing(acp.NotFound), true }),
			unusable("session/prompt: not found"),
		},
		"an agent that cannot be started ends the run": {
			facts(func(f *Facts) { f.Turn.Err, f.Turn.Empty = failing(acp.CannotStart), true }),
			unusable("session/prompt: cannot start"),
		},
		"an agent that speaks another version ends the run": {
			facts(func(f *Facts) { f.Turn.Err, f.Turn.Empty = failing(acp.WrongVersion), true }),
			unusable("session/prompt: wrong version"),
		},
		"an agent that wants a login ends the run": {
			facts(func(f *Facts) { f.Turn.Err, f.Turn.Empty = failing(acp.AuthRequired), true }),
			unusable("session/prompt: auth required"),
		},
		"an unknown model ends the run": {
			facts(func(f *Facts) { f.Turn.Err, f.Turn.Empty = failing(acp.ModelUnknown), true }),
			unusable("session/prompt: model unknown"),
		},
		"an unusable agent is not the task's fault, in the last attempt neither": {
			facts(func(f *Facts) { f.Turn.Err, f.Turn.Empty, f.History.Attempts = failing(acp.NotFound), true, 4 }),
			unusable("session/prompt: not found"),
		},
		"an unusable agent of the task's own fails only the task": {
			facts(func(f *Facts) { f.Turn.Err, f.Turn.Empty, f.Agent.OwnAgent = failing(acp.NotFound), true, true }),
			Decision{Action: Fail, Outcome: "error", Reason: "its own agent or model cannot be used: session/prompt: not found"},
		},
		"a model of the task's own that nobody knows fails only the task": {
			facts(func(f *Facts) { f.Turn.Err, f.Turn.Empty, f.Agent.OwnModel = failing(acp.ModelUnknown), true, true }),
			Decision{Action: Fail, Outcome: "error", Reason: "its own agent or model cannot be used: session/prompt: model unknown"},
		},
		"a missing login is the run's affair, though the task brings its model": {
			facts(func(f *Facts) { f.Turn.Err, f.Turn.Empty, f.Agent.OwnModel = failing(acp.AuthRequired), true, true }),
			unusable("session/prompt: auth required"),
		},
		"a crash of the task's own agent is a crash": {
			facts(func(f *Facts) { f.Turn.Err, f.Turn.Empty, f.Agent.OwnAgent = failing(acp.Died), true, true }),
			Decision{Action: Release, Outcome: "error", Reason: "session/prompt: died", Delay: 5 * time.Second, NoAnswer: true},
		},
		"no handshake in time is counted for the task and the breaker": {
			facts(func(f *Facts) { f.Turn.Err, f.Turn.Empty = failing(acp.HandshakeTimeout), true }),
			Decision{Action: Release, Outcome: "error", Reason: "session/prompt: handshake timeout", Delay: 5 * time.Second, NoAnswer: true},
		},
		"a crash without a word is counted for the task and the breaker": {
			facts(func(f *Facts) {
				f.Turn.Err, f.Turn.Empty = &acp.Error{Kind: acp.Died, Op: "session/prompt", Exit: &proc.Exit{Code: 2}}, true
			}),
			Decision{Action: Release, Outcome: "error", Reason: "session/prompt: died: exit status 2", Delay: 5 * time.Second, NoAnswer: true},
		},
		"a crash in the middle of its work is no silence": {
			facts(func(f *Facts) { f.Turn.Err = failing(acp.Died) }),
			Decision{Action: Release, Outcome: "error", Reason: "session/prompt: died", Delay: 5 * time.Second},
		},
		"a crash after an answered turn is no silence": {
			facts(func(f *Facts) { f.Turn.Err, f.Turn.Empty, f.Session.Answered = failing(acp.Died), true, true }),
			Decision{Action: Release, Outcome: "error", Reason: "session/prompt: died", Delay: 5 * time.Second},
		},
		"a crash after done is a crash": {
			facts(func(f *Facts) { f.Turn.Err, f.Turn.Sigils = failing(acp.Died), saysDone }),
			Decision{Action: Release, Outcome: "error", Reason: "session/prompt: died", Delay: 5 * time.Second},
		},
		"a crash in the last attempt fails the task": {
			facts(func(f *Facts) { f.Turn.Err, f.Turn.Empty, f.History.Attempts = failing(acp.Died), true, 4 }),
			Decision{Action: Fail, Outcome: "error", Reason: "no result in 5 attempts; the last: session/prompt: died", NoAnswer: true},
		},
		"an error of the agent's own is released": {
			facts(func(f *Facts) { f.Turn.Err, f.Turn.Empty = failing(acp.Refused), true }),
			Decision{Action: Release, Outcome: "error", Reason: "session/prompt: refused", Delay: 5 * time.Second, NoAnswer: true},
		},
		"a broken protocol is released": {
			facts(func(f *Facts) { f.Turn.Err, f.Turn.Empty = failing(acp.Protocol), true }),
			Decision{Action: Release, Outcome: "error", Reason: "session/prompt: protocol", Delay: 5 * time.Second, NoAnswer: true},
		},
		"a cancel that nobody asked for is released": {
			facts(func(f *Facts) { f.Turn.Err = failing(acp.Cancelled) }),
			Decision{Action: Release, Outcome: "error", Reason: "session/prompt: cancelled", Delay: 5 * time.Second},
		},
		"a session closed under our feet is released": {
			facts(func(f *Facts) { f.Turn.Err = failing(acp.Closed) }),
			Decision{Action: Release, Outcome: "error", Reason: "session/prompt: closed", Delay: 5 * time.Second},
		},
		"silence until the idle timeout counts for the breaker": {
			facts(func(f *Facts) { f.Turn.Err, f.Turn.Empty = failing(acp.IdleTimeout), true }),
			Decision{Action: Release, Outcome: "timeout", Reason: "session/prompt: idle timeout", Delay: 5 * time.Second, NoAnswer: true},
		},
		"a turn that takes too long is released": {
			facts(func(f *Facts) { f.Turn.Err = failing(acp.TurnTimeout) }),
			Decision{Action: Release, Outcome: "timeout", Reason: "session/prompt: turn timeout", Delay: 5 * time.Second},
		},
		"a timeout in the last attempt fails the task": {
			facts(func(f *Facts) { f.Turn.Err, f.History.Attempts = failing(acp.TurnTimeout), 4 }),
			Decision{Action: Fail, Outcome: "timeout", Reason: "no result in 5 attempts; the last: session/prompt: turn timeout"},
		},

		"a rate limit waits and costs nothing": {
			facts(func(f *Facts) { f.Turn.Err, f.History.Attempts = failing(acp.RateLimited), 4 }),
			Decision{Action: Wait, Outcome: "limited", Reason: "session/prompt: rate limited", Uncounted: true, Delay: 30 * time.Second, Everyone: true},
		},
		"a rate limit that says how long waits so long": {
			facts(func(f *Facts) {
				f.Agent.Limited, f.Turn.Err = 2, &acp.Error{Kind: acp.RateLimited, Op: "session/prompt", RetryAfter: 7 * time.Hour}
			}),
			Decision{Action: Wait, Outcome: "limited", Reason: "session/prompt: rate limited", Uncounted: true, Delay: 7 * time.Hour, Everyone: true},
		},
		"limits in a row wait twice as long each": {
			facts(func(f *Facts) { f.Turn.Err, f.Agent.Limited = failing(acp.RateLimited), 2 }),
			Decision{Action: Wait, Outcome: "limited", Reason: "session/prompt: rate limited", Uncounted: true, Delay: 2 * time.Minute, Everyone: true},
		},
		"the wait for a limit has an end": {
			facts(func(f *Facts) { f.Turn.Err, f.Agent.Limited = failing(acp.RateLimited), 500 }),
			Decision{Action: Wait, Outcome: "limited", Reason: "session/prompt: rate limited", Uncounted: true, Delay: 10 * time.Minute, Least: 10 * time.Minute, Everyone: true},
		},

		"a lost claim is left alone": {
			facts(func(f *Facts) { f.Ended = Lost }),
			Decision{Action: Abort, Outcome: "interrupted", Reason: "the task was taken away", Uncounted: true},
		},
		"a lost claim is left alone though the agent says done": {
			facts(func(f *Facts) { f.Ended, f.Turn.Sigils = Lost, saysDone }),
			Decision{Action: Abort, Outcome: "interrupted", Reason: "the task was taken away", Uncounted: true},
		},
		"a claim lost while verifying is left alone": {
			facts(func(f *Facts) { f.Ended, f.Turn.Sigils, f.Work.Checked = Lost, saysDone, true }),
			Decision{Action: Abort, Outcome: "interrupted", Reason: "the task was taken away", Uncounted: true},
		},
		"interrupted before the agent started, it is released uncounted": {
			facts(func(f *Facts) {
				f.Ended, f.Turn.Empty, f.Turn.Err, f.History.Attempts = Interrupted, true, failing(acp.Cancelled), 4
			}),
			Decision{Action: Release, Outcome: "interrupted", Reason: "interrupted", Uncounted: true},
		},
		"interrupted in a turn, it is released uncounted": {
			facts(func(f *Facts) { f.Ended, f.Turn.Stop, f.History.Attempts = Interrupted, acp.StopCancelled, 4 }),
			Decision{Action: Release, Outcome: "interrupted", Reason: "interrupted", Uncounted: true},
		},
		"interrupted after done, it is released uncounted": {
			facts(func(f *Facts) { f.Ended, f.Turn.Sigils = Interrupted, saysDone }),
			Decision{Action: Release, Outcome: "interrupted", Reason: "interrupted", Uncounted: true},
		},
		"interrupted while verifying, it is released uncounted": {
			facts(func(f *Facts) {
				f.Ended, f.Turn.Sigils, f.Work.Checked, f.Work.CheckErr = Interrupted, saysDone, true, errors.New("killed")
			}),
			Decision{Action: Release, Outcome: "interrupted", Reason: "its work is finished, and is verified the next time", Uncounted: true},
		},
	}.check(t)
}

// decisions are what is decided about facts.
type decisions map[string]struct {
	facts Facts
	want  Decision
}

func (d decisions) check(t *testing.T) {
	for name, tt := range d {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			check.Equal(t, "decision", tt.want, Decide(tt.facts))
		})
	}
}

func unusable(reason string) Decision {
	return Decision{Action: Release, Outcome: "error", Reason: reason, Uncounted: true, NoAnswer: true, EndRun: event.OutcomeUnavailable}
}
