package draw

import (
	"fmt"
	"io"
	"strings"
)

// Mermaid writes the graph as a Mermaid flow chart; groups become subgraphs.
func Mermaid(w io.Writer, nodes []Node) error {
	f := plant(nodes)
	m := mermaidWriter{forest: f}
	m.b.WriteString("flowchart LR\n")
	for _, root := range f.roots {
		m.node(root, "  ")
	}
	f.edges(nodes, func(blocker, blocked string) {
		fmt.Fprintf(&m.b, "  %s --> %s\n", blocker, blocked)
	})
	m.b.WriteString(`  classDef done fill:#c8f0c8,stroke:#2a7a2a,color:#000
  classDef failed fill:#f8c8c8,stroke:#a02020,color:#000
  classDef blocked fill:#f5e6a0,stroke:#8a7000,color:#000
  classDef running fill:#c0dcf8,stroke:#205090,color:#000
  classDef ready fill:#d8f4f4,stroke:#207070,color:#000
`)
	_, err := io.WriteString(w, m.b.String())
	return err
}

type mermaidWriter struct {
	forest
	b strings.Builder
}

func (m *mermaidWriter) node(id, indent string) {
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
		m.node(c, indent+"  ")
	}
	fmt.Fprintf(&m.b, "%send\n", indent)
}

// mermaidText keeps a title from ending its quotes, being markup or a link.
func mermaidText(s string) string {
	return strings.NewReplacer("#", "#35;", `"`, "#quot;", "<", "#lt;", ">", "#gt;", "`", "#96;", "\\", "#92;", "\n", " ").Replace(s)
}
