package policy

import (
	"cmp"
	"errors"
	"strings"
	"testing"
	"time"

	"ralph/acp"
	"ralph/internal/budget"
	"ralph/internal/detect"
	"ralph/internal/event"
	"ralph/internal/proc"
	"ralph/internal/ratelimit"
	"ralph/internal/testing/check"
	"ralph/sigils"
	"ralph/verify"
	"ralph/verify/coverage"
)

// The facts that tests speak of.
var (
	saysDone  = sigils.Set{Done: true}
	foreign   = []sigils.Foreign{{Tag: "task-done", ID: "t-2"}}
	greenGate = verify.Check{Result: verify.Result{Command: "make", Passed: true, Exit: "exit status 0"}}
	redGate   = verify.Check{Result: verify.Result{Command: "make test", Exit: "exit status 2", Tail: "FAIL x\n"}}
	money     = &budget.Finding{Scope: budget.Run, What: budget.Cost, Text: "$6.00 of $5.00 spent"}
	ownMoney  = &budget.Finding{Scope: budget.Task, What: budget.Cost, Text: "$2.00 of $1.00 spent on t-1"}
	circles   = []detect.Signal{{Kind: detect.Repeats, Text: `"ls" was called 6 times with the same result`}}
)

// The decisions that several tests want.
var (
	verifyIt = Decision{Action: Verify, Outcome: "done"}
	complete = Decision{Action: Complete, Outcome: "done"}
	ask      = Decision{Action: Reprompt, Say: AskUnfinished, Reason: unsaid}
	refused  = Decision{Action: Fail, Outcome: "refused", Reason: "the model refused the task"}
	abort    = Decision{Action: Abort, Outcome: "interrupted", Reason: "the task was taken away", Uncounted: true}
	promised = Decision{Action: Release, Outcome: "failed", Reason: "the agent promised FAILURE", EndRun: event.OutcomeFailure}
	noMoney  = interrupted("a budget is used up: $6.00 of $5.00 spent")
	nudge    = Decision{Action: Reprompt, Say: AskDrift, Reason: drifting, Drifted: true}
	stronger = Decision{Action: Release, Outcome: "released", Reason: drifting, Delay: 5 * time.Second, Drifted: true}
	repair   = Decision{Action: Reprompt, Say: AskRepair, Reason: redReason, Gate: &redGate}
)

const (
	unsaid    = "it ended without saying how the task stands"
	drifting  = `drift: "ls" was called 6 times with the same result`
	redReason = `gate "make test": exit status 2`

	unchanged = "nothing changed: the task was called done, but since its first attempt there is no commit, no difference in the files " +
		"and no gate that turned green"
)

func failing(kind acp.Kind) *acp.Error { return &acp.Error{Kind: kind, Op: "session/prompt"} }

func limit(retryAfter time.Duration) *acp.Error {
	return &acp.Error{Kind: acp.RateLimited, Op: "session/prompt", RetryAfter: retryAfter}
}

func fails(outcome event.AttemptOutcome, reason string) Decision {
	return Decision{Action: Fail, Outcome: outcome, Reason: reason}
}

func released(outcome event.AttemptOutcome, reason string) Decision {
	return Decision{Action: Release, Outcome: outcome, Reason: reason, Delay: 5 * time.Second}
}

// erred is what a turn with an error comes to. An agent that said nothing counts for the breaker.
func erred(outcome event.AttemptOutcome, reason string, silent bool) Decision {
	return Decision{Action: Release, Outcome: outcome, Reason: "session/prompt: " + reason, Delay: 5 * time.Second, NoAnswer: silent}
}

func interrupted(reason string) Decision {
	return Decision{Action: Release, Outcome: "interrupted", Reason: reason, Uncounted: true}
}

func rateLimited(delay, least time.Duration) Decision {
	return Decision{
		Action: Wait, Outcome: "limited", Reason: "session/prompt: rate limited", Uncounted: true, Limits: AnyProject,
		Delay: delay, Least: least,
	}
}

func suspected(delay time.Duration, everyone, noAnswer bool) Decision {
	reach := OneTask
	if everyone {
		reach = AnyTask
	}
	return Decision{
		Action: Wait, Outcome: "limited", Reason: "an empty answer: suspected rate limit or missing login", Uncounted: true,
		Delay: delay, Limits: reach, NoAnswer: noAnswer,
	}
}

func unusable(reason string) Decision {
	d := interrupted("session/prompt: " + reason)
	d.Outcome, d.NoAnswer, d.EndRun = "error", true, event.OutcomeUnavailable
	return d
}

