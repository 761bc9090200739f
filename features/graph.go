package features

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"ralph/dag"
	"ralph/internal/project"
	"ralph/internal/taskfile"
)

// Lines writes tasks as the bytes of a new task file, with their statuses.
func Lines(items []taskfile.Item) ([]byte, error) {
	var b bytes.Buffer
	err := taskfile.Write(&b, items, true)
	return b.Bytes(), err
}

// Saved reports whether the graph of the feature is in its file, which git carries.
func (p *Planner) Saved() bool {
	info, err := os.Lstat(p.Path(TasksFile))
	return err == nil && info.Mode().IsRegular()
}

// Enter finds the feature by name or ID, and gives the planner its name. It adds one to the
// database whose folder exists, as it does after a clone, and returns dag.ErrNotFound if
// there is neither.
func (p *Planner) Enter(ctx context.Context) (f dag.Feature, err error) {
	err = p.Store.View(ctx, func(g *dag.Graph) (err error) { f, err = g.Plan.Feature(p.Name); return err })
	if errors.Is(err, dag.ErrNotFound) && dag.CheckFeatureName(p.Name) == nil && p.Documented() {
		err = p.Store.Update(ctx, func(g *dag.Graph) (err error) { f, err = p.add(g); return err })
	}
	if err == nil {
		p.Name = f.Name
	}
	return f, err
}

// Add makes a feature: a row and a folder.
func (p *Planner) Add(g *dag.Graph) (dag.Feature, error) {
	f, err := g.Plan.AddFeature(p.Name)
	if err != nil {
		return f, fmt.Errorf("create feature: %w", err)
	}
	return f, os.MkdirAll(p.Folder(), 0o700)
}

func (p *Planner) add(g *dag.Graph) (dag.Feature, error) {
	if _, err := g.Plan.AddFeature(p.Name); err != nil {
		return dag.Feature{}, err
	}
	if Exists(p.Path(Plan.File())) {
		if err := g.Plan.SetStage(p.Name, dag.FeaturePlanned); err != nil {
			return dag.Feature{}, err
		}
	}
	return g.Plan.Feature(p.Name)
}

// Documented reports whether the folder of the feature holds any of its documents.
func (p *Planner) Documented() bool { return len(p.Documents()) > 0 }

// Documents lists those that exist, by the names of their files.
func (p *Planner) Documents() []string {
	list := []string{}
	for _, name := range []string{Spec.File(), Plan.File(), TasksFile} {
		if info, err := os.Stat(p.Path(name)); err == nil && info.Mode().IsRegular() {
			list = append(list, name)
		}
	}
	return list
}

// parse reads JSON lines or YAML, and nothing else: prose must not pass for a plan.
func parse(text string) ([]dag.Spec, error) { return taskfile.Parse([]byte(text), taskfile.Auto) }

// Unknown names the features that have documents and are not among the known ones, as it is
// after a clone.
func Unknown(p project.Project, known []dag.Feature) []string {
	var list []string
	entries, _ := os.ReadDir(p.Features())
	for _, e := range entries {
		is := func(f dag.Feature) bool { return strings.EqualFold(f.Name, e.Name()) }
		planner := Planner{Name: e.Name(), Project: p}
		own := filepath.Base(planner.Folder()) == e.Name()
		if e.IsDir() && own && dag.CheckFeatureName(e.Name()) == nil && !slices.ContainsFunc(known, is) && planner.Documented() {
			list = append(list, e.Name())
		}
	}
	return list
}

// Unexported is a feature of which a clone of the repository would lack tasks.
type Unexported struct {
	Feature string
	Missing int // tasks that its file lacks; 0 means that there is no file
}

// FindUnexported finds the features in scope whose tasks are not, or not all, in the task
// file of their folder.
func FindUnexported(g *dag.Graph, scope dag.Scope, folder func(name string) string) ([]Unexported, error) {
	name := scope.Feature
	if scope.Task != "" {
		t, err := g.Tasks.Get(scope.Task)
		if err != nil {
			return nil, err
		}
		name = t.Feature
	}
	list, _ := g.Plan.Features()   // the first error of the database is that of the transaction
	reviews, _ := g.Plan.Reviews() // which no file has
	var found []Unexported
	for _, f := range list {
		if f.Total() == 0 || scope != (dag.Scope{}) && f.Name != name {
			continue
		}
		saved, err := os.ReadFile(filepath.Join(folder(f.Name), TasksFile))
		switch {
		case errors.Is(err, os.ErrNotExist) || err == nil && len(saved) == 0:
			found = append(found, Unexported{Feature: f.Name})
			continue
		case err != nil: // whoever imports or exports the file says what is wrong with it
			continue
		}
		tasks, _ := g.Tasks.List(dag.Filter{Feature: f.Name})
		exported, missing := taskRefs(saved), 0
		for _, t := range tasks {
			if !exported[t.ID] && !slices.Contains(reviews, t.ID) {
				missing++
			}
		}
		if missing > 0 {
			found = append(found, Unexported{f.Name, missing})
		}
	}
	return found, g.Tx().Err()
}

// taskRefs are the tasks of a task file, by ID.
func taskRefs(text []byte) map[string]bool {
	found := map[string]bool{}
	for line := range bytes.Lines(text) {
		var task struct{ Ref string }
		if json.Unmarshal(line, &task) == nil {
			found[task.Ref] = true
		}
	}
	return found
}
