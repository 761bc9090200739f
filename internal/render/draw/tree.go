package draw

import (
	"cmp"
	"strings"
	"time"

	"ralph/dag"
	"ralph/internal/jsonval"
	"ralph/internal/seq"
	"ralph/internal/term"
)

// Style says how a tree is written.
type Style struct {
	Width   int  // of the terminal; 0 means unlimited
	After   bool // say what each node waits for
	Palette term.Palette
	State   func(state string) func(string) string // paints what stands for a state
}

// Tree draws nodes as an indented tree, one line each.
func Tree(nodes []Node, s Style) string {
	t := treeWriter{forest: plant(nodes), style: s}
	for _, n := range nodes {
		t.stateWidth = max(t.stateWidth, len(n.State))
	}
	for _, root := range t.roots {
		t.node(root, "", "")
	}
	return t.b.String()
}

type treeWriter struct {
	forest
	style      Style
	stateWidth int
	b          strings.Builder
}

func (t *treeWriter) node(id, lead, below string) {
	n, s := t.nodes[id], t.style
	tail, title := "", n.Title
	if s.After && len(n.After) > 0 {
		labels := seq.Map(n.After, func(id string) string { return cmp.Or(t.nodes[id].label(), id) })
		tail = "  <- " + strings.Join(labels, ", ")
	}
	if s.Width > 0 {
		free := s.Width - term.Width(lead) - term.Width(n.label()) - t.stateWidth - 4
		tail = term.Cut(tail, max(free-10, 0))
		title = term.Cut(title, max(free-term.Width(tail), 10))
	}
	state := s.State(n.State)(n.State) + strings.Repeat(" ", t.stateWidth-len(n.State))
	line := s.Palette.Dim(lead) + s.Palette.Cyan(n.label()) + "  " + state + "  " + title + s.Palette.Dim(tail)
	t.b.WriteString(strings.TrimRight(line, " ") + "\n")
	children := t.children[id]
	for i, c := range children {
		if i == len(children)-1 {
			t.node(c, below+"└─ ", below+"   ")
		} else {
			t.node(c, below+"├─ ", below+"│  ")
		}
	}
}

// Nodes are tasks to be drawn, without what they wait for.
func Nodes(tasks []dag.Task, now time.Time) []Node {
	return seq.Map(tasks, func(t dag.Task) Node { return nodeOf(t, nil, now) })
}

func nodeOf(t dag.Task, after []string, now time.Time) Node {
	return Node{ID: t.ID, Title: term.Line(t.Title), State: t.State(now), Parent: t.Parent, After: after}
}

// Linked collects nodes with what they wait for from what each calls its argument with.
func Linked(g *dag.Graph, now time.Time, each func(func(dag.Task) error) error) (nodes []Node, err error) {
	err = each(func(t dag.Task) error {
		after, _, err := g.Tasks.BlockerIDs(t)
		nodes = append(nodes, nodeOf(t, after, now))
		return err
	})
	return nodes, err
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

// Data lists tasks and what they wait for, as Linked does.
func Data(g *dag.Graph, now time.Time, each func(func(dag.Task) error) error) (Graph, error) {
	out := Graph{Nodes: []graphNode{}, Edges: []graphEdge{}}
	err := each(func(t dag.Task) error {
		out.Nodes = append(out.Nodes, graphNode{
			t.ID, t.Title, string(t.Status), t.Ready(now), jsonval.Text(t.Parent), jsonval.Text(t.Feature),
		})
		after, _, err := g.Tasks.BlockerIDs(t)
		for _, blocker := range after {
			out.Edges = append(out.Edges, graphEdge{From: blocker, To: t.ID})
		}
		return err
	})
	return out, err
}
