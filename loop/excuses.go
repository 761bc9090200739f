package loop

import (
	"context"
	"maps"
	"sync"

	"ralph/dag"
	"ralph/loop/attempt"
	"ralph/verify"
)

// excuses are the failures that a person allowed, as the project's database has them.
type excuses struct {
	shared
	asking sync.Mutex
}

// change stores what becomes of what is allowed, if anything does.
func (e *excuses) change(ctx context.Context, change func(attempt.Allowed)) error {
	was, err := e.all(ctx)
	now := maps.Clone(was)
	if change(now); err != nil || maps.Equal(was, now) {
		return err
	}
	return e.opts.Graph.Store.Update(ctx, func(g *dag.Graph) error { return changeAllowed(g, change) })
}

func changeAllowed(g *dag.Graph, change func(attempt.Allowed)) error {
	was, err := g.Plan.AllowedFailures()
	now := attempt.Allowed(maps.Clone(was))
	change(now)
	for gate, failures := range now {
		if before, may := was[gate]; err == nil && (!may || before != failures) {
			err = g.Plan.AllowFailures(gate, failures)
		}
	}
	for gate := range was {
		if _, may := now[gate]; err == nil && !may {
			err = g.Plan.DisallowFailures(gate)
		}
	}
	return err
}

func (e *excuses) all(ctx context.Context) (list attempt.Allowed, err error) {
	err = e.opts.Graph.Store.View(ctx, func(g *dag.Graph) (err error) { list, err = g.Plan.AllowedFailures(); return err })
	return list, err
}

func (e *excuses) Allowed(ctx context.Context, gate string) (*verify.Allowed, error) {
	list, err := e.all(ctx)
	return list.Of(gate), err
}

func (e *excuses) Begin(ctx context.Context, results []verify.Result) error {
	e.asking.Lock() // one question serves all workers
	defer e.asking.Unlock()
	var failing []verify.Result
	if err := e.change(ctx, func(a attempt.Allowed) { failing = a.Begin(results) }); err != nil || len(failing) == 0 {
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
		return attempt.Refused(failing)
	}
	e.bus.warn("", "allowed until they pass: "+attempt.FailingWords(failing))
	return e.change(ctx, func(a attempt.Allowed) { a.Allow(failing) })
}