// decisions are what is decided about facts. Facts that say nothing else are those of a
// first attempt whose first turn ended properly, with a limit of five attempts, a backoff of
// five seconds and two rounds of repair.
type decisions map[string]struct {
	facts Facts
	want  Decision
}

func (d decisions) check(t *testing.T) {
	t.Helper()
	for name, tt := range d {
		f := tt.facts
		f.Rules.MaxAttempts, f.Rules.Backoff = cmp.Or(f.Rules.MaxAttempts, 5), cmp.Or(f.Rules.Backoff, 5*time.Second)
		f.Rules.RepairRounds = cmp.Or(f.Rules.RepairRounds, 2)
		if !f.Turn.Cut && !f.Turn.Moved {
			f.Turn.Stop = cmp.Or(f.Turn.Stop, acp.StopEnd)
		}
		check.Equal(t, name, tt.want, Decide(f))
	}
}

func TestDecideAsksOnceAboutLinesThatNoGateExecuted(t *testing.T) {
	t.Parallel()
	work := Work{Checked: true, Coverage: coverage.Report{Unexecuted: []string{"a.go:3: return"}, Missed: 1, Changed: 2}}
	ask, done := Rules{AskUncovered: true}, Decision{Action: Complete, Outcome: event.AttemptDone}
	red, executed, script := work, work, work
	script.Script, red.Gates, executed.Coverage = true, []verify.Check{redGate}, coverage.Report{Changed: 2}
	decisions{
		"first": {Facts{Work: work, Rules: ask}, Decision{
			Action: Reprompt, Say: AskUncovered, Reason: "no gate executed 1 of 2 changed lines of code: a.go:3: return",
		}},
		"not asked for":       {Facts{Work: work}, done},
		"again":               {Facts{Work: work, Rules: ask, Session: Session{Uncovered: 1}}, done},
		"no session is there": {Facts{Work: work, Rules: ask, Session: Session{None: true}}, done},
		"a script":            {Facts{Work: script, Rules: ask}, done},
		"all executed":        {Facts{Work: executed, Rules: ask}, done},
		"a gate fails":        {Facts{Work: red, Rules: ask}, repair},
	}.check(t)
}

// TestDecideHoldsWhatAWitnessRefutes: it is repaired first, and never rejected for it.
func TestDecideHoldsWhatAWitnessRefutes(t *testing.T) {
	t.Parallel()
	const says = "a check that another agent wrote fails"
	doubt := verify.Doubt{Why: says, File: "a_test.go", Patch: "x"}
	work := Work{Checked: true, Refuted: says, Doubts: []verify.Doubt{doubt}}
	rules, tried := Rules{RepairRounds: 2}, Session{Repairs: 2}
	hold := Decision{Action: Hold, Outcome: event.AttemptReleased, Reason: "its work waits for review: " + says}
	red, script, judged, cleared, accepted, asked := work, work, work, work, work, work
	red.Gates, script.Script, accepted.Accepted, asked.WantVerdict = []verify.Check{redGate}, true, true, true
	judged.Verdict, cleared.Verdict = &verify.Verdict{Pass: true, Left: work.Doubts}, &verify.Verdict{Pass: true, Given: true}
	decisions{
		"first":                  {Facts{Work: work, Rules: rules}, Decision{Action: Reprompt, Say: AskWitness, Reason: says}},
		"once more":              {Facts{Work: work, Rules: rules, Session: Session{Repairs: 1}}, Decision{Action: Reprompt, Say: AskWitness, Reason: says}},
		"after the rounds":       {Facts{Work: work, Rules: rules, Session: tried}, hold},
		"no session is there":    {Facts{Work: work, Rules: rules, Session: Session{None: true}}, hold},
		"a script":               {Facts{Work: script, Rules: rules}, hold},
		"a gate fails":           {Facts{Work: red, Rules: rules}, repair},
		"before the verdict":     {Facts{Work: asked, Rules: rules}, Decision{Action: Reprompt, Say: AskWitness, Reason: says}},
		"a verdict is asked for": {Facts{Work: asked, Rules: rules, Session: tried}, Decision{Action: AskVerdict}},
		"not cleared":            {Facts{Work: judged, Rules: rules, Session: tried}, hold},
		"cleared":                {Facts{Work: cleared, Rules: rules, Session: tried}, complete},
		"accepted":               {Facts{Work: accepted, Rules: rules, Session: tried}, complete},
	}.check(t)
}

