package draw

import (
	"io"
	"strings"
	"time"

	"ralph/dag"
	"ralph/internal/jsonval"
	"ralph/internal/term"
)

// Style says how a tree is written.
type Style struct {
	Width   int                             // of the terminal; 0 means unlimited
	After   bool                            // say what each node waits for
	ID      func(string) string             // paints an ID; nil leaves it plain
	State   func(state, text string) string // paints text by the state it stands for
	Subdued func(string) string             // paints what may be skipped
}

// Tree writes nodes as an indented tree, one line each.
func Tree(w io.Writer, nodes []Node, s Style) error {
	f := plant(nodes)
	t := treeWriter{forest: f, style: s}
	for _, n := range nodes {
		t.stateWidth = max(t.stateWidth, len(n.State))
	}
	for _, root := range f.roots {
		t.node(root, "", "")
	}
	_, err := io.WriteString(w, t.b.String())
	return err
}

type treeWriter struct {
	forest
	style      Style
	stateWidth int
	b          strings.Builder
}

func (t *treeWriter) node(id, lead, below string) {
	n := t.nodes[id]
	pad := strings.Repeat(" ", t.stateWidth-len(n.State))
	tail := ""
	if t.style.After && len(n.After) > 0 {
		tail = "  <- " + strings.Join(t.labels(n.After), ", ")
	}
	title := n.Title
	if t.style.Width > 0 {
		used := term.Width(lead) + term.Width(n.label()) + t.stateWidth + 4
		room := t.style.Width - used
		tail = term.Cut(tail, max(room-10, 0))
		title = term.Cut(title, max(room-term.Width(tail), 10))
	}
	line := t.paint(lead, t.style.Subdued) + t.paint(n.label(), t.style.ID) + "  " + t.state(n.State) + pad + "  " + title + t.paint(tail, t.style.Subdued)
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

func (t *treeWriter) labels(ids []string) []string {
	labels := make([]string, len(ids))
	for i, id := range ids {
		labels[i] = id
		if n, drawn := t.nodes[id]; drawn {
			labels[i] = n.label()
		}
	}
	return labels
}

func (t *treeWriter) paint(s string, with func(string) string) string {
	if with == nil {
		return s
	}
	return with(s)
}

func (t *treeWriter) state(s string) string {
	if t.style.State == nil {
		return s
	}
	return t.style.State(s, s)
}

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
