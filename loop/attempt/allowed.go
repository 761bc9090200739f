package attempt

import (
	"fmt"
	"strings"

	"ralph/internal/event"
	"ralph/internal/human"
	"ralph/internal/seq"
	"ralph/loop/policy"
	"ralph/verify"
)

// Allowed is what gates may fail with, by gate.
type Allowed map[string]string

// Of is what a gate may fail with; nil if it has to pass.
func (a Allowed) Of(gate string) *verify.Allowed {
	if failures, ok := a[gate]; ok {
		return &verify.Allowed{Failures: failures}
	}
	return nil
}

// said takes in what a gate said of what counts from now on: what it does not fail with any more has passed.
func (a Allowed) said(r verify.Result) {
	if r.Passed {
		delete(a, r.Command)
	} else {
		a[r.Command] = r.Failures
	}
}

// Begin takes in what gates said before the work of any task, and returns those that fail with more than they may.
func (a Allowed) Begin(results []verify.Result) (failing []verify.Result) {
	for _, r := range results {
		if r.Passed || a.Of(r.Command).Covers(r) {
			a.said(r)
		} else {
			failing = append(failing, r)
		}
	}
	return failing
}

// Allow excuses what gates fail with.
func (a Allowed) Allow(failing []verify.Result) {
	for _, r := range failing {
		a[r.Command] = a.Of(r.Command).And(r).Failures
	}
}

// Accept takes in what gates said of work that is done. What a task was to make fail may fail until another repairs it.
func (a Allowed) Accept(checks []verify.Check) {
	for _, c := range checks {
		if _, may := a[c.Command]; may || c.Verdict() == event.GateExpected {
			a.said(c.Result)
		}
	}
}

// Refused ends the run, because what later work breaks could not be told from it.
func Refused(failing []verify.Result) error {
	return policy.Halted{Reason: "before any work, " + FailingWords(failing) + "; repair that, or excuse what fails now until it passes: ralph run --allow-failing"}
}

// FailingWords names gates and what they fail with.
func FailingWords(failing []verify.Result) string {
	return strings.Join(seq.Map(failing, func(r verify.Result) string {
		text, names := r.Why(), r.Names()
		if len(names) > 0 {
			text = fmt.Sprintf("gate %q fails with %s: %s", r.Command, human.Count(len(names), "failure"), human.Few(names))
		}
		return text + human.Lead("; ", r.Lacks)
	}), "; ")
}
