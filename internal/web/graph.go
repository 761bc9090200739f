package web

import (
	"net/url"

	"ralph/dag"
	"ralph/internal/report"
)

// graphPage is a picture of the tasks.
type graphPage struct {
	report.Graph
	Whole         bool
	Scope         dag.Scope
	Features      []dag.Feature
	Other, Turned string // the addresses of the other view, and of this one folded or unfolded
}

func loadGraph(v *visit) (any, error) {
	q := v.URL.Query()
	p := graphPage{Whole: q.Get("view") == "whole", Scope: dag.Scope{Feature: q.Get("feature"), Task: q.Get("task")}}
	view := func(scope dag.Scope, whole, fold bool) string {
		next := url.Values{}
		for key, value := range map[string]string{"feature": scope.Feature, "task": scope.Task, "view": map[bool]string{true: "whole"}[whole], "fold": map[bool]string{true: "all"}[fold]} {
			if value != "" {
				next.Set(key, value)
			}
		}
		return "/graph?" + next.Encode()
	}
	var err error
	if p.Features, err = v.g.Plan.Features(); err != nil {
		return nil, err
	}
	p.Graph, err = report.LoadGraph(v.g, report.GraphOptions{
		Scope: p.Scope, Whole: p.Whole, Fold: q.Get("fold") != "", Now: v.now,
		Href: func(task string) string { return "/tasks/" + task },
		Open: func(box dag.Scope) string {
			if box == (dag.Scope{}) { // the tasks without a feature
				return "/tasks"
			}
			return view(box, true, false)
		},
	})
	p.Other, p.Turned = view(p.Scope, !p.Whole, false), view(p.Scope, true, !p.Folded)
	return p, err
}