func TestDecideAboutWhatTheAgentSays(t *testing.T) {
	t.Parallel()
	said := func(s sigils.Set) Facts { return Facts{Turn: Turn{Sigils: s}} }
	asked := func(attempts int, s sigils.Set, r Rules) Facts {
		return Facts{Turn: Turn{Sigils: s}, Session: Session{Asked: 1}, History: History{Attempts: attempts}, Rules: r}
	}
	silent := func(delay time.Duration) Decision {
		return Decision{Action: Release, Outcome: "released", Reason: unsaid, Delay: delay}
	}
	goOn := func(reason string) Decision { return Decision{Action: Reprompt, Say: AskGoOn, Reason: reason} }
	kept := interrupted("its work is finished, and is verified the next time")
	killed := Facts{Ended: Interrupted, Work: Work{Checked: true, CheckErr: errors.New("killed")}}
	stopped := func(r acp.StopReason, s sigils.Set, goneOn int) Facts {
		return Facts{Turn: Turn{Stop: r, Sigils: s}, Session: Session{GoneOn: goneOn}}
	}
	decisions{
		"done is verified, not believed":                 {said(saysDone), verifyIt},
		"failed fails the task with the agent's reason":  {said(sigils.Set{Failed: true, FailReason: "no gcc"}), fails("failed", "no gcc")},
		"failed without a reason gets one":               {said(sigils.Set{Failed: true}), fails("failed", "the agent said that it cannot be done")},
		"done and failed together is done":               {said(sigils.Set{Done: true, Failed: true, FailReason: "x"}), verifyIt},
		"done beside a sigil for another task is done":   {said(sigils.Set{Done: true, Foreign: foreign}), verifyIt},
		"promise COMPLETE alone is only recorded":        {said(sigils.Set{Complete: true}), ask},
		"promise COMPLETE beside done changes nothing":   {said(sigils.Set{Complete: true, Done: true}), verifyIt},
		"promise FAILURE releases it and ends the run":   {said(sigils.Set{Failure: true}), promised},
		"promise FAILURE beside done ends the run":       {said(sigils.Set{Failure: true, Done: true}), promised},
		"promise FAILURE before a crash ends the run":    {Facts{Turn: Turn{Sigils: sigils.Set{Failure: true}, Err: failing(acp.Died)}}, promised},
		"no sigil the first time is asked about":         {Facts{}, ask},
		"no sigil in the last attempt is asked about":    {Facts{History: History{Attempts: 4}}, ask},
		"no sigil a second time releases with backoff":   {asked(0, sigils.Set{}, Rules{}), released("released", unsaid)},
		"the backoff grows threefold with each attempt":  {asked(2, sigils.Set{}, Rules{}), silent(45 * time.Second)},
		"the backoff has an end":                         {asked(60, sigils.Set{}, Rules{MaxAttempts: 100}), silent(5 * time.Minute)},
		"a configured backoff beyond the end is cut":     {asked(1, sigils.Set{}, Rules{Backoff: 1 << 62}), silent(5 * time.Minute)},
		"no sigil twice in the last attempt fails":       {asked(4, sigils.Set{}, Rules{}), fails("released", "no result in 5 attempts; the last: "+unsaid)},
		"a note or a verdict says nothing about a task":  {asked(0, sigils.Set{Journal: "x", VerifyPass: true}, Rules{}), released("released", unsaid)},
		"a wrong ID releases the task":                   {said(sigils.Set{Foreign: foreign}), released("released", "the agent spoke of another task: task-done t-2")},
		"a refusal fails the task":                       {stopped(acp.StopRefusal, sigils.Set{}, 0), refused},
		"a refusal after done fails the task":            {stopped(acp.StopRefusal, saysDone, 0), refused},
		"a turn cut off by tokens is continued":          {stopped(acp.StopMaxTokens, sigils.Set{}, 0), goOn("cut off: max_tokens")},
		"a turn cut off by requests is, a third time":    {stopped(acp.StopMaxTurnRequests, sigils.Set{}, 2), goOn("cut off: max_turn_requests")},
		"a turn cut off a fourth time is released":       {stopped(acp.StopMaxTokens, sigils.Set{}, 3), released("released", "cut off 4 times: max_tokens")},
		"a turn cut off after done is done":              {stopped(acp.StopMaxTokens, saysDone, 0), verifyIt},
		"an agent that cancels by itself is released":    {stopped(acp.StopCancelled, sigils.Set{}, 0), released("error", "the agent cancelled its own turn")},
		"a lost claim is left alone, done or not":        {Facts{Ended: Lost, Turn: Turn{Sigils: saysDone}}, abort},
		"a claim lost while verifying is left alone":     {Facts{Ended: Lost, Turn: Turn{Sigils: saysDone}, Work: Work{Checked: true}}, abort},
		"interrupted in a turn, it is uncounted":         {Facts{Ended: Interrupted, Turn: Turn{Sigils: saysDone}}, interrupted("interrupted")},
		"interrupted while verifying, it stays finished": {killed, kept},
	}.check(t)
}

