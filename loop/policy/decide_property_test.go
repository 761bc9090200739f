package policy

import (
	"errors"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"ralph/acp"
	"ralph/budget"
	"ralph/internal/drift"
	_ "ralph/internal/testing/seeded" // the same values each time
	"ralph/sigils"
	"ralph/verify"
)

// anyFacts draws facts without asking whether they can come together.
func anyFacts(t *rapid.T) Facts {
	flag := func(name string) bool { return rapid.Bool().Draw(t, name) }
	f := Facts{
		Verified:    flag("verified"),
		Stop:        rapid.SampledFrom([]acp.StopReason{"", acp.StopEnd, acp.StopMaxTokens, acp.StopMaxTurnRequests, acp.StopRefusal, acp.StopCancelled, "new"}).Draw(t, "stop"),
		Empty:       flag("empty"),
		Interrupted: flag("interrupted"),
		Lost:        flag("lost"),
		Answered:    flag("answered"),
		OwnAgent:    flag("own"),
		Asked:       rapid.IntRange(0, 3).Draw(t, "asked"),
		GoneOn:      rapid.IntRange(0, 5).Draw(t, "gone on"),
		Attempts:    rapid.IntRange(0, 1000).Draw(t, "attempts"),
		MaxAttempts: rapid.IntRange(1, 1000).Draw(t, "max attempts"),
		Limited:     rapid.IntRange(0, 1000).Draw(t, "limited"),
		Backoff:     time.Duration(rapid.Int64Min(0).Draw(t, "backoff")),
		Sigils:      sigils.Set{Done: flag("done"), Failed: flag("failed"), Complete: flag("complete"), Failure: flag("failure")},
	}
	if flag("foreign") {
		f.Sigils.Foreign = []sigils.Foreign{{Tag: "task-done", ID: "t-2"}}
	}
	if flag("error") {
		f.Err = &acp.Error{
			Kind:       rapid.SampledFrom(append(kinds(), "new")).Draw(t, "kind"),
			RetryAfter: time.Duration(rapid.Int64().Draw(t, "retry after")),
		}
	}
	for range rapid.IntRange(0, 2).Draw(t, "gates") {
		f.Gates = append(f.Gates, verify.Check{Own: flag("own gate"), Result: verify.Result{Passed: flag("passed")}})
	}
	f.Unchanged, f.Evident, f.Judge, f.Resumed = flag("unchanged"), flag("evident"), flag("judge"), flag("resumed")
	f.Repairs, f.RepairRounds = rapid.IntRange(0, 3).Draw(t, "repairs"), rapid.IntRange(0, 3).Draw(t, "rounds")
	if flag("tampering") {
		f.Tampering = []string{"a test"}
	}
	if flag("verdict") {
		f.Verdict = &verify.Verdict{Given: flag("given"), Pass: flag("pass")}
	}
	if flag("judge error") {
		f.JudgeErr = &acp.Error{Kind: rapid.SampledFrom(kinds()).Draw(t, "judge's kind")}
	}
	f.Substitute, f.Proven, f.Suspected, f.Cut = flag("substitute"), flag("proven"), flag("suspected"), flag("cut")
	f.Nudged, f.Drifted = rapid.IntRange(0, 2).Draw(t, "nudged"), rapid.IntRange(0, 2).Draw(t, "drifted")
	if flag("drift") || f.Cut {
		f.Drift = []drift.Signal{{Kind: drift.Repeats, Text: "again and again"}}
	}
	if flag("over") {
		scope := rapid.SampledFrom([]budget.Scope{budget.Run, budget.Day, budget.Feature, budget.Task}).Draw(t, "scope")
		f.Over = &budget.Finding{Scope: scope, What: budget.Cost, Text: "$2 of $1 spent"}
	}
	if flag("gate error") {
		f.CheckErr = errors.New("it could not run")
	}
	return f
}

func kinds() []acp.Kind {
	return []acp.Kind{
		acp.NotFound, acp.CannotStart, acp.HandshakeTimeout, acp.WrongVersion, acp.AuthRequired, acp.ModelUnknown, acp.Died,
		acp.IdleTimeout, acp.TurnTimeout, acp.RateLimited, acp.Refused, acp.Protocol, acp.Cancelled, acp.Closed,
	}
}

// outcomes are those that the journal's table accepts.
func outcomes() []string {
	return []string{"done", "failed", "retried", "released", "interrupted", "timeout", "refused", "error", "limited"}
}

