package main

import (
	"github.com/urfave/cli/v2"

	"ralph/dag"
	"ralph/internal/render/draw"
	"ralph/internal/term"
)

func (a *app) taskTree() command {
	return command{
		name: "tree", args: "[ID]", short: "show tasks with their subtasks",
		flags:   []cli.Flag{jsonFlag()},
		example: "ralph task tree\nralph task tree 1f0c", exits: "3 not found",
		run: a.runTaskTree,
	}
}

func (a *app) runTaskTree(c *cli.Context) error {
	if c.NArg() > 1 {
		return usagef("at most one ID")
	}
	return a.view(c.Context, func(s *session, g *dag.Graph) error {
		tasks, err := subtree(c, g)
		if err != nil {
			return err
		}
		if c.Bool("json") {
			list, err := allJSON(s, g, tasks, a.now())
			if err != nil {
				return err
			}
			return a.printJSON(list)
		}
		if len(tasks) == 0 {
			return a.noTasks(s, g, dag.Filter{})
		}
		return draw.Tree(a.stdout, a.nodes(tasks), a.treeStyle())
	})
}

// subtree returns the task that was named with all below it, or all tasks.
func subtree(c *cli.Context, g *dag.Graph) ([]dag.Task, error) {
	if c.NArg() == 0 {
		return g.List(dag.Filter{})
	}
	root, err := g.Resolve(c.Args().First())
	if err != nil {
		return nil, lookUpHint(err)
	}
	return below(g, root)
}

func below(g *dag.Graph, root dag.Task) ([]dag.Task, error) {
	tasks := []dag.Task{root}
	for i := 0; i < len(tasks); i++ {
		if tasks[i].Children == 0 {
			continue
		}
		children, err := g.ChildTasks(tasks[i])
		if err != nil {
			return nil, err
		}
		tasks = append(tasks, children...)
	}
	return tasks, nil
}

func (a *app) taskGraph() command {
	return command{
		name: "graph", short: "draw the graph: what contains what, what waits for what",
		flags: []cli.Flag{
			&cli.StringFlag{Name: "format", Usage: "`F`: text, dot, mermaid or json", Value: "text"},
			&cli.StringFlag{Name: "feature", Usage: "only tasks of feature `F`"},
		},
		example: "ralph task graph\nralph task graph --format dot | dot -Tsvg > graph.svg", exits: "3 no such feature",
		run: a.runTaskGraph,
	}
}

type graphJSON struct {
	Nodes []graphNodeJSON `json:"nodes"`
	Edges []graphEdgeJSON `json:"edges"`
}

type graphNodeJSON struct {
	ID      string  `json:"id"`
	Title   string  `json:"title"`
	Status  string  `json:"status"`
	Ready   bool    `json:"ready"`
	Parent  *string `json:"parent"`
	Feature *string `json:"feature"`
}

type graphEdgeJSON struct {
	From string `json:"from"`
	To   string `json:"to"`
}

func (a *app) runTaskGraph(c *cli.Context) error {
	if err := noArgs(c); err != nil {
		return err
	}
	format := c.String("format")
	switch format {
	case "text", "dot", "mermaid", "json":
	default:
		return usagef("--format is text, dot, mermaid or json, not %q", format)
	}
	return a.view(c.Context, func(s *session, g *dag.Graph) error {
		feature, err := featureByName(g, c.String("feature"))
		if err != nil {
			return err
		}
		tasks, err := g.List(dag.Filter{Feature: feature})
		if err != nil {
			return err
		}
		nodes, err := a.linkedNodes(g, tasks)
		if err != nil {
			return err
		}
		switch format {
		case "dot":
			return draw.DOT(a.stdout, nodes)
		case "mermaid":
			return draw.Mermaid(a.stdout, nodes)
		case "json":
			return a.printJSON(a.graphAsJSON(tasks, nodes))
		}
		if len(tasks) == 0 {
			return a.noTasks(s, g, dag.Filter{Feature: feature})
		}
		style := a.treeStyle()
		style.After = true
		return draw.Tree(a.stdout, nodes, style)
	})
}

func (a *app) nodes(tasks []dag.Task) []draw.Node {
	nodes := make([]draw.Node, len(tasks))
	for i, t := range tasks {
		word, _ := a.state(term.Palette{}, t)
		nodes[i] = draw.Node{ID: t.ID, Title: term.Line(t.Title), State: word, Parent: t.Parent}
	}
	return nodes
}

// linkedNodes are nodes with what they wait for.
func (a *app) linkedNodes(g *dag.Graph, tasks []dag.Task) ([]draw.Node, error) {
	nodes := a.nodes(tasks)
	for i, t := range tasks {
		blockers, err := g.Blockers(t)
		if err != nil {
			return nil, err
		}
		nodes[i].After = ids(blockers)
	}
	return nodes, nil
}

func (a *app) treeStyle() draw.Style {
	p := a.palette()
	return draw.Style{
		Width: a.width, ID: p.Cyan, Subdued: p.Dim,
		State: func(state, text string) string {
			paint, ok := map[string]func(string) string{
				"done": p.Green, "failed": p.Red, "blocked": p.Yellow, "running": p.Cyan, "ready": p.Bold, "unverified": p.Bold,
			}[state]
			if !ok {
				paint = p.Dim
			}
			return paint(text)
		},
	}
}

func (a *app) graphAsJSON(tasks []dag.Task, nodes []draw.Node) graphJSON {
	j := graphJSON{Nodes: []graphNodeJSON{}, Edges: []graphEdgeJSON{}}
	for i, t := range tasks {
		j.Nodes = append(j.Nodes, graphNodeJSON{
			ID: t.ID, Title: t.Title, Status: string(t.Status), Ready: t.Ready(a.now()),
			Parent: orNil(t.Parent), Feature: orNil(t.Feature),
		})
		for _, blocker := range nodes[i].After {
			j.Edges = append(j.Edges, graphEdgeJSON{From: blocker, To: t.ID})
		}
	}
	return j
}