func TestAnAgentIsAskedWhatPeopleAskBetweenItsTurns(t *testing.T) {
	t.Parallel()
	asks := func(change func(*Facts)) Facts {
		f := Facts{Turn: Turn{Sigils: saysDone, Stop: acp.StopEnd, Queries: 1, Unread: 1}}
		change(&f)
		return f
	}
	query := Decision{Action: Reprompt, Say: AskQuery, Reason: "a person asks it something"}
	heed := Decision{Action: Reprompt, Say: AskHeed, Reason: "messages came while it worked"}
	decisions{
		"before its messages and before verifying": {asks(func(*Facts) {}), query},
		"before it is asked whether it is through": {asks(func(f *Facts) { f.Turn.Sigils = sigils.Set{} }), query},
		"not without end":                          {asks(func(f *Facts) { f.Session.Queried = maxQueried }), heed},
		"not when it was cut off":                  {asks(func(f *Facts) { f.Turn.Stop = acp.StopMaxTokens }), heed},
		"not when a budget is used up":             {asks(func(f *Facts) { f.Turn.Over = &budget.Finding{} }), heed},
		"not when the run is interrupted":          {asks(func(f *Facts) { f.Ended = Interrupted }), interrupted("interrupted")},
	}.check(t)
}

func TestDecideAboutErrors(t *testing.T) {
	t.Parallel()
	failed := func(kind acp.Kind, silent bool) Facts { return Facts{Turn: Turn{Err: failing(kind), Empty: silent}} }
	of := func(kind acp.Kind, s Standing) Facts {
		return Facts{Turn: Turn{Err: failing(kind), Empty: true}, Agent: s}
	}
	last := func(kind acp.Kind, silent bool) Facts {
		return Facts{Turn: Turn{Err: failing(kind), Empty: silent}, History: History{Attempts: 4}}
	}
	foreignLast := Facts{Turn: Turn{Sigils: sigils.Set{Foreign: foreign}}, History: History{Attempts: 4}}
	timesOut := fails("timeout", "no result in 5 attempts; the last: session/prompt: turn timeout")
	dies := fails("error", "no result in 5 attempts; the last: session/prompt: died")
	dies.NoAnswer = true
	own := func(reason string) Decision {
		return fails("error", "its own agent or model cannot be used: session/prompt: "+reason)
	}
	dropped := Decision{Action: Release, Outcome: "error", Reason: "session/prompt: auth required", Uncounted: true, Drop: true}
	answered := Facts{Turn: Turn{Err: failing(acp.Died), Empty: true}, Session: Session{Answered: true}}
	exit := &acp.Error{Kind: acp.Died, Op: "session/prompt", Exit: &proc.Exit{Code: 2}}
	decisions{
		"an unusable agent is not the task's fault":        {last(acp.NotFound, true), unusable("not found")},
		"an unusable agent of the task's own fails it":     {of(acp.NotFound, Standing{OwnAgent: true}), own("not found")},
		"an unknown model of the task's own fails it":      {of(acp.ModelUnknown, Standing{OwnModel: true}), own("model unknown")},
		"a missing login is not about the task's model":    {of(acp.AuthRequired, Standing{OwnModel: true}), unusable("auth required")},
		"a crash of the task's own agent is a crash":       {of(acp.Died, Standing{OwnAgent: true}), erred("error", "died", true)},
		"an unusable substitute is dropped":                {of(acp.AuthRequired, Standing{Substitute: true}), dropped},
		"no handshake in time counts for the breaker":      {failed(acp.HandshakeTimeout, true), erred("error", "handshake timeout", true)},
		"a crash without a word counts for the breaker":    {Facts{Turn: Turn{Err: exit, Empty: true}}, erred("error", "died: exit status 2", true)},
		"a crash in the middle of its work is no silence":  {failed(acp.Died, false), erred("error", "died", false)},
		"a crash after an answered turn is no silence":     {answered, erred("error", "died", false)},
		"a crash after done is a crash":                    {Facts{Turn: Turn{Err: failing(acp.Died), Sigils: saysDone}}, erred("error", "died", false)},
		"a crash in the last attempt fails the task":       {last(acp.Died, true), dies},
		"an error of the agent's own is released":          {failed(acp.Refused, true), erred("error", "refused", true)},
		"a broken protocol is released":                    {failed(acp.Protocol, true), erred("error", "protocol", true)},
		"a cancel that nobody asked for is released":       {failed(acp.Cancelled, false), erred("error", "cancelled", false)},
		"a session that is closed meanwhile is released":   {failed(acp.Closed, false), erred("error", "closed", false)},
		"silence until the timeout counts for the breaker": {failed(acp.IdleTimeout, true), erred("timeout", "idle timeout", true)},
		"a turn that takes too long is released":           {failed(acp.TurnTimeout, false), erred("timeout", "turn timeout", false)},
		"a timeout in the last attempt fails the task":     {last(acp.TurnTimeout, false), timesOut},
		"a wrong ID in the last attempt fails the task":    {foreignLast, fails("released", "no result in 5 attempts; the last: the agent spoke of another task: task-done t-2")},
	}.check(t)
	for _, kind := range []acp.Kind{acp.NotFound, acp.CannotStart, acp.WrongVersion, acp.AuthRequired, acp.ModelUnknown} {
		decisions{string(kind) + " ends the run": {failed(kind, true), unusable(strings.ReplaceAll(string(kind), "_", " "))}}.check(t)
	}
}

