package main

import "context"

// importFeature imports the graph of the feature that a run is for, if git brought it and
// the database has none of its tasks: so that plan, commit, clone, run works.
func importFeature(ctx context.Context, a *app, s *session, t runTarget) error {
	typed := or(t.feature, "")
	if typed == "" && t.task == nil && len(t.args) == 1 {
		typed = t.arg()
	}
	if typed == "" {
		return nil
	}
	return newPlanner(a, s, typed, plannerOptions{}).LoadMissing(ctx)
}
