package knowledge

import (
	"cmp"
	"slices"

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
