package main

import (
	"errors"

	"github.com/urfave/cli/v2"

	"ralph/dag"
	"ralph/features"
	"ralph/internal/human"
)

// importFeature imports the graph of the feature that a run is for, if it travelled in git
// and the database has none of its tasks: so that plan, commit, clone, run works.
func (a *app) importFeature(c *cli.Context, s *session) error {
	typed := c.String("feature")
	if typed == "" && !c.IsSet("task") && c.NArg() == 1 {
		typed = c.Args().First()
	}
	if typed == "" {
		return nil
	}
	var f dag.Feature
	err := s.store.View(c.Context, func(g *dag.Graph) (err error) { f, err = g.Feature(typed); return err })
	switch {
	case errors.Is(err, dag.ErrNotFound) && dag.CheckFeatureName(typed) == nil:
		f.Name = typed
	case err != nil:
		return nil //nolint:nilerr // whoever looks for the target says so better
	}
	d := a.planner(c, s, f.Name)
	if f.Total() > 0 || !d.Travels() {
		return nil
	}
	n, err := d.Load(c.Context)
	if err == nil {
		a.note("%s imported from %s", human.Count(n, "task"), d.Path(features.TasksFile))
	}
	return err
}
