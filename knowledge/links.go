package knowledge

import (
	"cmp"
	"slices"
	"strings"
)

// links returns the keys of the titles that a body links to as [[Title]] or
// [[Title|words]], each once. Code is no place for links: [[ is a command there.
func links(body string) []string {
	var keys []string
	code := false
	for line := range strings.Lines(body) {
		if trimmed := strings.TrimSpace(line); strings.HasPrefix(trimmed, "```") || strings.HasPrefix(trimmed, "~~~") {
			code = !code
			continue
		}
		if code {
			continue
		}
		for _, title := range linksOf(line) {
			if k := titleKey(title); k != "" && !slices.Contains(keys, k) {
				keys = append(keys, k)
			}
		}
	}
	return keys
}

func linksOf(line string) (titles []string) {
	for i, part := range strings.Split(line, "`") {
		if i%2 == 1 {
			continue // a code span
		}
		for {
			_, rest, ok := strings.Cut(part, "[[")
			if !ok {
				break
			}
			title, after, ok := strings.Cut(rest, "]]")
			if !ok {
				break
			}
			title, _, _ = strings.Cut(title, "|")
			titles = append(titles, oneLine(title, maxTitle))
			part = after
		}
	}
	return titles
}

// link joins two entries by their places, the smaller first: it has no direction.
type link struct{ a, b int }

func joined(entries []Entry) []link {
	byKey := make(map[string]int, len(entries))
	same := make([]int, len(entries)) // the entry before of the same title, or -1
	for i := range entries {
		before, ok := byKey[entries[i].key]
		if !ok {
			before = -1
		}
		byKey[entries[i].key], same[i] = i, before
	}
	var all []link
	for i := range entries {
		for _, k := range entries[i].links {
			j, ok := byKey[k]
			for ; ok && j >= 0; j = same[j] {
				if i != j {
					all = append(all, link{min(i, j), max(i, j)})
				}
			}
		}
	}
	slices.SortFunc(all, func(x, y link) int { return cmp.Or(cmp.Compare(x.a, y.a), cmp.Compare(x.b, y.b)) })
	return slices.Compact(all)
}

// bonus returns what each entry gains by links: 2 if it is one link, in whichever
// direction, away from another entry that its own tags match, 1 if it is two links
// away, 0 otherwise. It is given once, however many such entries there are.
func bonus(entries []Entry, matched func(int) bool) []int {
	all := joined(entries)
	direct := make([]int, len(entries)) // neighbours that match by tags
	for _, l := range all {
		if matched(l.a) {
			direct[l.b]++
		}
		if matched(l.b) {
			direct[l.a]++
		}
	}
	gain := make([]int, len(entries))
	reach := func(from, by int) {
		own := 0 // an entry is no neighbour of its own
		if matched(from) {
			own = 1
		}
		if direct[by] > own {
			gain[from] = 1
		}
	}
	for _, l := range all {
		reach(l.a, l.b)
		reach(l.b, l.a)
	}
	for i := range gain {
		if direct[i] > 0 {
			gain[i] = 2
		}
	}
	return gain
}
