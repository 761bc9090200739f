package main

import (
	"time"

	"ralph/dag"
	"ralph/report"
)

// The shapes that several commands print are in package report.

func asJSON(s *session, g *dag.Graph, t dag.Task, now time.Time) (report.TaskView, error) {
	list, err := allJSON(s, g, []dag.Task{t}, now)
	if err != nil {
		return report.TaskView{}, err
	}
	return list[0], nil
}

func allJSON(s *session, g *dag.Graph, tasks []dag.Task, now time.Time) ([]report.TaskView, error) {
	return report.ViewTasks(g, s.config.Run.MaxRetries, now, tasks...)
}

func viewFeature(s *session, f dag.Feature) report.FeatureView {
	return report.ViewFeature(f, s.project.Feature(f.Name))
}
