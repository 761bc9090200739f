package main

import (
	"context"
	"errors"
	"slices"
	"strings"

	"ralph/dag"
)

func taskCommand(a *app) command {
	return command{
		name: "task", short: "plan: add, look at and change tasks",
		example: `ralph task add "Write the parser"`, exits: "1 refused, 3 not found",
		sub: slices.Concat([]command{
			taskAddCommand(a), taskCreateCommand(a), taskImportCommand(a), taskExportCommand(a), taskListCommand(a), taskShowCommand(a), taskTreeCommand(a),
			taskLogCommand(a), taskWhyCommand(a), taskGraphCommand(a), taskUpdateCommand(a), taskDepsCommand(a),
		}, taskStateCommands(a)),
	}
}

// resolveTask returns the task whose ID was typed.
func resolveTask(g *dag.Graph, typed string) (dag.Task, error) {
	if typed == "" {
		return dag.Task{}, usagef("ID is empty")
	}
	t, err := g.Resolve(typed)
	return t, lookUpHint(err)
}

// viewTask runs fn on the task whose ID is the first argument.
func viewTask(ctx context.Context, a *app, typed string, fn func(*session, *dag.Graph, dag.Task) error) error {
	return a.view(ctx, func(s *session, g *dag.Graph) error {
		t, err := resolveTask(g, typed)
		if err != nil {
			return err
		}
		return fn(s, g, t)
	})
}

// resolveTasks returns the tasks whose IDs were typed, each once.
func resolveTasks(g *dag.Graph, typed []string) (tasks []dag.Task, err error) {
	for _, id := range typed {
		t, err := resolveTask(g, id)
		if err != nil {
			return nil, err
		}
		if !slices.ContainsFunc(tasks, func(other dag.Task) bool { return other.ID == t.ID }) {
			tasks = append(tasks, t)
		}
	}
	return tasks, nil
}

func lookUpHint(err error) error {
	if err != nil && exitStatus(err) == exitNotFound {
		return hint(err, "see the IDs with: ralph task list --all")
	}
	return err
}

// featureByName turns a name or an ID into the name; "" stays "".
func featureByName(g *dag.Graph, typed string) (string, error) {
	if typed == "" {
		return "", nil
	}
	f, err := g.Feature(typed)
	if err != nil {
		return "", suggestFeature(g, typed, makeIt(err, typed))
	}
	return f.Name, nil
}

// suggestFeature hints at the feature whose name is nearest to one that was not found.
func suggestFeature(g *dag.Graph, typed string, err error) error {
	if !errors.Is(err, dag.ErrNotFound) {
		return err
	}
	list, lerr := g.Features()
	if lerr != nil {
		return err // it says what matters
	}
	var names []string
	for _, f := range list {
		names = append(names, f.Name)
	}
	return suggest(err, "did you mean: %s", typed, names, nil)
}

func parseKind(text string) (dag.Kind, error) {
	switch k := dag.Kind(text); k {
	case dag.Work, dag.Check:
		return k, nil
	default:
		return "", usagef("--kind is work or check, not %q", text)
	}
}

// readText takes a text as it is, from a file (@FILE) or from stdin (-).
func readText(a *app, given string) (string, error) {
	name, isFile := strings.CutPrefix(given, "@")
	if given == "-" {
		name, isFile = "-", true
	}
	if !isFile {
		return given, nil
	}
	data, err := a.readInput(name)
	return strings.TrimRight(string(data), "\n"), err
}

// makeIt is the hint for a feature that there is none of, unless none can be called so.
func makeIt(err error, name string) error {
	if dag.CheckFeatureName(name) != nil {
		return hint(err, "see the names with: ralph feature list")
	}
	return hint(err, "make it with: ralph feature create %s", name)
}