func TestDecideAboutLimits(t *testing.T) {
	t.Parallel()
	limited := func(before int, err *acp.Error) Facts {
		return Facts{Turn: Turn{Err: err}, Agent: Standing{Limited: before}, History: History{Attempts: 4}}
	}
	silent := func(s Standing) Facts { return Facts{Turn: Turn{Empty: true}, Agent: s, History: History{Attempts: 4}} }
	named, until := limit(time.Hour), rateLimited(time.Hour, 0)
	named.Until = time.Date(2026, 11, 15, 3, 0, 0, 0, time.UTC)
	until.Until = named.Until
	answered := Facts{Turn: Turn{Empty: true}, Session: Session{Answered: true, Asked: 1}}
	decisions{
		"a rate limit waits and costs nothing":          {limited(0, failing(acp.RateLimited)), rateLimited(30*time.Second, 0)},
		"limits in a row wait twice as long each":       {limited(2, failing(acp.RateLimited)), rateLimited(2*time.Minute, 0)},
		"the wait for a limit has an end":               {limited(500, failing(acp.RateLimited)), rateLimited(10*time.Minute, 10*time.Minute)},
		"a limit that says how long waits so long":      {limited(2, limit(7*time.Hour)), rateLimited(7*time.Hour, 0)},
		"a limit that says until when waits until then": {limited(0, named), until},
		"a limit is waited for as long as one can be":   {limited(0, limit(1000*time.Hour)), rateLimited(ratelimit.Longest, 0)},
		"a provider is believed three times":            {limited(4, limit(time.Second)), rateLimited(time.Second, time.Minute)},
		"an empty answer that is the first of an agent": {silent(Standing{}), suspected(30*time.Second, false, true)},
		"one of an agent that answered is for one task": {silent(Standing{Proven: true}), suspected(30*time.Second, false, false)},
		"the second in a row is a limit":                {silent(Standing{Proven: true, Suspected: true, Limited: 1}), suspected(time.Minute, true, false)},
		"an empty answer after a real one is no limit":  {answered, released("released", unsaid)},
	}.check(t)
}

func TestDecideAboutBudgetsAndDrift(t *testing.T) {
	t.Parallel()
	over := func(f *budget.Finding, err *acp.Error, stop acp.StopReason, s sigils.Set) Facts {
		return Facts{Turn: Turn{Over: f, Err: err, Stop: stop, Sigils: s}, History: History{Attempts: 4}}
	}
	cancelled := failing(acp.Cancelled)
	ownOver := fails("failed", "its budget is used up: $2.00 of $1.00 spent on t-1")
	red := Facts{Turn: Turn{Over: money, Sigils: saysDone}, Work: Work{Checked: true, Gates: []verify.Check{redGate}}}
	cut := func(stop acp.StopReason, nudged, before int) Facts {
		turn := Turn{Cut: true, Drift: circles, Err: cancelled, Stop: stop}
		return Facts{Turn: turn, Session: Session{Nudged: nudged}, History: History{Drifted: before}}
	}
	givenUp := Decision{Action: Fail, Outcome: "failed", Reason: drifting, Drifted: true}
	decisions{
		"an exceeded budget costs the task nothing":        {over(money, cancelled, "", sigils.Set{}), noMoney},
		"done counts for nothing if the turn is cut short": {over(money, cancelled, "", saysDone), noMoney},
		"a turn that ended by itself is verified":          {over(money, nil, "", saysDone), verifyIt},
		"and what it says has failed has failed":           {over(money, nil, "", sigils.Set{Failed: true, FailReason: "no"}), fails("failed", "no")},
		"nothing more is said when the money is gone":      {over(money, nil, acp.StopMaxTokens, sigils.Set{}), noMoney},
		"a red gate is not sent back then":                 {red, reject(event.RejectedGate, redReason+"\nFAIL x\n")},
		"a task that used up its own budget has failed":    {over(ownMoney, cancelled, "", sigils.Set{}), ownOver},
		"the budget comes before drift":                    {Facts{Turn: Turn{Over: money, Cut: true, Drift: circles, Err: cancelled}}, noMoney},

		"an agent that drifts is asked to change first": {cut(acp.StopCancelled, 0, 0), nudge},
		"then the attempt ends":                         {cut(acp.StopCancelled, 1, 0), stronger},
		"an agent that did not stop cannot be asked":    {cut("", 0, 0), stronger},
		"the stronger model is asked too":               {cut(acp.StopCancelled, 0, 1), nudge},
		"and then the task is given up":                 {cut(acp.StopCancelled, 1, 1), givenUp},
		"a silent agent that drifts is asked to change": {Facts{Turn: Turn{Drift: circles}, Session: Session{Asked: 1}}, nudge},
		"drift does not matter to what is done":         {Facts{Turn: Turn{Drift: circles, Sigils: saysDone}}, verifyIt},
	}.check(t)
}

