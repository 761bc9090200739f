package features

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"ralph/dag"
	"ralph/internal/atomicfile"
	"ralph/internal/taskfile"
)

// Items are the tasks of a feature, or all of them for the empty name, as a task
// file lists them. Outside are those that wait for something that is not among them.
func Items(g *dag.Graph, feature string) (items []taskfile.Item, outside map[string][]string, err error) {
	tasks, err := g.List(dag.Filter{Feature: feature})
	if err != nil {
		return nil, nil, err
	}
	inside := make(map[string]bool, len(tasks))
	for _, t := range tasks {
		inside[t.ID] = true
	}
	items, outside = make([]taskfile.Item, len(tasks)), map[string][]string{}
	for i, t := range tasks {
		blockers, err := g.Blockers(t)
		if err != nil {
			return nil, nil, err
		}
		items[i] = taskfile.Item{Task: t}
		for _, b := range blockers {
			items[i].After = append(items[i].After, b.ID)
			if !inside[b.ID] {
				outside[t.ID] = append(outside[t.ID], b.ID)
			}
		}
	}
	return items, outside, nil
}

// Lines writes tasks as the bytes of a task file, with their statuses.
func Lines(items []taskfile.Item) ([]byte, error) {
	var b bytes.Buffer
	err := taskfile.Write(&b, items, true)
	return b.Bytes(), err
}

// ErrForeign is a task file that holds tasks of another feature.
var ErrForeign = fmt.Errorf("%w: another feature's task", dag.ErrRefused)

// Travels says that the graph of a feature is in a file that travels in git.
func (d *Planner) Travels() bool {
	info, err := os.Lstat(d.Path(TasksFile))
	return err == nil && info.Mode().IsRegular()
}

// Load imports the graph that travelled in git, statuses included, and returns how
// many tasks that were. The feature must have none: what the database knows is
// newer than any file.
func (d *Planner) Load(ctx context.Context) (int, error) {
	path := d.Path(TasksFile)
	text, err := ReadDocument(path)
	if err != nil {
		return 0, err
	}
	specs, err := parse(text)
	if err != nil {
		return 0, fmt.Errorf("import %s: %w", path, err)
	}
	for i := range specs {
		if s := &specs[i]; s.Feature == "" && s.Parent == "" {
			s.Feature = d.Name
		} else if s.Feature != "" && !strings.EqualFold(s.Feature, d.Name) {
			return 0, fmt.Errorf("import %s: line %d: %w (%s)", path, s.Line, ErrForeign, s.Feature)
		}
	}
	err = d.Store.Update(ctx, func(g *dag.Graph) error {
		f, err := g.Feature(d.Name)
		if errors.Is(err, dag.ErrNotFound) {
			f, err = d.enter(g)
		}
		if err != nil {
			return err
		}
		if f.Total() > 0 {
			specs = nil // somebody was faster
			return nil
		}
		_, err = g.Import(specs)
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("import %s: %w", path, err)
	}
	return len(specs), nil
}

// Enter makes the feature known to the database if its folder is there already, as
// it is after a clone. It returns dag.ErrNotFound if there is neither.
func (d *Planner) Enter(ctx context.Context) (f dag.Feature, err error) {
	err = d.Store.View(ctx, func(g *dag.Graph) (err error) { f, err = g.Feature(d.Name); return err })
	if !errors.Is(err, dag.ErrNotFound) || dag.CheckFeatureName(d.Name) != nil || !d.Documented() {
		return f, err
	}
	err = d.Store.Update(ctx, func(g *dag.Graph) (err error) { f, err = d.enter(g); return err })
	return f, err
}

func (d *Planner) enter(g *dag.Graph) (dag.Feature, error) {
	if _, err := g.AddFeature(d.Name); err != nil {
		return dag.Feature{}, err
	}
	if Exists(d.Path(Plan.File())) {
		if err := g.SetStage(d.Name, dag.FeaturePlanned); err != nil {
			return dag.Feature{}, err
		}
	}
	return g.Feature(d.Name)
}

// Documented says that the folder of the feature holds any of its documents.
func (d *Planner) Documented() bool { return len(d.Documents()) > 0 }

// Documents lists those that exist, by the names of their files.
func (d *Planner) Documents() []string {
	list := []string{}
	for _, name := range []string{Spec.File(), Plan.File(), TasksFile} {
		if info, err := os.Stat(d.Path(name)); err == nil && info.Mode().IsRegular() {
			list = append(list, name)
		}
	}
	return list
}

// Save writes the graph of the feature to its file, with the statuses of now.
func (d *Planner) Save(ctx context.Context) (outside map[string][]string, err error) {
	var lines []byte
	err = d.Store.View(ctx, func(g *dag.Graph) error {
		var items []taskfile.Item
		if items, outside, err = Items(g, d.Name); err != nil {
			return err
		}
		lines, err = Lines(items)
		return err
	})
	if err != nil {
		return nil, err
	}
	return outside, atomicfile.Write(d.Path(TasksFile), lines)
}

// parse reads JSON lines or YAML, and nothing else: prose must not pass for a plan.
func parse(text string) ([]dag.Spec, error) {
	format := taskfile.YAML
	if strings.HasPrefix(strings.TrimLeft(strings.TrimPrefix(text, "\ufeff"), " \t\r\n"), "{") {
		format = taskfile.JSONL
	}
	return taskfile.Parse([]byte(text), format)
}
