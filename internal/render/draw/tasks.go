package draw

import (
	"time"

	"ralph/dag"
	"ralph/internal/jsonval"
	"ralph/internal/term"
)

// Nodes are tasks to be drawn, without what they wait for.
func Nodes(tasks []dag.Task, now time.Time) []Node {
	nodes := make([]Node, len(tasks))
	for i, t := range tasks {
		nodes[i] = Node{ID: t.ID, Title: term.Line(t.Title), State: t.State(now), Parent: t.Parent}
	}
	return nodes
}

// Linked are nodes with what they wait for.
func Linked(g *dag.Graph, tasks []dag.Task, now time.Time) ([]Node, error) {
	nodes := Nodes(tasks, now)
	for i, t := range tasks {
		blockers, err := g.Blockers(t)
		if err != nil {
			return nil, err
		}
		for _, b := range blockers {
			nodes[i].After = append(nodes[i].After, b.ID)
		}
	}
	return nodes, nil
}

// Graph is the picture for programs.
type Graph struct {
	Nodes []graphNode `json:"nodes"`
	Edges []graphEdge `json:"edges"`
}

type graphNode struct {
	ID      string  `json:"id"`
	Title   string  `json:"title"`
	Status  string  `json:"status"`
	Ready   bool    `json:"ready"`
	Parent  *string `json:"parent"`
	Feature *string `json:"feature"`
}

type graphEdge struct {
	From string `json:"from"`
	To   string `json:"to"`
}

// Data lists tasks and the edges between them; nodes are theirs.
func Data(tasks []dag.Task, nodes []Node, now time.Time) Graph {
	g := Graph{Nodes: []graphNode{}, Edges: []graphEdge{}}
	for i, t := range tasks {
		g.Nodes = append(g.Nodes, graphNode{
			t.ID, t.Title, string(t.Status), t.Ready(now), jsonval.Text(t.Parent), jsonval.Text(t.Feature),
		})
		for _, blocker := range nodes[i].After {
			g.Edges = append(g.Edges, graphEdge{From: blocker, To: t.ID})
		}
	}
	return g
}
