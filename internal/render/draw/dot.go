package draw

import (
	"fmt"
	"io"
	"strings"
)

// DOT writes the graph for Graphviz; groups become clusters.
func DOT(w io.Writer, nodes []Node) error {
	f := plant(nodes)
	d := dotWriter{forest: f}
	d.b.WriteString("digraph ralph {\n  rankdir=LR;\n  compound=true;\n  node [shape=box, style=\"rounded,filled\", fillcolor=white];\n")
	for _, root := range f.roots {
		d.node(root, "  ")
	}
	f.edges(nodes, d.edge)
	d.b.WriteString("}\n")
	_, err := io.WriteString(w, d.b.String())
	return err
}

type dotWriter struct {
	forest
	b strings.Builder
}

func (d *dotWriter) node(id, indent string) {
	n := d.nodes[id]
	label := dotQuote(n.ID + "\n" + n.Title)
	if len(d.children[id]) == 0 {
		fmt.Fprintf(&d.b, "%s%s [label=%s, fillcolor=%s];\n", indent, dotQuote(id), label, dotColor(n.State))
		return
	}
	fmt.Fprintf(&d.b, "%ssubgraph %s {\n%s  label=%s;\n", indent, dotQuote("cluster_"+id), indent, label)
	for _, c := range d.children[id] {
		d.node(c, indent+"  ")
	}
	fmt.Fprintf(&d.b, "%s}\n", indent)
}

func (d *dotWriter) edge(blocker, blocked string) {
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
	switch state {
	case "done":
		return "palegreen"
	case "failed":
		return "lightpink"
	case "blocked":
		return "khaki"
	case "running":
		return "lightblue"
	case "ready", "unverified":
		return "lightcyan"
	default:
		return "white"
	}
}
