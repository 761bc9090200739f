package features

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"

	"ralph/dag"
)

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
		t, err := g.Task(scope.Task)
		if err != nil {
			return nil, err
		}
		name = t.Feature
	}
	list, err := g.Features()
	if err != nil {
		return nil, err
	}
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
		tasks, err := g.List(dag.Filter{Feature: f.Name})
		if err != nil {
			return nil, err
		}
		exported, missing := taskRefs(saved), 0
		for _, t := range tasks {
			if !exported[t.ID] {
				missing++
			}
		}
		if missing > 0 {
			found = append(found, Unexported{f.Name, missing})
		}
	}
	return found, nil
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
