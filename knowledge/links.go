package knowledge

import (
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

// neighbours returns for each entry the others that it links to or that link to
// it, each once.
func neighbours(entries []Entry) [][]int {
	byKey := make(map[string][]int, len(entries))
	for i := range entries {
		byKey[entries[i].key] = append(byKey[entries[i].key], i)
	}
	near := make([][]int, len(entries))
	for i := range entries {
		for _, k := range entries[i].links {
			for _, j := range byKey[k] {
				if i != j {
					near[i], near[j] = append(near[i], j), append(near[j], i)
				}
			}
		}
	}
	for i := range near {
		slices.Sort(near[i])
		near[i] = slices.Compact(near[i])
	}
	return near
}

// bonus returns what each entry gains by links: 2 if it is one link, in whichever
// direction, away from another entry that its own tags match, 1 if it is two links
// away, 0 otherwise. It is given once, however many such entries there are.
func bonus(entries []Entry, matched func(int) bool) []int {
	near := neighbours(entries)
	direct := make([]int, len(entries)) // neighbours that match by tags
	for i := range near {
		for _, j := range near[i] {
			if matched(j) {
				direct[i]++
			}
		}
	}
	gain := make([]int, len(entries))
	for i := range near {
		if direct[i] > 0 {
			gain[i] = 2
			continue
		}
		own := 0 // an entry is no neighbour of its own
		if matched(i) {
			own = 1
		}
		for _, j := range near[i] {
			if direct[j] > own {
				gain[i] = 1
				break
			}
		}
	}
	return gain
}