func TestDecideIsTotal(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		f := anyFacts(t)
		d := Decide(f)
		actions := []Action{Verify, Reprompt, Wait, Complete, Fail, Retry, Release, Abort}
		switch {
		case !slices.Contains(actions, d.Action):
			t.Fatalf("got action %q", d.Action)
		case (d.Action == Reprompt) != (d.Say != ""):
			t.Fatalf("got %q to say with %s", d.Say, d.Action)
		case d.Action != Reprompt && !slices.Contains(outcomes(), d.Outcome):
			t.Fatalf("the journal refuses outcome %q of %s", d.Outcome, d.Action)
		case d.Reason == "" && d.Action != Verify && d.Action != Complete:
			t.Fatalf("no reason for %s", d.Action)
		}
	})
}

func TestDecideNeverSettlesALostClaim(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		f := anyFacts(t)
		f.Lost = true
		if d := Decide(f); d.Action != Abort || !d.Uncounted || d.EndRun != "" {
			t.Fatalf("got %+v, want an abort and nothing more", d)
		}
		f.Lost = false
		if d := Decide(f); d.Action == Abort {
			t.Fatalf("got %+v of a claim that is held", d)
		}
	})
}

func TestDecideNeverCountsAnInterruption(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		f := anyFacts(t)
		f.Lost, f.Interrupted = false, true
		if d := Decide(f); d.Action != Release || !d.Uncounted || d.Delay != 0 || d.NoAnswer {
			t.Fatalf("got %+v, want a release that costs nothing", d)
		}
	})
}

func TestDecideCompletesOnlyWhatWasVerified(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		f := anyFacts(t)
		d := Decide(f)
		red := slices.ContainsFunc(f.Gates, func(c verify.Check) bool { return c.Word() == verify.Failed })
		bad := f.CheckErr != nil || red || len(f.Tampering) > 0 || f.Unchanged && !f.Evident
		unseen := f.JudgeErr != nil || f.Judge && f.Verdict == nil || f.Verdict != nil && !f.Verdict.Pass
		if d.Action == Complete && (!f.Verified || bad || unseen) {
			t.Fatalf("completed with %+v", f)
		}
		if d.Action == Verify && (!f.Sigils.Done || f.Err != nil) {
			t.Fatalf("verified with %+v", f)
		}
		if d.Action == Judge && (!f.Verified || bad || !f.Judge) {
			t.Fatalf("judged with %+v", f)
		}
		if d.Action == Reprompt && d.Say == AskRepair && (f.Resumed || f.Repairs >= f.RepairRounds || !red) {
			t.Fatalf("sent back with %+v", f)
		}
		if d.Action == Retry && !bad && !unseen {
			t.Fatalf("retried with %+v", f)
		}
	})
}

func TestDecideWaitsForABoundedTime(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		f := anyFacts(t)
		d := Decide(f)
		most := maxBackoff
		if d.Action == Wait {
			most = maxLimitWait
			if f.Err != nil {
				most = max(most, f.Err.RetryAfter) // a provider's word
			}
		}
		if d.Delay < 0 || d.Delay > most {
			t.Fatalf("got a delay of %s, want at most %s", d.Delay, most)
		}
	})
}

// TestDecideEndsEveryTask plays attempts with the same facts until the task is
// settled: nothing that counts may go on for ever.
func TestDecideEndsEveryTask(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		f := anyFacts(t)
		f.Lost, f.Interrupted, f.Attempts, f.Asked, f.GoneOn, f.MaxAttempts = false, false, 0, 0, 0, 5
		for range 5 * (maxGoOn + 3) {
			d := Decide(f)
			switch {
			case d.Uncounted, d.EndRun != "", d.Action == Complete, d.Action == Fail, d.Action == Retry, d.Action == Verify:
				return
			case d.Action == Judge:
				f.Verdict = &verify.Verdict{}
			case d.Say == AskRepair:
				f.Repairs++
			case d.Say == AskDrift:
				f.Nudged++
			case d.Say == AskGoOn:
				f.GoneOn++
			case d.Say == AskUnfinished:
				f.Asked++
			default:
				f.Attempts, f.Asked, f.GoneOn, f.Nudged = f.Attempts+1, 0, 0, 0
			}
		}
		t.Fatalf("still going on: %+v", Decide(f))
	})
}
