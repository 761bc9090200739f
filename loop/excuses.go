package loop

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"sync"

	"ralph/dag"
	"ralph/event"
	"ralph/internal/human"
	"ralph/internal/seq"
	"ralph/loop/policy"
	"ralph/verify"
)

// allowed is what gates may fail with, by gate.
type allowed map[string]string

func (a allowed) of(gate string) *verify.Allowed {
	if failures, ok := a[gate]; ok {
		return &verify.Allowed{Failures: failures}
	}
	return nil
}

// said takes in what a gate said of what counts from now on: what it does not fail with any more has passed.
func (a allowed) said(r verify.Result) {
	if r.Passed {
		delete(a, r.Command)
	} else {
		a[r.Command] = r.Failures
	}
}

// begin takes in what gates said before the work of any task, and returns those that fail with more than they may.
func (a allowed) begin(results []verify.Result) (failing []verify.Result) {
	for _, r := range results {
		if r.Passed || a.of(r.Command).Covers(r) {
			a.said(r)
		} else {
			failing = append(failing, r)
		}
	}
	return failing
}

func (a allowed) allow(failing []verify.Result) {
	for _, r := range failing {
		a[r.Command] = a.of(r.Command).And(r).Failures
	}
}

// accepted takes in what gates said of work that is done. What a task was to make fail may fail until another repairs it.
func (a allowed) accepted(checks []verify.Check) {
	for _, c := range checks {
		if _, may := a[c.Command]; may || c.Verdict() == event.GateExpected {
			a.said(c.Result)
		}
	}
}

// excuses are the failures that a person allowed, as the project's database has them.
type excuses struct {
	shared
	asking sync.Mutex
}

// change stores what becomes of what is allowed, if anything does.
func (e *excuses) change(ctx context.Context, change func(allowed)) error {
	was, err := e.all(ctx)
	now := maps.Clone(was)
	if change(now); err != nil || maps.Equal(was, now) {
		return err
	}
	return e.opts.Graph.Store.Update(ctx, func(g *dag.Graph) error {
		was, err := g.AllowedFailures()
		now := allowed(maps.Clone(was))
		change(now)
		for gate, failures := range now {
			if before, may := was[gate]; err == nil && (!may || before != failures) {
				err = g.AllowFailures(gate, failures)
			}
		}
		for gate := range was {
			if _, may := now[gate]; err == nil && !may {
				err = g.DisallowFailures(gate)
			}
		}
		return err
	})
}

func (e *excuses) all(ctx context.Context) (list allowed, err error) {
	err = e.opts.Graph.Store.View(ctx, func(g *dag.Graph) (err error) { list, err = g.AllowedFailures(); return err })
	return list, err
}

func (e *excuses) Allowed(ctx context.Context, gate string) (*verify.Allowed, error) {
	list, err := e.all(ctx)
	return list.of(gate), err
}

func (e *excuses) Begin(ctx context.Context, results []verify.Result) error {
	e.asking.Lock() // one question serves all workers
	defer e.asking.Unlock()
	var failing []verify.Result
	if err := e.change(ctx, func(a allowed) { failing = a.begin(results) }); err != nil || len(failing) == 0 {
		return err
	}
	may := e.opts.Verify.AllowFailing
	if ask := e.opts.Verify.MayFail; !may && ask != nil {
		var err error
		if may, err = ask(ctx, failing); err != nil {
			return err
		}
	}
	if !may {
		return refused(failing)
	}
	e.bus.warn("", "allowed until they pass: "+FailingWords(failing))
	return e.change(ctx, func(a allowed) { a.allow(failing) })
}

func (e *excuses) Accepted(ctx context.Context, checks []verify.Check) error {
	return e.change(ctx, func(a allowed) { a.accepted(checks) })
}

// refused ends the run, because nobody could tell what later work breaks.
func refused(failing []verify.Result) error {
	return policy.Halted{Reason: "before any work, " + FailingWords(failing) + "; repair that, or excuse what fails now until it passes: ralph run --allow-failing"}
}

// FailingWords names gates and what they fail with.
func FailingWords(failing []verify.Result) string {
	return strings.Join(seq.Map(failing, func(r verify.Result) string {
		text, names := r.Why(), r.Names()
		if len(names) > 0 {
			text = fmt.Sprintf("gate %q fails with %s: %s", r.Command, human.Count(len(names), "failure"), human.List(names, 5))
		}
		return text + human.Lead("; ", r.Lacks)
	}), "; ")
}

// farExcuses are those of an attempt that is far from its run: what was allowed when it was ordered.
type farExcuses struct {
	*outpost
	allowed allowed
	may     bool
}

func (e farExcuses) Allowed(_ context.Context, gate string) (*verify.Allowed, error) {
	return e.allowed.of(gate), nil
}

func (e farExcuses) Begin(_ context.Context, results []verify.Result) error {
	failing := e.allowed.begin(results)
	if len(failing) > 0 && !e.may {
		return refused(failing)
	}
	e.allowed.allow(failing)
	e.delivery.Allowed = append(e.delivery.Allowed, failing...)
	return nil
}

func (e farExcuses) Accepted(_ context.Context, checks []verify.Check) error {
	e.delivery.Gates = checks
	return nil
}
