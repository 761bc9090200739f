package main

import (
	"context"
	"fmt"
	"strings"

	"ralph/dag"
	"ralph/internal/jsonval"
	"ralph/internal/render/draw"
	"ralph/internal/report"
)

var taskTreeCommand = command{
	name: "tree", args: "[ID]", short: "show tasks with their subtasks", flags: []flagSpec{jsonFlag},
	example: "ralph task tree\nralph task tree 1f0c", exits: "3 not found", run: onGraph(runTaskTree),
}

func runTaskTree(a *app, s *session, g *dag.Graph, o plainOptions) error {
	tasks, err := subtree(g, o.Args)
	if err != nil {
		return err
	}
	return printTasks(a, s, g, dag.Filter{}, o.JSON, tasks, func() error {
		return written(fmt.Fprint(a.stdout, draw.Tree(draw.Nodes(tasks, a.now()), treeStyle(a))))
	})
}

// subtree returns the task that was named with everything below it, or all tasks.
func subtree(g *dag.Graph, typed []string) ([]dag.Task, error) {
	if len(typed) == 0 {
		return g.Tasks.List(dag.Filter{})
	}
	root, err := g.Tasks.Resolve(typed[0])
	if err != nil {
		return nil, err
	}
	return g.Tasks.Subtree(root)
}

var taskGraphCommand = command{
	name: "graph", args: "[ID]", short: "draw the graph: what contains what, what waits for what",
	long: "With an ID, draws the task with what is near it: what it waits for, what waits for it, its parent and its subtasks.",
	flags: []flagSpec{
		{name: "format", usage: "`FORMAT`: text, dot, mermaid or json", value: "text"},
		{name: "feature", usage: "only tasks of `FEATURE`"},
		{name: "depth", usage: "draw what is at most `N` steps away from ID", value: 1},
	},
	example: "ralph task graph\nralph task graph --format dot | dot -Tsvg > graph.svg\nralph task graph 1f0c --depth 2",
	exits:   "3 not found", run: onGraph(runTaskGraph),
}

type taskGraphOptions struct {
	Args            []string
	Format, Feature string
	Depth           *int
}

func (o *taskGraphOptions) parse(commandLine) error {
	switch {
	case o.Depth != nil && *o.Depth < 0:
		return usagef("--depth is a number of steps, 0 or more, not %d", *o.Depth)
	case o.Depth != nil && len(o.Args) == 0:
		return hint(usagef("--depth is for one task"), "name it: ralph task graph ID --depth %d", *o.Depth)
	case o.Feature != "" && len(o.Args) > 0:
		return usagef("ID and --feature do not go together")
	}
	return checkChoice("format", o.Format, "text", "dot", "mermaid", "json")
}

func runTaskGraph(a *app, s *session, g *dag.Graph, o taskGraphOptions) error {
	feature, err := featureByName(g, o.Feature)
	if err != nil {
		return err
	}
	each := func(add func(dag.Task) error) error { return g.Tasks.Each(dag.Filter{Feature: feature}, add) }
	if len(o.Args) > 0 {
		t, err := g.Tasks.Resolve(o.Args[0])
		if err != nil {
			return err
		}
		each = func(add func(dag.Task) error) error { return g.Tasks.Near(t, or(o.Depth, 1), add) }
	}
	if o.Format == "json" {
		data, err := draw.Data(g, a.now(), each)
		if err != nil {
			return err
		}
		return a.printJSON(data)
	}
	nodes, err := draw.Linked(g, a.now(), each)
	switch {
	case err != nil:
		return err
	case o.Format == "dot":
		return written(fmt.Fprint(a.stdout, draw.DOT(nodes)))
	case o.Format == "mermaid":
		return written(fmt.Fprint(a.stdout, draw.Mermaid(nodes)))
	case len(nodes) == 0:
		return noTasks(a, s, g, dag.Filter{Feature: feature})
	}
	return drawLinked(a, nodes)
}

// drawLinked draws a tree that says what each task waits for.
func drawLinked(a *app, nodes []draw.Node) error {
	style := treeStyle(a)
	style.After = true
	return written(fmt.Fprint(a.stdout, draw.Tree(nodes, style)))
}

