package policy

import (
	"testing"
	"time"

	"ralph/acp"
	"ralph/budget"
	"ralph/internal/drift"
	"ralph/internal/ratelimit"
	"ralph/sigils"
	"ralph/verify"
)

func TestDecideAboutLimitsBudgetsAndDrift(t *testing.T) {
	t.Parallel()
	reset := time.Date(2026, 11, 15, 3, 0, 0, 0, time.UTC)
	money := &budget.Finding{Scope: budget.Run, What: budget.Cost, Text: "$6.00 of $5.00 spent"}
	ownMoney := &budget.Finding{Scope: budget.Task, What: budget.Cost, Text: "$2.00 of $1.00 spent on t-1"}
	circles := []drift.Signal{{Kind: drift.Repeats, Text: `"ls" was called 6 times with the same result`}}
	why := `drift: "ls" was called 6 times with the same result`
	decisions{
		"a limit that says when it is over is waited for until then": {
			facts(func(f *Facts) {
				f.Turn.Err = &acp.Error{Kind: acp.RateLimited, Op: "session/prompt", RetryAfter: time.Hour, Until: reset}
			}),
			Decision{Action: Wait, Outcome: "limited", Reason: "session/prompt: rate limited", Uncounted: true, Delay: time.Hour, Until: reset, Everyone: true},
		},
		"a limit is waited for at most as long as one can be": {
			facts(func(f *Facts) {
				f.Turn.Err = &acp.Error{Kind: acp.RateLimited, Op: "session/prompt", RetryAfter: 1000 * time.Hour}
			}),
			Decision{Action: Wait, Outcome: "limited", Reason: "session/prompt: rate limited", Uncounted: true, Delay: ratelimit.Longest, Everyone: true},
		},
		"a provider whose limit is met again and again is believed three times": {
			facts(func(f *Facts) {
				f.Agent.Limited, f.Turn.Err = 4, &acp.Error{Kind: acp.RateLimited, Op: "session/prompt", RetryAfter: time.Second, Until: reset}
			}),
			Decision{
				Action: Wait, Outcome: "limited", Reason: "session/prompt: rate limited", Uncounted: true, Everyone: true,
				Delay: time.Second, Until: reset, Least: time.Minute,
			},
		},
		"an empty answer of an agent that never answered counts for the breaker": {
			facts(func(f *Facts) { f.Turn.Stop, f.Turn.Empty = acp.StopEnd, true }),
			Decision{Action: Wait, Outcome: "limited", Reason: "an empty answer: suspected rate limit or missing login", Uncounted: true, Delay: 30 * time.Second, NoAnswer: true},
		},
		"an empty answer of an agent that answered before may be for this task alone": {
			facts(func(f *Facts) { f.Turn.Stop, f.Turn.Empty, f.Agent.Proven = acp.StopEnd, true, true }),
			Decision{Action: Wait, Outcome: "limited", Reason: "an empty answer: suspected rate limit or missing login", Uncounted: true, Delay: 30 * time.Second},
		},
		"the second in a row is a limit": {
			facts(func(f *Facts) {
				f.Turn.Stop, f.Turn.Empty, f.Agent.Proven, f.Agent.Suspected, f.Agent.Limited = acp.StopEnd, true, true, true, 1
			}),
			Decision{Action: Wait, Outcome: "limited", Reason: "an empty answer: suspected rate limit or missing login", Uncounted: true, Delay: time.Minute, Everyone: true},
		},
		"a substitute that cannot be used is dropped, and the run goes on": {
			facts(func(f *Facts) { f.Turn.Err, f.Agent.Substitute = failing(acp.AuthRequired), true }),
			Decision{Action: Release, Outcome: "error", Reason: "session/prompt: auth required", Uncounted: true, Drop: true},
		},

		"a budget that is passed releases what runs, and costs the task nothing": {
			facts(func(f *Facts) { f.Turn.Over, f.Turn.Err, f.History.Attempts = money, failing(acp.Cancelled), 4 }),
			Decision{Action: Release, Outcome: "interrupted", Reason: "a budget is used up: $6.00 of $5.00 spent", Uncounted: true},
		},
		"done counts for nothing if the turn had to be cut short": {
			facts(func(f *Facts) { f.Turn.Over, f.Turn.Err, f.Turn.Sigils = money, failing(acp.Cancelled), saysDone }),
			Decision{Action: Release, Outcome: "interrupted", Reason: "a budget is used up: $6.00 of $5.00 spent", Uncounted: true},
		},
		"a turn that ended by itself is verified though the money is gone": {
			facts(func(f *Facts) { f.Turn.Over, f.Turn.Stop, f.Turn.Sigils = money, acp.StopEnd, saysDone }),
			Decision{Action: Verify, Outcome: "done"},
		},
		"and what it says has failed has failed": {
			facts(func(f *Facts) {
				f.Turn.Over, f.Turn.Stop, f.Turn.Sigils = money, acp.StopEnd, sigils.Set{Failed: true, FailReason: "no"}
			}),
			Decision{Action: Fail, Outcome: "failed", Reason: "no"},
		},
		"nothing more is said when the money is gone": {
			facts(func(f *Facts) { f.Turn.Over, f.Turn.Stop = money, acp.StopMaxTokens }),
			Decision{Action: Release, Outcome: "interrupted", Reason: "a budget is used up: $6.00 of $5.00 spent", Uncounted: true},
		},
		"a red gate is not sent back when the money is gone": {
			facts(func(f *Facts) {
				red := verify.Check{Own: true, Result: verify.Result{Command: "make test", Exit: "exit status 2", Tail: "FAIL x"}}
				f.Turn.Over, f.Turn.Sigils, f.Work.Checked, f.Rules.RepairRounds, f.Work.Gates = money, saysDone, true, 2, []verify.Check{red}
			}),
			retry("gate \"make test\": exit status 2\nFAIL x"),
		},
		"a task that used up its own budget has failed": {
			facts(func(f *Facts) { f.Turn.Over, f.Turn.Err = ownMoney, failing(acp.Cancelled) }),
			Decision{Action: Fail, Outcome: "failed", Reason: "its budget is used up: $2.00 of $1.00 spent on t-1"},
		},

		"drift is told first": {
			facts(func(f *Facts) {
				f.Turn.Cut, f.Turn.Drift, f.Turn.Err, f.Turn.Stop = true, circles, failing(acp.Cancelled), acp.StopCancelled
			}),
			Decision{Action: Reprompt, Say: AskDrift, Reason: why, Drifted: true},
		},
		"then the attempt ends": {
			facts(func(f *Facts) {
				f.Turn.Cut, f.Turn.Drift, f.Turn.Err, f.Turn.Stop, f.Session.Nudged = true, circles, failing(acp.Cancelled), acp.StopCancelled, 1
			}),
			Decision{Action: Release, Outcome: "released", Reason: why, Delay: 5 * time.Second, Drifted: true},
		},
		"an agent that did not stop cannot be told": {
			facts(func(f *Facts) {
				f.Turn.Cut, f.Turn.Drift, f.Turn.Err, f.Turn.Stop = true, circles, failing(acp.Cancelled), ""
			}),
			Decision{Action: Release, Outcome: "released", Reason: why, Delay: 5 * time.Second, Drifted: true},
		},
		"the stronger model is told too": {
			facts(func(f *Facts) {
				f.Turn.Cut, f.Turn.Drift, f.Turn.Err, f.Turn.Stop, f.History.Drifted = true, circles, failing(acp.Cancelled), acp.StopCancelled, 1
			}),
			Decision{Action: Reprompt, Say: AskDrift, Reason: why, Drifted: true},
		},
		"and then the task is given up": {
			facts(func(f *Facts) {
				f.Turn.Cut, f.Turn.Drift, f.Turn.Err, f.Turn.Stop, f.History.Drifted, f.Session.Nudged = true, circles, failing(acp.Cancelled), acp.StopCancelled, 1, 1
			}),
			Decision{Action: Fail, Outcome: "failed", Reason: why, Drifted: true},
		},
		"drift is told instead of giving a silent agent's task back": {
			facts(func(f *Facts) { f.Turn.Stop, f.Session.Asked, f.Turn.Drift = acp.StopEnd, 1, circles }),
			Decision{Action: Reprompt, Say: AskDrift, Reason: why, Drifted: true},
		},
		"drift does not matter to what is done": {
			facts(func(f *Facts) { f.Turn.Stop, f.Turn.Drift, f.Turn.Sigils = acp.StopEnd, circles, saysDone }),
			Decision{Action: Verify, Outcome: "done"},
		},
		"money is looked at before drift": {
			facts(func(f *Facts) {
				f.Turn.Over, f.Turn.Cut, f.Turn.Drift, f.Turn.Err = money, true, circles, failing(acp.Cancelled)
			}),
			Decision{Action: Release, Outcome: "interrupted", Reason: "a budget is used up: $6.00 of $5.00 spent", Uncounted: true},
		},
	}.check(t)
}
