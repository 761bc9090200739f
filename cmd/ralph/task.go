package main

import (
	"context"
	"errors"
	"slices"
	"strings"

	"ralph/dag"
)

var taskCommand = command{
	name: "task", short: "plan: add, look at and change tasks",
	example: `ralph task add "Write the parser"`, exits: "1 refused, 3 not found",
	sub: slices.Concat([]command{
		taskAddCommand, taskCreateCommand, taskImportCommand, taskExportCommand, taskListCommand, taskShowCommand, taskTreeCommand,
		taskLogCommand, taskWhyCommand, taskGraphCommand, taskUpdateCommand, taskDepsCommand, taskRelateCommand, taskUnrelateCommand,
	}, taskStateCommands),
}

// resolveTask returns the task whose ID was typed.
func resolveTask(g *dag.Graph, typed string) (dag.Task, error) {
	if typed == "" {
		return dag.Task{}, usagef("ID is empty")
	}
	t, err := g.Tasks.Resolve(typed)
	return t, err
}

// onTask makes a command of a function that reads the graph about the task whose ID is the argument.
func onTask(run func(context.Context, *app, *session, *dag.Graph, dag.Task, plainOptions) error) runner {
	return inProject(func(ctx context.Context, a *app, s *session, o plainOptions) error {
		return s.store.View(ctx, func(g *dag.Graph) error {
			t, err := resolveTask(g, o.Args[0])
			if err != nil {
				return err
			}
			return run(ctx, a, s, g, t, o)
		})
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

// featureByName turns a name or an ID into the name; "" stays "".
func featureByName(g *dag.Graph, typed string) (string, error) {
	if typed == "" {
		return "", nil
	}
	f, err := g.Plan.Feature(typed)
	if err != nil {
		return "", makeIt(err, typed)
	}
	return f.Name, nil
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

// makeIt is the hint for a feature that does not exist, unless its name is mistyped or none can have it.
func makeIt(err error, name string) error {
	var missing *dag.MissingError
	if errors.As(err, &missing) && similarTo(missing) != "" || dag.CheckFeatureName(name) != nil {
		return err
	}
	return hint(err, "make it with: ralph feature create %s", name)
}