func treeStyle(a *app) draw.Style {
	p := a.palette()
	return draw.Style{Width: a.width, Palette: p, State: func(state string) func(string) string { return statePaint(p, state) }}
}

var taskDepsCommand = command{
	name: "deps", short: "show and change what waits for what",
	example: "ralph task deps add 1f0c 77aa", exits: "1 refused (a cycle), 3 not found",
	sub: []command{
		{
			name: "add", args: "BLOCKER BLOCKED", short: "let BLOCKED wait for BLOCKER",
			example: "ralph task deps add 1f0c 77aa", exits: "1 refused (a cycle, also through parents), 3 not found",
			run: changeDeps("add", "now waits for", func(g *dag.Graph, blocker, blocked string) error { return g.Plan.Link(blocker, blocked) }),
		},
		{
			name: "rm", args: "BLOCKER BLOCKED", short: "let BLOCKED no longer wait for BLOCKER",
			example: "ralph task deps rm 1f0c 77aa", exits: "3 not found",
			run: changeDeps("rm", "no longer waits for", func(g *dag.Graph, blocker, blocked string) error { return g.Plan.Unlink(blocker, blocked) }),
		},
		{
			name: "list", args: "ID", short: "list what a task waits for and what waits for it", flags: []flagSpec{jsonFlag},
			example: "ralph task deps list 1f0c", exits: "3 not found", run: onTask(runDepsList),
		},
	},
}

var (
	taskRelateCommand = command{
		name: "relate", args: "ID OTHER", short: "say that two tasks have to do with each other; neither waits",
		example: "ralph task relate 1f0c 77aa", exits: "1 refused, 3 not found",
		run: changePair("relate", func(a, b string) string { return a + " is related to " + b }, func(g *dag.Graph, a, b string) error { return g.Plan.Relate(a, b) }),
	}
	taskUnrelateCommand = command{
		name: "unrelate", args: "ID OTHER", short: "take back that two tasks are related",
		example: "ralph task unrelate 1f0c 77aa", exits: "3 not found",
		run: changePair("unrelate", func(a, b string) string { return a + " is no longer related to " + b }, func(g *dag.Graph, a, b string) error { return g.Plan.Unrelate(a, b) }),
	}
)

func changeDeps(name, words string, change func(g *dag.Graph, blocker, blocked string) error) runner {
	return changePair("deps "+name, func(blocker, blocked string) string { return blocked + " " + words + " " + blocker }, change)
}

// changePair makes a command that does something to two tasks, and says what.
func changePair(name string, words func(a, b string) string, change func(g *dag.Graph, a, b string) error) runner {
	return action(func(ctx context.Context, a *app, o plainOptions) error {
		var pair [2]dag.Task
		err := a.update(ctx, func(_ *session, g *dag.Graph) (err error) {
			for i, typed := range o.Args {
				if pair[i], err = g.Tasks.Resolve(typed); err != nil {
					return err
				}
			}
			if err := change(g, pair[0].ID, pair[1].ID); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			return nil
		})
		if err == nil {
			a.note("%s", words(pair[0].ID, pair[1].ID))
		}
		return err
	})
}

func runDepsList(_ context.Context, a *app, _ *session, g *dag.Graph, t dag.Task, o plainOptions) error {
	blockers, _ := g.Tasks.Blockers(t) // the first error of the database is also that of what follows
	dependents, err := g.Tasks.Dependents(t)
	if err != nil {
		return err
	}
	switch {
	case o.JSON:
		return a.printJSON(jsonval.Object{"id", t.ID, "blockers", report.IDs(blockers), "dependents", report.IDs(dependents)})
	case len(blockers)+len(dependents) == 0:
		a.note("%s waits for nothing, and nothing waits for it", t.ID)
		return nil
	}
	return written(fmt.Fprint(a.stdout, strings.TrimPrefix(taskSection(a, "Waits for", blockers)+taskSection(a, "Holds up", dependents), "\n")))
}
