package knowledge

import (
	"cmp"
	"slices"
	"strings"

	"ralph/internal/plain"
)

// Query is what entries are matched against.
type Query struct {
	Title, Description string   // of the task
	Feature            string   // its name
	Paths              []string // recently changed
}

// Match is an entry that has to do with a task.
type Match struct {
	Entry
	Score int
	By    []string // the tags that matched; none if only links led here
}

// The points of a tag.
const (
	pointsText    = 2 // it stands in the task's title or description
	pointsFeature = 2 // it is the feature's name
	pointsPath    = 1 // it stands in a path that changed
)

const (
	maxQueryText  = 64 << 10 // bytes of a title or description that are looked at
	maxQueryPaths = 1000
)

// Match returns the entries, as Load returned them, that have at least one point,
// best first, ties by title.
// Every tag of an entry gives its points, in all three ways; what links add is
// said at bonus.
func (q Query) Match(entries []Entry) []Match {
	points := q.points()
	scores := make([]int, len(entries))
	linked := false
	for i := range entries {
		for _, tag := range entries[i].tags {
			scores[i] += points(tag)
		}
		linked = linked || len(entries[i].links) > 0
	}
	gain := make([]int, len(entries))
	if linked {
		gain = bonus(entries, func(i int) bool { return scores[i] > 0 })
	}
	var order []int
	for i := range entries {
		if scores[i] += gain[i]; scores[i] > 0 {
			order = append(order, i)
		}
	}
	slices.SortFunc(order, func(i, j int) int {
		return cmp.Or(cmp.Compare(scores[j], scores[i]), byTitle(&entries[i], &entries[j]))
	})
	found := make([]Match, len(order))
	for n, i := range order {
		found[n] = Match{Entry: entries[i], Score: scores[i]}
		for j, tag := range entries[i].tags {
			if points(tag) > 0 {
				found[n].By = append(found[n].By, entries[i].Tags[j])
			}
		}
	}
	return found
}

// points returns what a tag is worth. Tags repeat, so each is looked at once.
func (q Query) points() func(tag string) int {
	task := newText(words(plain.Head(q.Title, maxQueryText)), words(plain.Head(q.Description, maxQueryText)))
	var named [][]string
	for _, path := range q.Paths[:min(len(q.Paths), maxQueryPaths)] {
		named = append(named, pathWords(plain.Head(path, maxQueryText)))
	}
	paths := newText(named...)
	feature := key(q.Feature)
	known := map[string]int{}
	return func(tag string) int {
		sum, ok := known[tag]
		if ok || tag == "" {
			return sum
		}
		if task.holds(tag) {
			sum += pointsText
		}
		if tag == feature {
			sum += pointsFeature
		}
		if paths.holds(tag) {
			sum += pointsPath
		}
		known[tag] = sum
		return sum
	}
}

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
