package policy

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"ralph/acp"
	"ralph/internal/budget"
	"ralph/internal/detect"
	"ralph/internal/event"
	_ "ralph/internal/testing/seeded" // the same values each time
	"ralph/sigils"
	"ralph/verify"
)

// anyFacts draws facts without asking whether they can come together.
func anyFacts(t *rapid.T) Facts {
	flag := func(name string) bool { return rapid.Bool().Draw(t, name) }
	number := func(most int, name string) int { return rapid.IntRange(0, most).Draw(t, name) }
	f := Facts{
		Ended: rapid.SampledFrom([]Ended{Running, Interrupted, Lost}).Draw(t, "ended"),
		Turn: Turn{
			Stop:   rapid.SampledFrom([]acp.StopReason{"", acp.StopEnd, acp.StopMaxTokens, acp.StopMaxTurnRequests, acp.StopRefusal, acp.StopCancelled, "new"}).Draw(t, "stop"),
			Empty:  flag("empty"),
			Sigils: sigils.Set{Done: flag("done"), Failed: flag("failed"), Complete: flag("complete"), Failure: flag("failure")},
		},
		Session: Session{Answered: flag("answered"), Asked: number(3, "asked"), GoneOn: number(5, "gone on")},
		Work:    Work{Checked: flag("checked")},
		Agent:   Standing{OwnAgent: flag("own"), Limited: number(1000, "limited")},
		History: History{Attempts: number(1000, "attempts")},
		Rules:   Rules{MaxAttempts: rapid.IntRange(1, 1000).Draw(t, "max attempts"), Backoff: time.Duration(rapid.Int64Min(0).Draw(t, "backoff"))},
	}
	if flag("foreign") {
		f.Turn.Sigils.Foreign = []sigils.Foreign{{Tag: "task-done", ID: "t-2"}}
	}
	if flag("error") {
		f.Turn.Err = &acp.Error{
			Kind:       rapid.SampledFrom(append(kinds(), "new")).Draw(t, "kind"),
			RetryAfter: time.Duration(rapid.Int64().Draw(t, "retry after")),
		}
	}
	for range rapid.IntRange(0, 2).Draw(t, "gates") {
		c := verify.Check{Own: flag("own gate"), Result: verify.Result{Passed: flag("passed")}}
		if flag("red before") {
			c.Before = &verify.Result{}
		}
		if flag("allowed") {
			c.Allowed = &verify.Allowed{}
		}
		f.Work.Gates = append(f.Work.Gates, c)
	}
	f.Work.Unchanged, f.Work.Evident, f.Work.WantVerdict, f.Session.None = flag("unchanged"), flag("evident"), flag("want verdict"), flag("resumed")
	f.Work.Accepted = flag("accepted")
	f.Session.Repairs, f.Rules.RepairRounds = rapid.IntRange(0, 3).Draw(t, "repairs"), rapid.IntRange(0, 3).Draw(t, "rounds")
	if flag("tampering") {
		f.Work.Tampering = []string{"a test"}
	}
	if flag("doubt") {
		f.Work.Doubts = []verify.Doubt{{Why: "test deleted"}}
	}
	if flag("verdict") {
		f.Work.Verdict = &verify.Verdict{Given: flag("given"), Silent: flag("silent"), Pass: flag("pass"), Fulfilled: flag("fulfilled")}
		if f.Work.Doubts != nil && flag("not cleared") {
			f.Work.Verdict.Left = f.Work.Doubts
		}
	}
	if flag("verifier error") {
		f.Work.VerifierErr = &acp.Error{Kind: rapid.SampledFrom(kinds()).Draw(t, "verifier's kind")}
	}
	f.Agent.Substitute, f.Agent.Proven, f.Agent.Suspected, f.Turn.Cut = flag("substitute"), flag("proven"), flag("suspected"), flag("cut")
	f.Session.Nudged, f.History.Drifted = rapid.IntRange(0, 2).Draw(t, "nudged"), rapid.IntRange(0, 2).Draw(t, "drifted")
	if flag("drift") || f.Turn.Cut {
		f.Turn.Drift = []detect.Signal{{Kind: detect.Repeats, Text: "again and again"}}
	}
	if flag("parked") {
		f.Turn.Parked = "q-1"
	}
	f.Turn.Unread, f.Session.Heeded = number(2, "unread"), number(4, "heeded")
	f.Turn.Queries, f.Session.Queried = number(2, "queries"), number(maxQueried+1, "queried")
	if flag("over") {
		scope := rapid.SampledFrom([]budget.Scope{budget.Run, budget.Day, budget.Feature, budget.Task}).Draw(t, "scope")
		f.Turn.Over = &budget.Finding{Scope: scope, What: budget.Cost, Text: "$2 of $1 spent"}
	}
	if flag("gate error") {
		f.Work.CheckErr = errors.New("it could not run")
	}
	return f
}

