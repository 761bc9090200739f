package plansync

import (
	"cmp"
	"errors"
	"slices"

	"ralph/dag"
	"ralph/internal/taskfile"
)

// Part selects what the file of a feature holds, or that of tasks of none.
func Part(feature string) dag.Filter { return dag.Filter{Feature: feature, Loose: feature == ""} }

// EachItem calls fn with tasks as an export lists them, and with what each waits for that is not among them. Reviews
// are no part of it: runs add them.
func EachItem(g *dag.Graph, part dag.Filter, fn func(item taskfile.Item, outside []string) error) error {
	related, err := g.Tasks.Relations(part.Feature == "" && !part.Loose)
	if err != nil {
		return err
	}
	return eachItem(g, part, related, nil, fn)
}

// eachItem also lists acceptances that it is given.
func eachItem(g *dag.Graph, part dag.Filter, related map[string][]string, acceptances map[string]dag.Acceptance, fn func(item taskfile.Item, outside []string) error) error {
	reviews, err := g.Plan.Reviews()
	if err != nil {
		return err
	}
	review := func(id string) bool { return slices.Contains(reviews, id) }
	return g.Tasks.Each(part, func(t dag.Task) error {
		after, outside, err := g.Tasks.BlockerIDs(t)
		item := taskfile.Item{Task: t, Related: related[t.ID]}
		if accepts, ok := acceptances[t.ID]; ok {
			item.Acceptance = &accepts
		}
		if err != nil || item.Acceptance == nil && review(t.ID) {
			return err
		}
		after, outside = slices.DeleteFunc(after, review), slices.DeleteFunc(outside, review)
		slices.Sort(after) // when a clone got to know of a task is its own affair
		if part.Feature == "" && !part.Loose {
			outside = nil
		}
		item.After = after
		return fn(item, outside)
	})
}

// Items are what EachItem lists. Outside maps tasks that wait for one that is not among them to those that they wait for.
func Items(g *dag.Graph, part dag.Filter) (items []taskfile.Item, outside map[string][]string, err error) {
	outside = map[string][]string{}
	err = EachItem(g, part, func(item taskfile.Item, others []string) error {
		if items = append(items, item); len(others) > 0 {
			outside[item.ID] = others
		}
		return nil
	})
	return items, outside, err
}

// itemsOf are the tasks of a file, with acceptances and relations to tasks of other files, and the gates of its feature; none if there is no
// such feature yet.
func itemsOf(g *dag.Graph, feature string) (items []taskfile.Item, err error) {
	related, err := g.Tasks.Relations(true)
	if err != nil {
		return nil, err
	}
	unmet, err := g.Plan.Unmet()
	if err != nil {
		return nil, err
	}
	for _, u := range unmet {
		related[u.ID] = append(related[u.ID], u.Other)
		slices.Sort(related[u.ID])
		related[u.ID] = slices.Compact(related[u.ID]) // a person may have related it meanwhile
	}
	acceptances, err := g.Plan.Acceptances()
	if err != nil {
		return nil, err
	}
	err = eachItem(g, Part(feature), related, acceptances, func(item taskfile.Item, _ []string) error { items = append(items, item); return nil })
	if errors.Is(err, dag.ErrNotFound) {
		return nil, nil
	}
	gates, gerr := g.Plan.FeatureGates(feature)
	if err = cmp.Or(err, gerr); err == nil && len(gates) > 0 {
		f, ferr := g.Plan.Feature(feature)
		items, err = append(items, taskfile.Item{Task: dag.Task{ID: taskfile.FeatureRef, Detail: dag.Detail{Gates: gates}, UpdatedAt: f.UpdatedAt}}), ferr
	}
	return items, err
}
