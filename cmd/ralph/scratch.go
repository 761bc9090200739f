package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"

	"ralph/dag"
	"ralph/features"
	"ralph/internal/db"
	"ralph/internal/project"
	"ralph/internal/taskfile"
)

// makeScratch makes an agent's working folder a project of its own. Whoever calls
// ralph in it adds tasks there and nowhere else.
func (a *app) makeScratch(feature string) func(context.Context, string, []byte) error {
	return func(ctx context.Context, work string, tasks []byte) error {
		p, _, err := project.Create(work, project.Found{})
		if err != nil {
			return err
		}
		return a.inScratch(ctx, p, func(g *dag.Graph) error {
			if feature != "" {
				if _, err := g.AddFeature(feature); err != nil {
					return err
				}
			}
			specs, err := taskfile.Parse(tasks, taskfile.JSONL)
			if err != nil || len(specs) == 0 {
				return err
			}
			for i := range specs {
				specs[i].After = inside(specs, specs[i].After)
			}
			ids, err := g.Import(specs)
			if err != nil {
				return err
			}
			known, err := json.Marshal(ids)
			if err != nil {
				return err
			}
			return os.WriteFile(filepath.Join(p.State(), "known.json"), known, 0o600)
		})
	}
}

// inside leaves out what a task of a feature waits for elsewhere.
func inside(specs []dag.Spec, after []string) []string {
	refs := map[string]bool{}
	for _, s := range specs {
		refs[s.Ref] = true
	}
	var list []string
	for _, ref := range after {
		if refs[ref] {
			list = append(list, ref)
		}
	}
	return list
}

// addedToScratch returns the tasks that were added by commands, as JSON lines.
func (a *app) addedToScratch(ctx context.Context, work string) ([]byte, error) {
	p, err := project.At(work)
	if err != nil {
		return nil, nil //nolint:nilerr // the agent removed the scratch project: then nothing was added
	}
	var known []string
	if data, err := os.ReadFile(filepath.Join(p.State(), "known.json")); err == nil {
		if err := json.Unmarshal(data, &known); err != nil {
			return nil, err
		}
	}
	var lines bytes.Buffer
	err = a.inScratch(ctx, p, func(g *dag.Graph) error {
		items, _, err := features.Items(g, "")
		if err != nil {
			return err
		}
		var added []taskfile.Item
		for _, item := range items {
			if !slices.Contains(known, item.ID) {
				added = append(added, item)
			}
		}
		return taskfile.Write(&lines, added, false)
	})
	return lines.Bytes(), err
}

func (a *app) inScratch(ctx context.Context, p project.Project, fn func(*dag.Graph) error) error {
	d, err := db.Open(ctx, p.DB(), db.Options{})
	if err != nil {
		return err
	}
	return errors.Join(dag.New(d, dag.Options{Now: a.now}).Update(ctx, fn), d.Close())
}