func kinds() []acp.Kind {
	return []acp.Kind{
		acp.NotFound, acp.CannotStart, acp.HandshakeTimeout, acp.WrongVersion, acp.AuthRequired, acp.ModelUnknown, acp.Died,
		acp.IdleTimeout, acp.TurnTimeout, acp.RateLimited, acp.Refused, acp.Protocol, acp.Cancelled, acp.Closed,
	}
}

func TestDecideIsTotal(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		f := anyFacts(t)
		d := Decide(f)
		actions := []Action{Verify, AskVerdict, Reprompt, Wait, Complete, Hold, Fail, Retry, Release, Park, Abort}
		switch {
		case !slices.Contains(actions, d.Action):
			t.Fatalf("got action %q", d.Action)
		case (d.Action == Reprompt) != (d.Say != ""):
			t.Fatalf("got %q to say with %s", d.Say, d.Action)
		case d.Action != Reprompt && d.Action != AskVerdict && !slices.Contains(event.AttemptOutcomes(), d.Outcome):
			t.Fatalf("the journal refuses outcome %q of %s", d.Outcome, d.Action)
		case d.Reason == "" && d.Action != Verify && d.Action != AskVerdict && d.Action != Complete:
			t.Fatalf("no reason for %s", d.Action)
		case (d.Action == Retry && f.Work.Checked) != (d.Rejected != ""):
			t.Fatalf("got rejection %q of %s", d.Rejected, d.Action)
		}
	})
}

func TestDecideNeverSettlesALostClaim(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		f := anyFacts(t)
		f.Ended = Lost
		if d := Decide(f); d.Action != Abort || !d.Uncounted || d.EndRun != "" {
			t.Fatalf("got %+v, want an abort and nothing more", d)
		}
		f.Ended = rapid.SampledFrom([]Ended{Running, Interrupted}).Draw(t, "held")
		if d := Decide(f); d.Action == Abort {
			t.Fatalf("got %+v of a claim that is held", d)
		}
	})
}

