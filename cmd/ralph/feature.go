package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"ralph/dag"
	"ralph/features"
	"ralph/internal/term"
	"ralph/report"
)

func featureCommand(a *app) command {
	return command{
		name: "feature", short: "plan a feature with an agent, from an idea to tasks; or group tasks under a name",
		example: "ralph feature create login --from idea.md\nralph task add \"Form\" --feature login", exits: "1 refused, 3 not found, 5 no usable agent",
		sub: []command{
			featureCreateCommand(a), featureSpecCommand(a), featurePlanCommand(a), featureBuildCommand(a), featureApproveCommand(a),
			{
				name: "list", bare: true, short: "list features with their progress",
				flags:   []cli.Flag{jsonFlag()},
				example: "ralph feature list",
				run:     action(a, parsePlain, runFeatureList),
			},
			featureShowCommand(a), featureGateCommand(a), featureDeleteCommand(a),
		},
	}
}

func runFeatureList(ctx context.Context, a *app, o plainOptions) error {
	return a.view(ctx, func(s *session, g *dag.Graph) error {
		known, err := g.Features()
		if err != nil {
			return err
		}
		if o.json {
			list := []report.FeatureView{}
			for _, f := range known {
				list = append(list, viewFeature(s, f))
			}
			return a.printJSON(list)
		}
		for _, name := range features.Unknown(s.project, known) {
			a.note("%s has documents and is not in the database yet; import it with: ralph run --feature %s, or continue with: ralph feature create %s", name, name, name)
		}
		if len(known) == 0 {
			a.note("no features yet; make one with: ralph feature create NAME")
			return nil
		}
		p := a.palette()
		t := &term.Table{Width: a.width}
		for _, f := range known {
			t.Add(term.Cell{Text: f.Name, Paint: p.Cyan}, term.Cell{Text: string(f.Status), Paint: featurePaint(p, f.Status)}, term.Cell{Text: progress(f)})
		}
		_, err = t.WriteTo(a.stdout)
		return err
	})
}

// featureHint says where a feature may be that the database does not know.
func featureHint(a *app, s *session, g *dag.Graph, name string, err error) error {
	if !errors.Is(err, dag.ErrNotFound) || dag.CheckFeatureName(name) != nil {
		return hint(err, "see the names with: ralph feature list")
	}
	switch p := newPlanner(a, s, name, plannerOptions{}); {
	case p.Saved():
		return hint(err, "its tasks are in %s; import them with: ralph run --feature %s", p.Path(features.TasksFile), name)
	case p.Documented():
		return hint(err, "its documents are in %s; continue with: ralph feature create %s", p.Folder(), name)
	}
	return suggestFeature(g, name, hint(err, "see the names with: ralph feature list"))
}

// suggestIn is suggestFeature for whoever has no snapshot of the graph at hand.
func suggestIn(ctx context.Context, s *session, typed string, err error) error {
	_ = s.store.View(ctx, func(g *dag.Graph) error { err = suggestFeature(g, typed, err); return nil })
	return err
}

func featurePaint(p term.Palette, s dag.FeatureStatus) func(string) string {
	switch s {
	case dag.FeatureDone:
		return p.Green
	case dag.FeatureFailed:
		return p.Red
	case dag.FeatureRunning, dag.FeatureReady:
		return p.Cyan
	default:
		return p.Dim
	}
}

// progress draws how much is done, and says it in words.
func progress(f dag.Feature) string {
	total, done := f.Total(), f.Tasks[dag.Done]
	if total == 0 {
		return "no tasks"
	}
	const width = 20
	filled := done * width / total
	text := fmt.Sprintf("%s%s %d of %d done", strings.Repeat("█", filled), strings.Repeat("░", width-filled), done, total)
	for _, s := range []dag.Status{dag.InProgress, dag.Failed, dag.Blocked} {
		if n := f.Tasks[s]; n > 0 {
			text += fmt.Sprintf(", %d %s", n, strings.ReplaceAll(string(s), "in_progress", "running"))
		}
	}
	return text
}
