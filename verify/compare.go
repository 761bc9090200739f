package verify

import (
	"fmt"
	"slices"
	"strings"

	"ralph/internal/event"
	"ralph/internal/human"
	"ralph/internal/lazyregexp"
)

// Check is what a gate says about finished work, beside what it said before.
type Check struct {
	Result
	Own    bool    // the task's own: it must be green, whatever it was before
	Before *Result // nil if it was not asked before the work
	Flaky  bool    // it was red at first, and green when it was run again

	Allowed *Allowed // what a person lets it fail with; nil: it has to pass

	ExpectRed bool // the task wants the work to make it fail, such as tests that are written first
}

// Verdict classifies the result. A gate that fails only with what a person allowed does not count against the work, unless it is
// what the task is about. One that is to fail has to fail by itself, and otherwise than before.
// One that cannot start is never excused or expected: it says nothing.
func (c Check) Verdict() event.GateVerdict {
	switch {
	case c.Unstartable:
		return event.GateFailed
	case c.ExpectRed && c.reddened():
		return event.GateExpected
	case c.ExpectRed:
		return event.GateFailed
	case c.Passed && c.Flaky:
		return event.GateFlaky
	case c.Passed:
		return event.GatePassed
	case !c.Own && c.Allowed.Covers(c.Result):
		return event.GateExcused
	default:
		return event.GateFailed
	}
}

// reddened reports whether a gate fails by itself, and otherwise than before.
func (c Check) reddened() bool {
	if c.Passed || c.Killed {
		return false
	}
	return !c.FailedBefore() || Worse(*c.Before, c.Result)
}

// Nameless reports that it is excused and prints nothing that distinguishes its failures from others.
func (c Check) Nameless() bool { return c.Verdict() == event.GateExcused && !c.Named() }

// TurnedGreen reports whether the work repaired it.
func (c Check) TurnedGreen() bool { return c.Passed && c.FailedBefore() }

// PassedBefore and FailedBefore report what the gate said before the work. One that was not run then said neither.
func (c Check) PassedBefore() bool { return c.Before != nil && c.Before.Passed }

// FailedBefore is described with PassedBefore.
func (c Check) FailedBefore() bool { return c.Before != nil && !c.Before.Passed }

// Worse compares two red results of a gate: the later is worse if it names a
// failure that the earlier did not, or did not come to an end by itself while the
// earlier did.
func Worse(before, now Result) bool {
	if now.Killed && !before.Killed {
		return true
	}
	known := strings.Split(before.Failures, "\n")
	return slices.ContainsFunc(strings.Split(now.Failures, "\n"), func(failure string) bool { return !slices.Contains(known, failure) })
}

// Allowed is what a gate may fail with: lines as in Result.Failures.
type Allowed struct{ Failures string }

// Covers reports whether a gate fails with nothing else. What does not come to an end, or cannot start, names nothing.
func (a *Allowed) Covers(r Result) bool {
	if a == nil || r.Passed || r.Broken() {
		return false
	}
	return !Worse(Result{Failures: a.Failures}, r)
}

// And is what a gate may fail with that fails with this, too.
func (a *Allowed) And(r Result) Allowed {
	all := strings.Split(r.Failures, "\n")
	if a != nil {
		all = append(all, strings.Split(a.Failures, "\n")...)
	}
	all = slices.DeleteFunc(all, func(line string) bool { return line == "" })
	slices.Sort(all)
	return Allowed{strings.Join(slices.Compact(all), "\n")}
}

// Broken reports whether a gate says nothing about what it checks: it cannot start, or does not come to an end by itself.
func (r Result) Broken() bool { return r.Unstartable || r.Killed }

// Named reports whether a gate names what fails, so that another failure can be distinguished. Summaries such as "FAIL" or
// "make: *** [test] Error 1" are the same for all failures.
func (r Result) Named() bool { return len(r.Names()) > 0 }

// Names are the failures that a gate names.
func (r Result) Names() (names []string) {
	for line := range strings.SplitSeq(r.Failures, "\n") {
		if nameLine.Get().MatchString(line) {
			names = append(names, line)
		}
	}
	return names
}

// nameLine is a line that names what fails: a test, a package or file of tests, or a place in a file.
var nameLine = lazyregexp.New(`^(?:--- FAIL: |(?:FAIL|FAILED|ERROR):? [^\s(#]|test \S+ \.\.\. FAILED|not ok |[✕✗✖×] |error\[|[^\s:]+:#(?::#)?: |[^\s(]+\(#,#\): )`)

// UnknownGate is the error for a gate that is to fail and is not one of these.
func UnknownGate(command string, gates []string) string {
	if len(gates) == 0 {
		return fmt.Sprintf("%q is not a gate; there are none", command)
	}
	return fmt.Sprintf("%q is not a gate; the gates are: %s", command, human.List(gates, 10))
}