// TestDecideAboutWorkThatWasChecked: the policy of "done".
func TestDecideAboutWorkThatWasChecked(t *testing.T) {
	t.Parallel()
	checked := func(w Work) Facts {
		w.Checked = true
		return Facts{Turn: Turn{Sigils: saysDone}, Work: w}
	}
	gates := func(s Session, list ...verify.Check) Facts {
		return Facts{Turn: Turn{Sigils: saysDone}, Session: s, History: History{Attempts: 4}, Work: Work{Checked: true, Gates: list}}
	}
	verdict := func(v verify.Verdict) Facts { return checked(Work{WantVerdict: true, Verdict: &v}) }
	nothing := func(v verify.Verdict) Facts { return checked(Work{Unchanged: true, WantVerdict: true, Verdict: &v}) }
	already := Decision{Action: Complete, Outcome: "already_done", Reason: "in a.go"}
	unproven := waits(`every gate failed before the work and still does: "make test", "make test"`)
	last := func(w Work) Facts {
		f := checked(w)
		f.History.Attempts = 4
		return f
	}
	redBefore, mended := redGate, greenGate
	redBefore.Before, mended.Before = &verify.Result{Command: "make test", Exit: "exit status 2", Tail: "FAIL x\n"}, &verify.Result{}
	redBefore.Allowed, redBefore.Failures = &verify.Allowed{Failures: "FAIL x"}, "FAIL x"
	nameless, unallowed := redGate, redGate
	unallowed.Before = redBefore.Before
	nameless.Allowed, nameless.Failures = &verify.Allowed{Failures: "FAIL"}, "FAIL"
	turned := mended
	turned.Own = true
	doubted := waits(`gates failed before the work and still do, without naming what fails: "make test"`)
	worse, ownRed := redBefore, redBefore
	worse.Failures, ownRed.Own = "FAIL y", true
	red := reject(event.RejectedGate, redReason+"\nFAIL x\n")
	wanted, unwanted := redGate, greenGate
	wanted.ExpectRed, unwanted.ExpectRed = true, true
	noSh := errors.New("no sh")
	tampered := Work{Tampering: []string{"test deleted: a", "protected: b"}, WantVerdict: true, Gates: []verify.Check{redGate}}
	doubts := []verify.Doubt{{Why: `gate "go test" fails with a_test.go as before the work: exit status 1`, File: "a_test.go"}, {Why: "test file deleted: b_test.go"}}
	const why = `gate "go test" fails with a_test.go as before the work: exit status 1; test file deleted: b_test.go`
	doubtful := func(v *verify.Verdict) Facts {
		return checked(Work{WantVerdict: true, Doubts: doubts, Verdict: v, Gates: []verify.Check{greenGate}})
	}
	unseen := reject(event.RejectedUnchanged, unchanged+"; the verifier says: no verdict after 2 tries")
	unseen.Limit = new(int)
	late := verify.Verdict{Given: true, Pass: true, Fulfilled: true, Reason: "in a.go", Left: doubts[1:]}
	decisions{
		"work in doubt waits for a person":              {checked(Work{Doubts: doubts, Gates: []verify.Check{greenGate}}), waits(why)},
		"but not if it does not pass its gates":         {checked(Work{Doubts: doubts, Gates: []verify.Check{redGate}}), repair},
		"nor if it changed what is protected":           {checked(Work{Doubts: doubts, Tampering: []string{"protected: a"}}), reject(event.RejectedTampering, "tampering: protected: a")},
		"a verifier is asked about it":                  {doubtful(nil), Decision{Action: AskVerdict}},
		"its pass completes if it clears all":           {doubtful(&verify.Verdict{Given: true, Pass: true}), complete},
		"its pass alone does not":                       {doubtful(&verify.Verdict{Pass: true, Left: doubts[1:], Reason: "why"}), waits("test file deleted: b_test.go; why")},
		"a fail is a fail, whatever it clears":          {doubtful(&verify.Verdict{Given: true, Reason: "no docs"}), reject(event.RejectedVerdict, "verdict: no docs")},
		"a person who accepted the work cleared it":     {checked(Work{Doubts: doubts, Accepted: true}), complete},
		"of nothing in doubt there is nothing to wait":  {checked(Work{Unchanged: true, WantVerdict: true, Verdict: &late, Doubts: doubts}), reject(event.RejectedUnchanged, unchanged+"; the verifier says: in a.go")},
		"a verifier's silence is for a person, as well": {doubtful(&verify.Verdict{Silent: true, Reason: "no verdict after 2 tries"}), waits("no verdict after 2 tries")},
		"all reasons are named, a verifier's silence":   {doubtful(&verify.Verdict{Silent: true, Reason: "no verdict", Left: doubts}), waits(why + "; no verdict")},
		"gates that are excused":                        {checked(Work{Doubts: doubts[1:], Gates: []verify.Check{redBefore}}), waits(`every gate failed before the work and still does: "make test"; test file deleted: b_test.go`)},
		"and gates that name nothing":                   {checked(Work{Doubts: doubts[1:], Gates: []verify.Check{greenGate, nameless}}), waits(`gates failed before the work and still do, without naming what fails: "make test"; test file deleted: b_test.go`)},
	}.check(t)
	decisions{
		"without gates and verifier it is complete":      {checked(Work{}), complete},
		"green gates complete":                           {gates(Session{}, greenGate, greenGate), complete},
		"a red gate goes back into the session":          {gates(Session{}, greenGate, redGate), repair},
		"a red gate goes back as often as is allowed":    {gates(Session{Repairs: 1}, redGate), repair},
		"then it retries with what the gate printed":     {gates(Session{Repairs: 2}, redGate), red},
		"without a session there is nobody to repair it": {gates(Session{None: true}, redGate), red},
		"a gate red before and not worse is excused":     {gates(Session{}, redBefore, greenGate), complete},
		"but not one that was only red before":           {gates(Session{Repairs: 9}, unallowed), red},
		"one that names nothing is a doubt":              {gates(Session{}, nameless, greenGate), doubted},
		"whatever a verifier says":                       {checked(Work{WantVerdict: true, Verdict: &verify.Verdict{Given: true, Pass: true}, Gates: []verify.Check{nameless}}), doubted},
		"unless a person accepted it":                    {checked(Work{Accepted: true, Gates: []verify.Check{nameless}}), complete},
		"or its own gate turned green":                   {gates(Session{}, nameless, turned), complete},
		"but is no evidence by itself":                   {gates(Session{}, redBefore, redBefore), unproven},
		"unless a check needs none":                      {checked(Work{Evident: true, Gates: []verify.Check{redBefore}}), complete},
		"or a verifier vouches for it":                   {checked(Work{WantVerdict: true, Verdict: &verify.Verdict{Given: true, Pass: true}, Gates: []verify.Check{redBefore}}), complete},
		"a gate red before that got worse is not":        {gates(Session{Repairs: 2}, worse), red},
		"a gate that is to fail completes when it does":  {gates(Session{}, wanted), complete},
		"one that passes is not sent back": {
			gates(Session{}, unwanted), reject(event.RejectedGate, `gate "make": `+unwanted.Exit+", but the work has to make it fail\n"+unwanted.Tail),
		},
		"and it is no evidence without a change, not even of a script": {
			checked(Work{Unchanged: true, Evident: true, Gates: []verify.Check{wanted}}), reject(event.RejectedUnchanged, unchanged),
		},
		"a task's own gate must be green":                {gates(Session{Repairs: 2}, ownRed), red},
		"tampering is not sent back, and comes first":    {checked(tampered), reject(event.RejectedTampering, "tampering: test deleted: a; protected: b")},
		"done without any change is rejected":            {checked(Work{Unchanged: true}), reject(event.RejectedUnchanged, unchanged)},
		"with a verifier it is a question":               {checked(Work{Unchanged: true, WantVerdict: true, Gates: []verify.Check{greenGate}}), Decision{Action: AskVerdict}},
		"but not while a gate is red, if only as before": {checked(Work{Unchanged: true, WantVerdict: true, Gates: []verify.Check{redBefore}}), reject(event.RejectedUnchanged, unchanged)},
		"what was fulfilled before is already done":      {nothing(verify.Verdict{Given: true, Pass: true, Fulfilled: true, Reason: "in a.go"}), already},
		"a pass alone does not say so":                   {nothing(verify.Verdict{Given: true, Pass: true, Reason: "fine"}), reject(event.RejectedUnchanged, unchanged+"; the verifier says: fine")},
		"nor does a fail":                                {nothing(verify.Verdict{Given: true, Reason: "no tests"}), reject(event.RejectedUnchanged, unchanged+"; the verifier says: no tests")},
		"a green gate that always was is no evidence":    {checked(Work{Unchanged: true, Gates: []verify.Check{greenGate}}), reject(event.RejectedUnchanged, unchanged)},
		"a gate that turned green is evidence":           {checked(Work{Unchanged: true, Gates: []verify.Check{mended}}), complete},
		"a check needs no change":                        {checked(Work{Unchanged: true, Evident: true}), complete},
		"a verifier is asked last":                       {checked(Work{WantVerdict: true, Gates: []verify.Check{greenGate}}), Decision{Action: AskVerdict}},
		"its pass completes":                             {verdict(verify.Verdict{Given: true, Pass: true}), complete},
		"its fail retries with its reason":               {verdict(verify.Verdict{Given: true, Reason: "no tests"}), reject(event.RejectedVerdict, "verdict: no tests")},
		"its silence is for a person to decide":          {verdict(verify.Verdict{Silent: true, Reason: "no verdict after 2 tries"}), waits("no verdict after 2 tries")},
		"and about nothing, of which nothing can wait":   {checked(Work{Unchanged: true, WantVerdict: true, Verdict: &verify.Verdict{Silent: true, Reason: "no verdict after 2 tries"}}), unseen},
		"a verifier at its limit is waited for":          {checked(Work{WantVerdict: true, VerifierErr: failing(acp.RateLimited)}), rateLimited(30*time.Second, 0)},
		"a verifier that cannot be used ends the run":    {checked(Work{WantVerdict: true, VerifierErr: failing(acp.AuthRequired)}), unusable("auth required")},
		"what cannot be checked is not the work's fault": {checked(Work{CheckErr: noSh}), released("error", "no sh")},
		"what can never be checked fails in the end":     {last(Work{CheckErr: noSh}), fails("error", "no result in 5 attempts; the last: no sh")},
	}.check(t)
}

