package features

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"

	"ralph/dag"
	"ralph/internal/db"
	"ralph/internal/plansync"
	"ralph/internal/project"
	"ralph/internal/seq"
	"ralph/internal/taskfile"
)

// makeScratch makes the agent's working folder a project of its own, with the tasks that
// the feature has. Commands that the agent runs there add tasks there and nowhere else.
func (p *Planner) makeScratch(ctx context.Context, work string, existing []taskfile.Item) error {
	scratch, _, err := project.Create(work, project.Found{})
	if err != nil {
		return err
	}
	lines, err := Lines(existing)
	if err != nil {
		return err
	}
	specs, err := taskfile.Parse(lines, taskfile.JSONL)
	if err != nil {
		return err
	}
	inside := seq.Set(specs, func(s dag.Spec) string { return s.Ref })
	for i := range specs {
		specs[i].After = slices.DeleteFunc(specs[i].After, func(ref string) bool { return !inside[ref] })
	}
	return p.inScratch(ctx, scratch, func(g *dag.Graph) error {
		if p.Name != "" {
			if _, err := g.Plan.AddFeature(p.Name); err != nil {
				return err
			}
		}
		if len(specs) == 0 {
			return nil
		}
		ids, err := g.Plan.Import(specs)
		if err != nil {
			return err
		}
		known, err := json.Marshal(ids)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(scratch.State(), "known.json"), known, 0o600)
	})
}

// addedToScratch returns the tasks that were added by commands, as JSON lines.
func (p *Planner) addedToScratch(ctx context.Context, work string) ([]byte, error) {
	scratch, err := project.At(work)
	if err != nil {
		return nil, nil //nolint:nilerr // the agent removed the scratch project: then nothing was added
	}
	var known []string
	if data, err := os.ReadFile(filepath.Join(scratch.State(), "known.json")); err == nil {
		if err := json.Unmarshal(data, &known); err != nil {
			return nil, err
		}
	}
	var lines bytes.Buffer
	err = p.inScratch(ctx, scratch, func(g *dag.Graph) error {
		items, _, err := plansync.Items(g, dag.Filter{})
		if err != nil {
			return err
		}
		added := slices.DeleteFunc(items, func(item taskfile.Item) bool { return slices.Contains(known, item.ID) })
		return taskfile.Write(&lines, added, false)
	})
	return lines.Bytes(), err
}

func (p *Planner) inScratch(ctx context.Context, scratch project.Project, fn func(*dag.Graph) error) error {
	d, err := dag.Open(ctx, scratch.DB(), db.Options{})
	if err != nil {
		return err
	}
	return errors.Join(dag.New(d, dag.Options{Now: p.Now}).Update(ctx, fn), d.Close())
}
