package knowledge

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"ralph/internal/lazyregexp"
	"ralph/internal/plain"
	"ralph/internal/seq"
	"ralph/internal/words"
)

// Query is what entries are matched against.
type Query struct {
	Title, Description string // of the task
	Feature            string // its name
	Tags               []string
	Paths              []string // recently changed

	Uses map[string]Use // of entries, by their sums; what is not in it was never used
	Now  time.Time
}

// Match is an entry that has to do with a task.
type Match struct {
	Entry
	Score int

	late int // 1 if it comes after all others, because nobody used it for long
}

// The points of a tag.
const (
	pointsText    = 2 // it stands in the task's title or description
	pointsFeature = 2 // it is the feature's name
	pointsTag     = 2 // it is a tag of the task, too
	pointsPath    = 1 // it stands in a path that changed
)

const (
	maxQueryText  = 64 << 10 // bytes of a title or description that are looked at
	maxQueryPaths = 1000
)

// Match returns the entries, as Load returned them, that have at least one point,
// best first, ties by title. Those that nobody used for long come last, and those that have faded are left out.
// Every tag of an entry gives its points, in all four ways; what links add is
// said at bonus.
func (q Query) Match(entries []Entry) []Match {
	points := q.points()
	scores := make([]int, len(entries))
	for i := range entries {
		for _, tag := range entries[i].tags {
			scores[i] += points(tag)
		}
	}
	gain := bonus(entries, func(i int) bool { return scores[i] > 0 })
	var found []Match
	for i := range entries {
		if scores[i] += gain[i]; scores[i] == 0 {
			continue
		}
		m, use := Match{Entry: entries[i], Score: scores[i]}, Use{}
		if len(q.Uses) > 0 {
			use = q.Uses[m.Sum()]
		}
		if m.unused(use, q.Now) {
			m.late = 1
		}
		if !use.Faded(q.Now) {
			found = append(found, m)
		}
	}
	slices.SortFunc(found, func(a, b Match) int {
		return cmp.Or(cmp.Compare(a.late, b.late), cmp.Compare(b.Score, a.Score), byTitle(&a.Entry, &b.Entry))
	})
	return found
}

// task is what the task says.
func (q Query) task() words.Text {
	return words.TextOf(words.Names(plain.Head(q.Title, maxQueryText)), words.Names(plain.Head(q.Description, maxQueryText)))
}

// points returns what a tag is worth. Tags repeat, so each is looked at once.
func (q Query) points() func(tag string) int {
	task := q.task()
	paths := words.TextOf(seq.Map(q.Paths[:min(len(q.Paths), maxQueryPaths)], func(path string) []string { return pathWords(plain.Head(path, maxQueryText)) })...)
	feature, tags := key(q.Feature), seq.Map(q.Tags, key)
	known := map[string]int{}
	return func(tag string) int {
		sum, ok := known[tag]
		if ok || tag == "" {
			return sum
		}
		if task.Holds(tag) {
			sum += pointsText
		}
		if tag == feature {
			sum += pointsFeature
		}
		if slices.Contains(tags, tag) {
			sum += pointsTag
		}
		if paths.Holds(tag) {
			sum += pointsPath
		}
		known[tag] = sum
		return sum
	}
}

var link = lazyregexp.New(`\[\[([^|]*?)(?:\|.*?)?\]\]`)

// links returns the keys of the titles that a body links to as [[Title]] or
// [[Title|words]], each once. Code is no place for links: [[ is a command there.
func links(body string) []string {
	var keys []string
	var code plain.Fence
	for line := range strings.Lines(body) {
		if code.Next(strings.TrimSpace(line)) || code.Open() {
			continue
		}
		for i, part := range strings.Split(line, "`") {
			if i%2 == 1 {
				continue // a code span
			}
			for _, m := range link.Get().FindAllStringSubmatch(part, -1) {
				if k := titleKey(oneLine(m[1], maxTitle)); k != "" && !slices.Contains(keys, k) {
					keys = append(keys, k)
				}
			}
		}
	}
	return keys
}

// neighbours lists, for each entry, the places of those that it links to or that link to
// it, each once: a link has no direction. One title may be that of several entries.
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

// bonus returns what each entry gains by links: 2 if it is one link away from another
// entry that its own tags match, 1 if it is two links away, 0 otherwise. It is given once,
// however many such entries there are.
func bonus(entries []Entry, matched func(int) bool) []int {
	near := neighbours(entries)
	direct := make([]int, len(entries)) // neighbours that match by tags
	for i, list := range near {
		for _, j := range list {
			if matched(j) {
				direct[i]++
			}
		}
	}
	gain := make([]int, len(entries))
	for i, list := range near {
		own := 0 // an entry is no neighbour of its own
		if matched(i) {
			own = 1
		}
		switch {
		case direct[i] > 0:
			gain[i] = 2
		case slices.ContainsFunc(list, func(j int) bool { return direct[j] > own }):
			gain[i] = 1
		}
	}
	return gain
}
