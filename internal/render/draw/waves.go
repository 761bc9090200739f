package draw

import (
	"fmt"
	"slices"
	"strings"

	"ralph/internal/term"
)

// Waves draws the leaves of a graph in waves: what stands in one needs only what
// stands above it, so all of one wave could be done at once. What is part of a cycle
// stands in the last.
func Waves(nodes []Node, s Style) string {
	f := plant(nodes)
	wave := f.waves(nodes)
	last := 0
	for _, n := range wave {
		last = max(last, n)
	}
	var b strings.Builder
	for n := 1; n <= last; n++ {
		lead := fmt.Sprintf("%3d │ ", n)
		for _, node := range nodes {
			if wave[node.ID] != n {
				continue
			}
			title := node.Title
			if s.Width > 0 {
				title = term.Cut(title, max(s.Width-term.Width(lead)-len(node.ID)-2, 10))
			}
			b.WriteString(s.Palette.Dim(lead) + s.Palette.Cyan(node.ID) + "  " + title + "\n")
			lead = "    │ "
		}
	}
	return b.String()
}

// waves numbers the leaves from 1. A leaf waits for the blockers of all that contain
// it, and for all leaves of a blocker that is a group.
func (f forest) waves(nodes []Node) map[string]int {
	wave := map[string]int{}
	var leaves []string
	for _, n := range nodes {
		if len(f.children[n.ID]) == 0 {
			leaves = append(leaves, n.ID)
		}
	}
	for n := 1; len(leaves) > 0; n++ {
		var next, rest []string
		for _, id := range leaves {
			if f.free(id, wave) {
				next = append(next, id)
			} else {
				rest = append(rest, id)
			}
		}
		if len(next) == 0 {
			next, rest = rest, nil
		}
		for _, id := range next {
			wave[id] = n
		}
		leaves = rest
	}
	return wave
}

func (f forest) free(id string, wave map[string]int) bool {
	for n, drawn := f.nodes[id]; drawn; n, drawn = f.nodes[n.Parent] {
		for _, blocker := range n.After {
			if _, drawn := f.nodes[blocker]; drawn && !f.over(blocker, wave) {
				return false
			}
		}
	}
	return true
}

func (f forest) over(id string, wave map[string]int) bool {
	children := f.children[id]
	if len(children) == 0 {
		return wave[id] > 0
	}
	return !slices.ContainsFunc(children, func(c string) bool { return !f.over(c, wave) })
}
