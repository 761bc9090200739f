package main

import (
	"context"
	"errors"
	"strings"

	"ralph/dag"
)

// typedScope is the target as it was typed, for a run that ended before anybody
// knew whether there is such a target.
func (t runTarget) typedScope() dag.Scope {
	scope := dag.Scope{Feature: or(t.feature, ""), Task: or(t.task, "")}
	switch target := t.arg(); {
	case strings.HasPrefix(target, "t-"):
		scope.Task = target
	case target != "" && scope == (dag.Scope{}):
		scope.Feature = target
	}
	return scope
}

// findScope finds what TARGET, --feature or --task mean.
func findScope(ctx context.Context, a *app, s *session, t runTarget) (scope dag.Scope, err error) {
	given := len(t.args)
	for _, flag := range []*string{t.feature, t.task} {
		if flag != nil {
			given++
		}
	}
	switch {
	case given > 1:
		return scope, usagef("one target: TARGET, --feature or --task")
	case len(t.args) == 1 && t.arg() == "":
		return scope, usagef("TARGET is empty")
	}
	err = s.store.View(ctx, func(g *dag.Graph) error {
		var err error
		typed, see := t.arg(), "see them with: ralph status"
		switch {
		case or(t.task, "") != "":
			task, err := g.Resolve(*t.task)
			scope.Task = task.ID
			return lookUpHint(err)
		case or(t.feature, "") != "":
			var f dag.Feature
			typed, see = *t.feature, "see the names with: ralph feature list"
			f, err = g.Feature(typed)
			scope.Feature = f.Name
		case typed != "":
			scope, err = g.ResolveScope(typed)
		}
		if !errors.Is(err, dag.ErrNotFound) {
			return err
		}
		if tally, terr := g.Tally(dag.Scope{}); terr == nil && tally.Total() == 0 && inCI(a) { // a clone without a plan
			see = noPlan(a, s)
		}
		return suggestFeature(g, typed, hint(err, "%s", see))
	})
	return scope, err
}

// needsAgent says whether any open task would be given to the agent of the run: only then
// is it a fault that there is none.
func needsAgent(ctx context.Context, s *session, scope dag.Scope) (needed bool) {
	err := s.store.View(ctx, func(g *dag.Graph) (err error) { needed, err = g.NeedsAgent(scope); return err })
	return needed || err != nil
}
