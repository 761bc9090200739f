package policy

import (
	"slices"
	"strconv"
	"time"

	"ralph/acp"
	"ralph/internal/budget"
	"ralph/internal/detect"
	"ralph/internal/event"
	"ralph/internal/seq"
	"ralph/sigils"
	"ralph/verify"
	"ralph/verify/coverage"
)

// Facts are all that a decision depends on.
type Facts struct {
	Ended   Ended
	Limit   string // with Exceeded: which one
	Turn    Turn
	Session Session
	Work    Work
	Agent   Standing
	History History
	Rules   Rules
}

// Ended says whether an attempt was ended from outside.
type Ended string

// The ways in which an attempt may be ended.
const (
	Running     Ended = ""
	Interrupted Ended = "interrupted" // a person or a signal stopped the run
	Lost        Ended = "lost"        // the task was taken away
	Exceeded    Ended = "exceeded"    // its processes used more than they may
)

// Turn is the agent's last turn.
type Turn struct {
	Sigils sigils.Set
	Stop   acp.StopReason
	Err    *acp.Error // nil if the turn ended properly
	Empty  bool       // no model answered: not a word, no tool call, nothing to pay

	Over  *budget.Finding // a budget that was exceeded while the agent worked
	Cut   bool            // the turn was cut short because of Drift
	Drift []detect.Signal // what is wrong with the attempt
	Moved bool            // the turn was cut short because the target came into conflict with the work

	Parked  string // the question that the task waits for; "" if there is none
	Unread  int    // messages that came while it worked
	Queries int    // what people ask it
}

// finished reports whether the agent said how the task ended.
func (t Turn) finished() bool { return t.Err == nil && (t.Sigils.Done || t.Sigils.Failed) }

// Session is what was said in the attempt's session so far.
type Session struct {
	None      bool // there is no session: finished work is only verified
	Answered  bool // an earlier turn of this attempt was not empty
	Restarted bool // the agent could not be started, although it has answered, and was tried again
	Asked     int  // "did you finish?"
	GoneOn    int  // "go on"
	Nudged    int  // follow-ups about drift
	Repairs   int  // red gates, and checks of a witness, that were sent back
	Resolved  int  // conflicts with the target that a session was opened for
	Heeded    int  // messages after it had called the task done
	Queried   int  // what people asked it
	Moved     int  // turns that were cut because of the target
	Uncovered int  // requests to test what no gate executed
}

// Work is what checking it showed.
type Work struct {
	Checked     bool // the work was checked: what follows counts
	Gates       []verify.Check
	CheckErr    error          // what kept the work from being checked
	Tampering   []string       // protected files, and ralph's own state, that it changed
	Conflict    []string       // files that cannot be merged into the target
	With        []string       // the tasks that changed them there
	Kept        string         // the commit that conflicts
	Script      bool           // who works does the same again each time
	Stale       string         // why work that a person accepted cannot be checked as it was
	Accepted    bool           // by a person, or by a verifier on another base
	Unchanged   bool           // nothing differs from what was there before the task's first attempt
	Evident     bool           // it needs no change to be done: a check, or an exit status said so
	Doubts      []verify.Doubt // what a verifier or a person has to clear
	WantVerdict bool
	Verdict     *verify.Verdict

	Coverage coverage.Report // which changed lines no gate executed
	Refuted  string          // what a witness says against the work; "" if nothing. A doubt about it is among Doubts

	VerifierErr  *acp.Error      // what kept an agent from giving a verdict
	VerifierOver *budget.Finding // the budget that did not let one give it
}

// Left is what a person has to clear before the work lands, because no verifier has. A person who accepted the work did.
func (w Work) Left() []verify.Doubt {
	switch {
	case w.Accepted:
		return nil
	case w.Verdict != nil:
		return w.Verdict.Left
	}
	return w.Doubts
}

// Unproven reports whether nothing shows that anybody worked. An exit status does not if a gate is to fail because of the work.
func (w Work) Unproven() bool {
	if !w.Unchanged || slices.ContainsFunc(w.Gates, verify.Check.TurnedGreen) {
		return false
	}
	return !w.Evident || slices.ContainsFunc(w.Gates, func(c verify.Check) bool { return c.ExpectRed })
}

// Refused reports whether what was found against the work is enough, whatever else is still to be checked.
func (w Work) Refused() bool { return len(w.Tampering) > 0 || w.GateFailed() }

// GateFailed reports whether a gate does not accept the work.
func (w Work) GateFailed() bool {
	return slices.ContainsFunc(w.Gates, func(c verify.Check) bool { return c.Verdict() == event.GateFailed })
}

// Nameless are the excused gates that do not name what fails: whether the work breaks more, nobody can tell. What the task is
// about vouches for it, if its own gate failed before and passes now.
func (w Work) Nameless() (gates []string) {
	if w.Accepted || slices.ContainsFunc(w.Gates, func(c verify.Check) bool { return c.Own && c.TurnedGreen() }) {
		return nil
	}
	for _, c := range w.Gates {
		if c.Nameless() {
			gates = append(gates, strconv.Quote(c.Command))
		}
	}
	return gates
}

// Excused are the gates if all fail as a person allowed, and nothing else vouches for the work.
func (w Work) Excused() []string {
	vouched := w.WantVerdict || w.Evident || w.Accepted
	if vouched || slices.ContainsFunc(w.Gates, func(c verify.Check) bool { return c.Verdict() != event.GateExcused }) {
		return nil
	}
	return seq.Map(w.Gates, func(c verify.Check) string { return strconv.Quote(c.Command) })
}

// MayBeFulfilled reports whether a verifier can be asked whether there was nothing to do: every gate passes.
func (w Work) MayBeFulfilled() bool {
	return w.WantVerdict && !slices.ContainsFunc(w.Gates, func(c verify.Check) bool { return !c.Passed })
}

// Standing is what is known of the agent in this run.
type Standing struct {
	OwnAgent   bool // the task brings its own agent
	OwnModel   bool // the task brings its own model
	Substitute bool // another agent works, because the run's own is rate-limited
	Proven     bool // it has answered
	Suspected  bool // its last answer was empty, too, and nothing was done about it
	Mute       bool // it said nothing to this task before, and has answered to others since
	Limited    int  // attempts in a row that ended at a limit, before this one
}

// History is what came before, since the task was last reset.
type History struct {
	Attempts int // that counted
	Retries  int
	Drifted  int // attempts that ended for drift
}

// Rules are the settings that decide.
type Rules struct {
	MaxAttempts  int
	RetryFailed  int  // how often a task that an agent called failed is tried again
	RepairRounds int  // how often a red gate is sent back into the session
	AskUncovered bool // a session is asked once about changed lines that no gate executed
	Resolve      int  // how often a session is opened for a conflict with the target
	Backoff      time.Duration
	LimitWait    time.Duration // for a limit of unknown length; 0 means half a minute
}
