// Package draw turns a task graph into pictures: a tree of text, DOT and
// Mermaid. It never changes the graph.
package draw

import (
	"cmp"
	"fmt"
	"strings"

	"ralph/dag"
	"ralph/internal/seq"
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

func (n Node) label() string { return cmp.Or(n.Name, n.ID) }

// forest orders nodes by who contains whom, keeping the order they came in.
type forest struct {
	nodes    map[string]Node
	roots    []string
	children map[string][]string
}

func plant(nodes []Node) forest {
	f := forest{nodes: seq.Index(nodes, func(n Node) string { return n.ID }), children: map[string][]string{}}
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

// write writes nodes, with groups around what they contain.
func (f forest) write(b *strings.Builder, ids []string, indent string, leaf func(Node) string, group func(n Node, indent string) string, end string) {
	for _, id := range ids {
		n, children := f.nodes[id], f.children[id]
		if len(children) == 0 {
			b.WriteString(indent + leaf(n) + "\n")
			continue
		}
		b.WriteString(indent + group(n, indent) + "\n")
		f.write(b, children, indent+"  ", leaf, group, end)
		b.WriteString(indent + end + "\n")
	}
}

// Mermaid is the graph as a Mermaid flow chart; groups become subgraphs.
func Mermaid(nodes []Node) string {
	f := plant(nodes)
	var b strings.Builder
	b.WriteString("flowchart LR\n")
	leaf := func(n Node) string {
		class := ""
		switch n.State {
		case "done", "failed", "blocked", "running", "ready", "cancelled":
			class = ":::" + n.State
		case "unverified":
			class = ":::ready"
		case dag.Landing:
			class = ":::running"
		case "asks":
			class = ":::blocked" // a person can help
		}
		return fmt.Sprintf(`%s["%s"]%s`, n.ID, mermaidText(n.Title), class)
	}
	group := func(n Node, _ string) string { return fmt.Sprintf(`subgraph %s["%s"]`, n.ID, mermaidText(n.Title)) }
	f.write(&b, f.roots, "  ", leaf, group, "end")
	f.edges(nodes, func(blocker, blocked string) { fmt.Fprintf(&b, "  %s --> %s\n", blocker, blocked) })
	b.WriteString(`  classDef done fill:#c8f0c8,stroke:#2a7a2a,color:#000
  classDef failed fill:#f8c8c8,stroke:#a02020,color:#000
  classDef blocked fill:#f5e6a0,stroke:#8a7000,color:#000
  classDef running fill:#c0dcf8,stroke:#205090,color:#000
  classDef ready fill:#d8f4f4,stroke:#207070,color:#000
  classDef cancelled fill:#e4e4e4,stroke:#707070,color:#606060
`)
	return b.String()
}

// mermaidText keeps a title from ending its quotes, being markup or a link.
func mermaidText(s string) string {
	return strings.NewReplacer("#", "#35;", `"`, "#quot;", "<", "#lt;", ">", "#gt;", "`", "#96;", "\\", "#92;", "\n", " ").Replace(s)
}

// DOT is the graph for Graphviz; groups become clusters.
func DOT(nodes []Node) string {
	f := plant(nodes)
	var b strings.Builder
	b.WriteString("digraph ralph {\n  rankdir=LR;\n  compound=true;\n  node [shape=box, style=\"rounded,filled\", fillcolor=white];\n")
	colors := map[string]string{
		"done": "palegreen", "failed": "lightpink", "blocked": "khaki", "asks": "khaki", "running": "lightblue", dag.Landing: "lightblue", "ready": "lightcyan", "unverified": "lightcyan", "cancelled": "lightgray",
	}
	label := func(n Node) string { return dotQuote(n.ID + "\n" + n.Title) }
	leaf := func(n Node) string {
		return fmt.Sprintf("%s [label=%s, fillcolor=%s];", dotQuote(n.ID), label(n), cmp.Or(colors[n.State], "white"))
	}
	group := func(n Node, indent string) string {
		return fmt.Sprintf("subgraph %s {\n%s  label=%s;", dotQuote("cluster_"+n.ID), indent, label(n))
	}
	f.write(&b, f.roots, "  ", leaf, group, "}")
	f.edges(nodes, func(blocker, blocked string) {
		var attributes []string
		if len(f.children[blocker]) > 0 {
			attributes = append(attributes, "ltail="+dotQuote("cluster_"+blocker))
		}
		if len(f.children[blocked]) > 0 {
			attributes = append(attributes, "lhead="+dotQuote("cluster_"+blocked))
		}
		fmt.Fprintf(&b, "  %s -> %s", dotQuote(f.leaf(blocker)), dotQuote(f.leaf(blocked)))
		if len(attributes) > 0 {
			fmt.Fprintf(&b, " [%s]", strings.Join(attributes, ", "))
		}
		b.WriteString(";\n")
	})
	b.WriteString("}\n")
	return b.String()
}

func dotQuote(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(s) + `"`
}