func TestDecideNeverCountsAnInterruption(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		f := anyFacts(t)
		f.Ended = Interrupted
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
		red := slices.ContainsFunc(f.Work.Gates, func(c verify.Check) bool { return c.Verdict() == event.GateFailed })
		bad := f.Work.CheckErr != nil || red || len(f.Work.Tampering) > 0
		passed, turned, excused := true, false, len(f.Work.Gates) > 0
		nameless, own := false, false // no gate here names anything
		for _, c := range f.Work.Gates {
			passed, turned, excused = passed && c.Passed, turned || c.Passed && c.Before != nil, excused && !c.Passed && !c.Own && c.Allowed != nil
			nameless, own = nameless || !c.Passed && !c.Own && c.Allowed != nil, own || c.Own && c.Passed && c.Before != nil
		}
		unproven := f.Work.Unchanged && !f.Work.Evident && !turned
		bad = bad || unproven && (!f.Work.WantVerdict || !passed || f.Work.Verdict != nil && !f.Work.Verdict.Fulfilled)
		held := excused && !f.Work.WantVerdict && !f.Work.Evident && !f.Work.Accepted
		held = held || !f.Work.Accepted && f.Work.Doubts != nil && (f.Work.Verdict == nil || f.Work.Verdict.Left != nil)
		unseen := f.Work.VerifierErr != nil || f.Work.WantVerdict && f.Work.Verdict == nil || f.Work.Verdict != nil && !f.Work.Verdict.Pass
		nameless = nameless && !own && !f.Work.Accepted
		if d.Action == Complete && (!f.Work.Checked || bad || unseen || nameless || held) {
			t.Fatalf("completed with %+v", f)
		}
		if (d.Outcome == event.AttemptAlreadyDone) != (d.Action == Complete && unproven) {
			t.Fatalf("got %q with %+v", d.Outcome, f)
		}
		if d.Action == Verify && (!f.Turn.Sigils.Done || f.Turn.Err != nil) {
			t.Fatalf("verified with %+v", f)
		}
		if d.Action == AskVerdict && (!f.Work.Checked || bad || !f.Work.WantVerdict) {
			t.Fatalf("asked for a verdict with %+v", f)
		}
		if d.Action == Reprompt && d.Say == AskRepair && (f.Session.None || f.Session.Repairs >= f.Rules.RepairRounds || !red) {
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
			if f.Turn.Err != nil {
				most = max(most, f.Turn.Err.RetryAfter) // a provider's word
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
		f.Ended, f.History.Attempts, f.Session.Asked, f.Session.GoneOn, f.Rules.MaxAttempts = Running, 0, 0, 0, 5
		for range 5*(maxGoOn+3) + maxQueried {
			d := Decide(f)
			switch {
			case d.Uncounted, d.EndRun != "", d.Action == Complete, d.Action == Hold, d.Action == Fail, d.Action == Retry, d.Action == Verify:
				return
			case d.Action == AskVerdict:
				f.Work.Verdict = &verify.Verdict{}
			case d.Say == AskRepair:
				f.Session.Repairs++
			case d.Say == AskDrift:
				f.Session.Nudged++
			case d.Say == AskHeed:
				f.Session.Heeded++
			case d.Say == AskQuery:
				f.Session.Queried++
			case d.Say == AskGoOn:
				f.Session.GoneOn++
			case d.Say == AskUnfinished:
				f.Session.Asked++
			default:
				f.History.Attempts, f.Session.Asked, f.Session.GoneOn, f.Session.Nudged = f.History.Attempts+1, 0, 0, 0
			}
		}
		t.Fatalf("still going on: %+v", Decide(f))
	})
}

// TestDecideChargesWhoUsesTooMuch, with that as the reason, whatever else came of the turn or of a check.
func TestDecideChargesWhoUsesTooMuch(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		f := anyFacts(t)
		f.Ended, f.Limit = Exceeded, "resource: memory: too much"
		d := Decide(f)
		if d.Uncounted || d.NoAnswer || d.EndRun != "" || !strings.HasSuffix(d.Reason, f.Limit) {
			t.Fatalf("got %+v, want it charged because of the limit", d)
		}
		if want := []Action{Release, Fail}; !f.Work.Checked && !slices.Contains(want, d.Action) || f.Work.Checked && d.Action != Retry {
			t.Fatalf("got %+v with %+v", d, f)
		}
	})
}

// TestDecideParksWhoWaitsForAnAnswer: whatever else came of the turn, it costs nothing, unless the task is done or nobody may
// decide about it.
func TestDecideParksWhoWaitsForAnAnswer(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		f := anyFacts(t)
		f.Ended, f.Turn.Parked, f.Work.Checked, f.Turn.Over, f.Turn.Sigils.Failure = Running, "q-1", false, nil, false
		if f.Turn.Sigils.Done && f.Turn.Err == nil {
			return
		}
		if d := Decide(f); d.Action != Park || d.Outcome != event.AttemptAsked || !d.Uncounted || d.Drop || d.NoAnswer || d.Reason != "it waits for the answer to q-1" {
			t.Fatalf("got %+v, want it parked", d)
		}
	})
}
