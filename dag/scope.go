package dag

import (
	"errors"
	"fmt"
	"slices"
)

// ResolveScope finds what was typed: a feature by its name, or a task by its ID.
func (g *Graph) ResolveScope(typed string) (Scope, error) {
	f, err := g.Feature(typed)
	if err == nil || !errors.Is(err, ErrNotFound) {
		return Scope{Feature: f.Name}, err
	}
	t, err := g.Resolve(typed)
	if errors.Is(err, ErrNotFound) {
		err = fmt.Errorf("%q: %w: neither a feature nor a task", typed, ErrNotFound)
	}
	return Scope{Task: t.ID}, err
}

// NeedsAgent says whether an open task of a scope names no agent of its own.
func (g *Graph) NeedsAgent(scope Scope) (bool, error) {
	if scope.Task != "" {
		if _, err := g.Task(scope.Task); err != nil {
			return false, err
		}
	}
	tasks, err := g.In(scope)
	return slices.ContainsFunc(tasks, func(t Task) bool {
		return t.Agent == "" && t.Children == 0 && t.Status != Done && t.Status != Failed
	}), err
}

// ReadyIn lists what is ready in a scope, in the order of claims.
func (g *Graph) ReadyIn(scope Scope) ([]Task, error) {
	ready, err := g.List(Filter{Ready: true, Feature: scope.Feature})
	if err != nil || scope.Task == "" {
		return ready, err
	}
	root, err := g.Task(scope.Task)
	if err != nil {
		return nil, err
	}
	inside, err := g.Subtree(root)
	return slices.DeleteFunc(ready, func(r Task) bool {
		return !slices.ContainsFunc(inside, func(t Task) bool { return t.ID == r.ID })
	}), err
}
