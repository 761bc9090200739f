package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"ralph/dag"
)

// needed says whether any task that is still to be done would be given to the
// agent of the run: only then is it a fault that there is none.
func (a *app) needed(ctx context.Context, s *session, scope dag.Scope) bool {
	needed := false
	err := s.store.View(ctx, func(g *dag.Graph) error {
		var tasks []dag.Task
		var err error
		if scope.Task != "" {
			root, rerr := g.Task(scope.Task)
			if rerr != nil {
				return rerr
			}
			tasks, err = g.Subtree(root)
		} else {
			tasks, err = g.List(dag.Filter{Feature: scope.Feature})
		}
		for _, t := range tasks {
			needed = needed || (t.Agent == "" && t.Children == 0 && t.Status != dag.Done && t.Status != dag.Failed)
		}
		return err
	})
	return needed || err != nil
}

// whereElse is what to do if a target is not found: there is none at all in a clone
// without a plan.
func (a *app) whereElse(s *session, g *dag.Graph, otherwise string) string {
	if tally, err := g.Tally(dag.Scope{}); err != nil || tally.Total() > 0 || !a.inCI() {
		return otherwise
	}
	return a.noPlan(s)
}

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

// scope finds what TARGET, --feature or --task mean.
func (a *app) scope(ctx context.Context, s *session, t runTarget) (dag.Scope, error) {
	given := len(t.args)
	for _, flag := range []*string{t.feature, t.task} {
		if flag != nil {
			given++
		}
	}
	if given > 1 {
		return dag.Scope{}, usagef("one target: TARGET, --feature or --task")
	}
	if len(t.args) == 1 && t.arg() == "" {
		return dag.Scope{}, usagef("TARGET is empty")
	}
	var scope dag.Scope
	err := s.store.View(ctx, func(g *dag.Graph) error {
		if typed := or(t.task, ""); typed != "" {
			t, err := g.Resolve(typed)
			scope.Task = t.ID
			return lookUpHint(err)
		}
		typed := cmp.Or(or(t.feature, ""), t.arg())
		if typed == "" {
			return nil
		}
		f, err := g.Feature(typed)
		if err == nil {
			scope.Feature = f.Name
			return nil
		}
		if t.feature != nil || !errors.Is(err, dag.ErrNotFound) {
			return suggestFeature(g, typed, hint(err, "%s", a.whereElse(s, g, "see the names with: ralph feature list")))
		}
		t, err := g.Resolve(typed)
		if errors.Is(err, dag.ErrNotFound) {
			err := fmt.Errorf("%q: %w: neither a feature nor a task", typed, dag.ErrNotFound)
			return suggestFeature(g, typed, hint(err, "%s", a.whereElse(s, g, "see them with: ralph status")))
		}
		scope.Task = t.ID
		return err
	})
	return scope, err
}