func TestDecideAboutConflictsWithTheTarget(t *testing.T) {
	t.Parallel()
	both := Work{Checked: true, Conflict: []string{"a.go", "b.go"}, With: []string{"t-2 (other)"}, Kept: "3f2a1bc0d9e8f7a6"}
	const reason = "conflict: a.go, b.go changed on the target by t-2 (other)"
	again := Decision{Action: Retry, Rejected: event.RejectedConflict, Outcome: "retried", Reason: reason + "; what was done before is in commit 3f2a1bc0d9", Conflict: both.Conflict}
	resolve := Decision{Action: Resolve, Reason: reason}
	script := both
	script.Script = true
	facts := func(w Work, s Session) Facts { return Facts{Work: w, Session: s, Rules: Rules{Resolve: 1}} }
	cancelled := Turn{Moved: true, Stop: acp.StopCancelled, Err: failing(acp.Cancelled)}
	decisions{
		"a session resolves it":                       {facts(both, Session{}), resolve},
		"only so many do, then the files are locked":  {facts(both, Session{Resolved: 1}), again},
		"a script runs again, however often":          {facts(script, Session{Resolved: 9}), resolve},
		"finished work of another run has no session": {facts(both, Session{None: true}), again},
		"who may not spend any more does not resolve": {Facts{Work: both, Turn: Turn{Over: money}, Rules: Rules{Resolve: 1}}, again},
		"a turn that is cut goes on in its session":   {Facts{Turn: cancelled}, Decision{Action: Reprompt, Say: AskMoved, Reason: movedReason}},
		"or in a new one if the agent did not stop":   {Facts{Turn: Turn{Moved: true, Err: failing(acp.Cancelled)}}, Decision{Action: Resolve, Reason: movedReason}},
		"a budget comes first":                        {Facts{Turn: Turn{Moved: true, Over: money, Err: failing(acp.Cancelled)}}, noMoney},
	}.check(t)
}

func waits(why string) Decision {
	return Decision{Action: Hold, Outcome: event.AttemptReleased, Reason: "its work waits for review: " + why}
}
