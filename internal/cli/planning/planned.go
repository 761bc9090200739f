package planning

import (
	"context"
	"fmt"

	"ralph/dag"
	"ralph/features"
	"ralph/internal/cli"
	"ralph/internal/cli/show"
	"ralph/internal/report"
	"ralph/internal/term"
)

// readIdea reads what --from names.
func readIdea(a *cli.App, from string) (string, error) {
	if from == "" {
		return "", nil
	}
	r, err := a.OpenInput(from)
	if err != nil {
		return "", cli.Usagef("--from: %v", err)
	}
	defer r.Close()
	return features.ReadText(r, from)
}

// PlannedJSON is what the commands that plan print.
type PlannedJSON struct {
	Feature report.FeatureView `json:"feature"`
	Steps   []features.Step    `json:"steps"`
	Next    string             `json:"next"`
}

// PrintPlanned prints what was done, and the command to type next.
func PrintPlanned(ctx context.Context, a *cli.App, s *cli.Session, planned PlannedJSON, feature string, json bool) error {
	if json {
		f, err := cli.Read(ctx, s, func(g *dag.Graph) (dag.Feature, error) { return g.Plan.Feature(feature) })
		if err != nil {
			return err
		}
		planned.Feature = show.ViewFeature(s, f)
		return a.PrintJSON(planned)
	}
	for _, step := range planned.Steps {
		if step.Did == features.DidWrite {
			fmt.Fprintln(a.Stdout, term.Line(step.Path))
		}
	}
	a.Note("next: %s", planned.Next)
	return nil
}
