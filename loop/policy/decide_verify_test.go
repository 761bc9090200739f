package policy

import (
	"errors"
	"testing"
	"time"

	"ralph/acp"
	"ralph/verify"
)

// TestDecideAboutWorkThatWasChecked: the policy of "done".
func TestDecideAboutWorkThatWasChecked(t *testing.T) {
	t.Parallel()
	checked := func(change func(*Facts)) Facts {
		return facts(func(f *Facts) {
			f.Turn.Sigils, f.Work.Checked, f.Rules.RepairRounds = saysDone, true, 2
			change(f)
		})
	}
	redBefore := redGate
	redBefore.Before = &verify.Result{Command: "make test", Exit: "exit status 2", Tail: "FAIL x\n"}
	worse := redBefore
	worse.Failures = "FAIL y"
	ownRed := redBefore
	ownRed.Own = true
	mended := greenGate
	mended.Before = &verify.Result{}
	const nothing = "nothing changed: the task was called done, but since its first attempt there is no commit, no difference " +
		"in the files and no gate that turned green; if it needs no change: ralph task update ID --kind check"
	redReason := "gate \"make test\": exit status 2"
	complete := Decision{Action: Complete, Outcome: "done"}
	decisions{
		"without gates and verifier it is complete": {checked(func(*Facts) {}), complete},
		"green gates complete": {
			checked(func(f *Facts) { f.Work.Gates = []verify.Check{greenGate, greenGate} }), complete,
		},
		"a red gate goes back into the session": {
			checked(func(f *Facts) { f.Work.Gates = []verify.Check{greenGate, redGate} }),
			Decision{Action: Reprompt, Say: AskRepair, Reason: redReason, Gate: &redGate},
		},
		"a red gate goes back as often as is allowed": {
			checked(func(f *Facts) { f.Work.Gates, f.Session.Repairs = []verify.Check{redGate}, 1 }),
			Decision{Action: Reprompt, Say: AskRepair, Reason: redReason, Gate: &redGate},
		},
		"then it retries with what the gate printed": {
			checked(func(f *Facts) { f.Work.Gates, f.Session.Repairs, f.History.Attempts = []verify.Check{redGate}, 2, 4 }),
			retry(redReason + "\nFAIL x\n"),
		},
		"without a session there is nobody to mend it": {
			checked(func(f *Facts) { f.Work.Gates, f.Session.None = []verify.Check{redGate}, true }),
			retry(redReason + "\nFAIL x\n"),
		},
		"a gate that was red before and is not worse is excused": {
			checked(func(f *Facts) { f.Work.Gates = []verify.Check{redBefore} }), complete,
		},
		"a gate that was red before and got worse is not": {
			checked(func(f *Facts) { f.Work.Gates, f.Session.Repairs = []verify.Check{worse}, 2 }), retry(redReason + "\nFAIL x\n"),
		},
		"a task's own gate must be green whatever it was": {
			checked(func(f *Facts) { f.Work.Gates, f.Session.Repairs = []verify.Check{ownRed}, 2 }), retry(redReason + "\nFAIL x\n"),
		},
		"tampering is not sent back, and is told before all else": {
			checked(func(f *Facts) {
				f.Work.Tampering, f.Work.Gates = []string{"test file deleted: a_test.go", "protected: .ralph.toml"}, []verify.Check{redGate}
			}),
			retry("tampering: test file deleted: a_test.go; protected: .ralph.toml"),
		},
		"done without any change is rejected": {
			checked(func(f *Facts) { f.Work.Unchanged, f.Work.WantVerdict = true, true }), retry(nothing),
		},
		"a green gate that always was is no evidence": {
			checked(func(f *Facts) { f.Work.Unchanged, f.Work.Gates = true, []verify.Check{greenGate} }), retry(nothing),
		},
		"a gate that turned green is evidence": {
			checked(func(f *Facts) { f.Work.Unchanged, f.Work.Gates = true, []verify.Check{mended} }), complete,
		},
		"a check needs no change": {
			checked(func(f *Facts) { f.Work.Unchanged, f.Work.Evident = true, true }), complete,
		},
		"a verifier is asked last": {
			checked(func(f *Facts) { f.Work.WantVerdict, f.Work.Gates = true, []verify.Check{greenGate} }), Decision{Action: AskVerdict},
		},
		"its pass completes": {
			checked(func(f *Facts) { f.Work.WantVerdict, f.Work.Verdict = true, &verify.Verdict{Given: true, Pass: true} }), complete,
		},
		"its fail retries with its reason": {
			checked(func(f *Facts) {
				f.Work.WantVerdict, f.Work.Verdict = true, &verify.Verdict{Given: true, Reason: "no tests"}
			}),
			retry("verdict: no tests"),
		},
		"its silence is a fail": {
			checked(func(f *Facts) {
				f.Work.WantVerdict, f.Work.Verdict = true, &verify.Verdict{Reason: "no verdict after 2 tries"}
			}),
			retry("verdict: no verdict after 2 tries"),
		},
		"what changed each time a verifier looked costs nothing, and waits for the next run": {
			checked(func(f *Facts) { f.Work.WantVerdict, f.Work.Disturbed, f.History.Attempts = true, []string{"a", "b"}, 4 }),
			Decision{
				Action: Release, Outcome: "interrupted", Uncounted: true, Aside: true,
				Reason: "its work is finished but not verified, because project files changed while the verifier looked: a, b; the next run verifies it",
			},
		},
		"tampering is reported before what changed while a verifier looked": {
			checked(func(f *Facts) {
				f.Work.WantVerdict, f.Work.Disturbed, f.Work.Tampering = true, []string{"a"}, []string{"test deleted: a"}
			}),
			retry("tampering: test deleted: a"),
		},
		"a verifier at its limit is waited for": {
			checked(func(f *Facts) { f.Work.WantVerdict, f.Work.VerifierErr = true, failing(acp.RateLimited) }),
			Decision{Action: Wait, Outcome: "limited", Reason: "session/prompt: rate limited", Uncounted: true, Delay: 30 * time.Second, Everyone: true},
		},
		"a verifier that cannot be had ends the run": {
			checked(func(f *Facts) { f.Work.WantVerdict, f.Work.VerifierErr = true, failing(acp.AuthRequired) }),
			unusable("session/prompt: auth required"),
		},
		"what cannot be checked is not the work's fault": {
			checked(func(f *Facts) { f.Work.CheckErr = errors.New("no sh") }),
			Decision{Action: Release, Outcome: "error", Reason: "no sh", Delay: 5 * time.Second},
		},
		"what can never be checked fails the task in the end": {
			checked(func(f *Facts) { f.Work.CheckErr, f.History.Attempts = errors.New("no sh"), 4 }),
			Decision{Action: Fail, Outcome: "error", Reason: "no result in 5 attempts; the last: no sh"},
		},
	}.check(t)
}
