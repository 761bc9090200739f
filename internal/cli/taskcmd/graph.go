package taskcmd

import (
	"context"
	"fmt"
	"strings"

	"ralph/dag"
	"ralph/internal/cli"
	"ralph/internal/cli/show"
	"ralph/internal/jsonval"
	"ralph/internal/render/draw"
	"ralph/internal/report"
)

var taskTreeCommand = cli.Command{
	Name: "tree", Args: "[ID]", Short: "show tasks with their subtasks", Flags: []cli.Flag{cli.JSONFlag},
	Example: "ralph task tree\nralph task tree 1f0c", Exits: "3 not found", Run: cli.OnGraph(runTaskTree),
}

func runTaskTree(a *cli.App, s *cli.Session, g *dag.Graph, o cli.PlainOptions) error {
	tasks, err := subtree(g, o.Args)
	if err != nil {
		return err
	}
	return show.PrintTasks(a, s, g, dag.Filter{}, o.JSON, tasks, func() error {
		return cli.Written(fmt.Fprint(a.Stdout, draw.Tree(draw.Nodes(tasks, a.Now()), show.TreeStyle(a))))
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

var taskGraphCommand = cli.Command{
	Name: "graph", Args: "[ID]", Short: "draw the graph: what contains what, what waits for what",
	Long: "With an ID, draws the task with what is near it: what it waits for, what waits for it, its parent and its subtasks.",
	Flags: []cli.Flag{
		{Name: "format", Usage: "`FORMAT`: text, dot, mermaid or json", Value: "text"},
		{Name: "feature", Usage: "only tasks of `FEATURE`"},
		{Name: "depth", Usage: "draw what is at most `N` steps away from ID", Value: 1},
	},
	Example: "ralph task graph\nralph task graph --format dot | dot -Tsvg > graph.svg\nralph task graph 1f0c --depth 2",
	Exits:   "3 not found", Run: cli.OnGraph(runTaskGraph),
}

type taskGraphOptions struct {
	Args            []string
	Format, Feature string
	Depth           *int
}

func (o *taskGraphOptions) Parse(cli.CommandLine) error {
	switch {
	case o.Depth != nil && *o.Depth < 0:
		return cli.Usagef("--depth is a number of steps, 0 or more, not %d", *o.Depth)
	case o.Depth != nil && len(o.Args) == 0:
		return cli.Hint(cli.Usagef("--depth is for one task"), "name it: ralph task graph ID --depth %d", *o.Depth)
	case o.Feature != "" && len(o.Args) > 0:
		return cli.Usagef("ID and --feature do not go together")
	}
	return cli.CheckChoice("format", o.Format, "text", "dot", "mermaid", "json")
}

func runTaskGraph(a *cli.App, s *cli.Session, g *dag.Graph, o taskGraphOptions) error {
	feature, err := cli.FeatureByName(g, o.Feature)
	if err != nil {
		return err
	}
	each := func(add func(dag.Task) error) error { return g.Tasks.Each(dag.Filter{Feature: feature}, add) }
	if len(o.Args) > 0 {
		t, err := g.Tasks.Resolve(o.Args[0])
		if err != nil {
			return err
		}
		each = func(add func(dag.Task) error) error { return g.Tasks.Near(t, cli.Or(o.Depth, 1), add) }
	}
	if o.Format == "json" {
		data, err := draw.Data(g, a.Now(), each)
		if err != nil {
			return err
		}
		return a.PrintJSON(data)
	}
	nodes, err := draw.Linked(g, a.Now(), each)
	switch {
	case err != nil:
		return err
	case o.Format == "dot":
		return cli.Written(fmt.Fprint(a.Stdout, draw.DOT(nodes)))
	case o.Format == "mermaid":
		return cli.Written(fmt.Fprint(a.Stdout, draw.Mermaid(nodes)))
	case len(nodes) == 0:
		return show.NoTasks(a, s, g, dag.Filter{Feature: feature})
	}
	return show.DrawLinked(a, nodes)
}

var taskDepsCommand = cli.Command{
	Name: "deps", Short: "show and change what waits for what",
	Example: "ralph task deps add 1f0c 77aa", Exits: "1 refused (a cycle), 3 not found",
	Sub: []cli.Command{
		{
			Name: "add", Args: "BLOCKER BLOCKED", Short: "let BLOCKED wait for BLOCKER",
			Example: "ralph task deps add 1f0c 77aa", Exits: "1 refused (a cycle, also through parents), 3 not found",
			Run: changeDeps("add", "now waits for", func(g *dag.Graph, blocker, blocked string) error { return g.Plan.Link(blocker, blocked) }),
		},
		{
			Name: "rm", Args: "BLOCKER BLOCKED", Short: "let BLOCKED no longer wait for BLOCKER",
			Example: "ralph task deps rm 1f0c 77aa", Exits: "3 not found",
			Run: changeDeps("rm", "no longer waits for", func(g *dag.Graph, blocker, blocked string) error { return g.Plan.Unlink(blocker, blocked) }),
		},
		{
			Name: "list", Args: "ID", Short: "list what a task waits for and what waits for it", Flags: []cli.Flag{cli.JSONFlag},
			Example: "ralph task deps list 1f0c", Exits: "3 not found", Run: cli.OnTask(runDepsList),
		},
	},
}

var (
	taskRelateCommand = cli.Command{
		Name: "relate", Args: "ID OTHER", Short: "say that two tasks have to do with each other; neither waits",
		Example: "ralph task relate 1f0c 77aa", Exits: "1 refused, 3 not found",
		Run: changePair("relate", func(a, b string) string { return a + " is related to " + b }, func(g *dag.Graph, a, b string) error { return g.Plan.Relate(a, b) }),
	}
	taskUnrelateCommand = cli.Command{
		Name: "unrelate", Args: "ID OTHER", Short: "take back that two tasks are related",
		Example: "ralph task unrelate 1f0c 77aa", Exits: "3 not found",
		Run: changePair("unrelate", func(a, b string) string { return a + " is no longer related to " + b }, func(g *dag.Graph, a, b string) error { return g.Plan.Unrelate(a, b) }),
	}
)

func changeDeps(name, words string, change func(g *dag.Graph, blocker, blocked string) error) cli.Runner {
	return changePair("deps "+name, func(blocker, blocked string) string { return blocked + " " + words + " " + blocker }, change)
}

// changePair makes a command that does something to two tasks, and says what.
func changePair(name string, words func(a, b string) string, change func(g *dag.Graph, a, b string) error) cli.Runner {
	return cli.Action(func(ctx context.Context, a *cli.App, o cli.PlainOptions) error {
		var pair [2]dag.Task
		err := a.Update(ctx, func(_ *cli.Session, g *dag.Graph) (err error) {
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
			a.Note("%s", words(pair[0].ID, pair[1].ID))
		}
		return err
	})
}

func runDepsList(_ context.Context, a *cli.App, _ *cli.Session, g *dag.Graph, t dag.Task, o cli.PlainOptions) error {
	blockers, _ := g.Tasks.Blockers(t) // the first error of the database is also that of what follows
	dependents, err := g.Tasks.Dependents(t)
	if err != nil {
		return err
	}
	switch {
	case o.JSON:
		return a.PrintJSON(jsonval.Object{"id", t.ID, "blockers", report.IDs(blockers), "dependents", report.IDs(dependents)})
	case len(blockers)+len(dependents) == 0:
		a.Note("%s waits for nothing, and nothing waits for it", t.ID)
		return nil
	}
	return cli.Written(fmt.Fprint(a.Stdout, strings.TrimPrefix(show.TaskSection(a, "Waits for", blockers)+show.TaskSection(a, "Holds up", dependents), "\n")))
}
