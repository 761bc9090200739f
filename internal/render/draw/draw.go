// Package draw turns a task graph into pictures: a tree of text, DOT and
// Mermaid. It never changes the graph.
package draw

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
	if n.Name != "" {
		return n.Name
	}
	return n.ID
}

// forest orders nodes by who contains whom, keeping the order they came in.
type forest struct {
	nodes    map[string]Node
	roots    []string
	children map[string][]string
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
