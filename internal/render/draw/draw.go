// Package draw turns a task graph into pictures: a tree of text, DOT and
// Mermaid. It never changes the graph.
package draw

import (
	"cmp"
	"fmt"
	"io"
	"strings"
)

// Node is one task to be drawn.
type Node struct {
	ID     string
	Name   string // shown instead of the ID, if it is set
	Title  string // one clean line
	State  string // one word: done, failed, blocked, running, ready, waiting, or how many subtasks
	Parent string // "" at the top, or if it is not drawn
	After  []string
}

func (n Node) label() string {
	return cmp.Or(n.Name, n.ID)
}

// forest orders nodes by who contains whom, keeping the order they came in.
type forest struct {
	nodes    map[string]Node
	roots    []string
	children map[string][]string
}

// writer writes a forest in the language of another program.
type writer struct {
	forest
	b strings.Builder
}

func plant(nodes []Node) forest {
	f := forest{nodes: make(map[string]Node, len(nodes)), children: map[string][]string{}}
	for _, n := range nodes {
		f.nodes[n.ID] = n
	}
	for _, n := range nodes {
		if _, drawn := f.nodes[n.Parent]; drawn {
			f.children[n.Parent] = append(f.children[n.Parent], n.ID)
		} else {
			f.roots = append(f.roots, n.ID)
		}
	}
	return f
}

// leaf is a node inside the group, for pictures in which edges cannot end at a group.
func (f forest) leaf(id string) string {
	for len(f.children[id]) > 0 {
		id = f.children[id][0]
	}
	return id
}

func (f forest) edges(nodes []Node, fn func(blocker, blocked string)) {
	for _, n := range nodes {
		for _, blocker := range n.After {
			if _, drawn := f.nodes[blocker]; drawn {
				fn(blocker, n.ID)
			}
		}
	}
}

// Mermaid writes the graph as a Mermaid flow chart; groups become subgraphs.
func Mermaid(w io.Writer, nodes []Node) error {
	m := writer{forest: plant(nodes)}
	m.b.WriteString("flowchart LR\n")
	for _, root := range m.roots {
		m.mermaid(root, "  ")
	}
	m.edges(nodes, func(blocker, blocked string) { fmt.Fprintf(&m.b, "  %s --> %s\n", blocker, blocked) })
	m.b.WriteString(`  classDef done fill:#c8f0c8,stroke:#2a7a2a,color:#000
  classDef failed fill:#f8c8c8,stroke:#a02020,color:#000
  classDef blocked fill:#f5e6a0,stroke:#8a7000,color:#000
  classDef running fill:#c0dcf8,stroke:#205090,color:#000
  classDef ready fill:#d8f4f4,stroke:#207070,color:#000
`)
	_, err := io.WriteString(w, m.b.String())
	return err
}

func (m *writer) mermaid(id, indent string) {
	n := m.nodes[id]
	if len(m.children[id]) == 0 {
		class := ""
		switch n.State {
		case "done", "failed", "blocked", "running", "ready":
			class = ":::" + n.State
		case "unverified":
			class = ":::ready"
		}
		fmt.Fprintf(&m.b, "%s%s[\"%s\"]%s\n", indent, id, mermaidText(n.Title), class)
		return
	}
	fmt.Fprintf(&m.b, "%ssubgraph %s[\"%s\"]\n", indent, id, mermaidText(n.Title))
	for _, c := range m.children[id] {
		m.mermaid(c, indent+"  ")
	}
	fmt.Fprintf(&m.b, "%send\n", indent)
}

// mermaidText keeps a title from ending its quotes, being markup or a link.
func mermaidText(s string) string {
	return strings.NewReplacer("#", "#35;", `"`, "#quot;", "<", "#lt;", ">", "#gt;", "`", "#96;", "\\", "#92;", "\n", " ").Replace(s)
}

// DOT writes the graph for Graphviz; groups become clusters.
func DOT(w io.Writer, nodes []Node) error {
	d := writer{forest: plant(nodes)}
	d.b.WriteString("digraph ralph {\n  rankdir=LR;\n  compound=true;\n  node [shape=box, style=\"rounded,filled\", fillcolor=white];\n")
	for _, root := range d.roots {
		d.dot(root, "  ")
	}
	d.edges(nodes, d.edge)
	d.b.WriteString("}\n")
	_, err := io.WriteString(w, d.b.String())
	return err
}

func (d *writer) dot(id, indent string) {
	n := d.nodes[id]
	label := dotQuote(n.ID + "\n" + n.Title)
	if len(d.children[id]) == 0 {
		fmt.Fprintf(&d.b, "%s%s [label=%s, fillcolor=%s];\n", indent, dotQuote(id), label, dotColor(n.State))
		return
	}
	fmt.Fprintf(&d.b, "%ssubgraph %s {\n%s  label=%s;\n", indent, dotQuote("cluster_"+id), indent, label)
	for _, c := range d.children[id] {
		d.dot(c, indent+"  ")
	}
	fmt.Fprintf(&d.b, "%s}\n", indent)
}

func (d *writer) edge(blocker, blocked string) {
	var attributes []string
	if len(d.children[blocker]) > 0 {
		attributes = append(attributes, "ltail="+dotQuote("cluster_"+blocker))
	}
	if len(d.children[blocked]) > 0 {
		attributes = append(attributes, "lhead="+dotQuote("cluster_"+blocked))
	}
	fmt.Fprintf(&d.b, "  %s -> %s", dotQuote(d.leaf(blocker)), dotQuote(d.leaf(blocked)))
	if len(attributes) > 0 {
		fmt.Fprintf(&d.b, " [%s]", strings.Join(attributes, ", "))
	}
	d.b.WriteString(";\n")
}

func dotQuote(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(s) + `"`
}

func dotColor(state string) string {
	colors := map[string]string{
		"done": "palegreen", "failed": "lightpink", "blocked": "khaki", "running": "lightblue", "ready": "lightcyan", "unverified": "lightcyan",
	}
	return cmp.Or(colors[state], "white")
}
