package main

import (
	"context"
	"errors"

	"ralph/dag"
	"ralph/features"
	"ralph/internal/human"
)

// importFeature imports the graph of the feature that a run is for, if it travelled in git
// and the database has none of its tasks: so that plan, commit, clone, run works.
func (a *app) importFeature(ctx context.Context, s *session, t runTarget) error {
	typed := or(t.feature, "")
	if typed == "" && t.task == nil && len(t.args) == 1 {
		typed = t.arg()
	}
	if typed == "" {
		return nil
	}
	var f dag.Feature
	err := s.store.View(ctx, func(g *dag.Graph) (err error) { f, err = g.Feature(typed); return err })
	switch {
	case errors.Is(err, dag.ErrNotFound) && dag.CheckFeatureName(typed) == nil:
		f.Name = typed
	case err != nil:
		return nil //nolint:nilerr // whoever looks for the target says so better
	}
	d := &features.Planner{Name: f.Name, Root: s.project.Root, Folder: s.project.Feature(f.Name), Store: s.store}
	if f.Total() > 0 || !d.Travels() {
		return nil
	}
	n, err := d.Load(ctx)
	if err == nil {
		a.note("%s imported from %s", human.Count(n, "task"), d.Path(features.TasksFile))
	}
	return err
}
