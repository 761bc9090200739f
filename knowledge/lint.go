package knowledge

import (
	"fmt"
	"slices"
	"strings"

	"ralph/internal/seq"
)

// Problem is something about an entry that a person should mend.
type Problem struct {
	File   string // relative to the project's root
	Title  string // empty when the file holds no entry
	Rule   string // unreadable, broken-link, duplicate, oversize or untagged
	Detail string
}

// Lint returns what is wrong with the entries, by file.
func (s *Store) Lint() []Problem {
	entries, warnings := s.Load()
	problems := seq.Map(warnings, func(w Warning) Problem { return Problem{File: w.File, Rule: "unreadable", Detail: w.Why} })
	titles := seq.Set(entries, func(e Entry) string { return e.key })
	for _, e := range entries {
		add := func(rule, format string, args ...any) {
			problems = append(problems, Problem{path(e.File), e.Title, rule, fmt.Sprintf(format, args...)})
		}
		for _, link := range e.links {
			if !titles[link] {
				add("broken-link", "no entry is called %q", link)
			}
		}
		if e.Words > MaxWords {
			add("oversize", "%d words; only the first %d are used", e.Words, MaxWords)
		}
		if len(e.tags) == 0 {
			add("untagged", "no task will find it by its tags")
		}
	}
	problems = append(problems, duplicates(entries)...)
	slices.SortStableFunc(problems, func(a, b Problem) int { return strings.Compare(a.File, b.File) })
	return problems
}

// duplicates finds what Write would have merged. Titles are looked up by every
// run of words within a title, so that the work does not grow with the square of
// the number of entries.
func duplicates(entries []Entry) []Problem {
	byTitle, byWords := map[string][]int{}, map[string][]int{}
	for i, e := range entries {
		byTitle[e.key] = append(byTitle[e.key], i)
		byWords[key(e.Title)] = append(byWords[key(e.Title)], i)
	}
	var problems []Problem
	for i, e := range entries {
		for _, j := range twins(i, e, entries, byTitle, byWords) {
			problems = append(problems, Problem{
				path(e.File), e.Title, "duplicate",
				fmt.Sprintf("says what %s says: %q", path(entries[j].File), entries[j].Title),
			})
		}
	}
	return problems
}

const maxTwins = 3

func twins(i int, e Entry, entries []Entry, byTitle, byWords map[string][]int) (found []int) {
	add := func(j int, same bool) bool {
		if (same && j < i || !same && i != j && similar(e, entries[j])) && !slices.Contains(found, j) {
			found = append(found, j)
		}
		return len(found) < maxTwins
	}
	for _, j := range byTitle[e.key] {
		if !add(j, true) {
			return found
		}
	}
	list := strings.Fields(key(e.Title))
	for from := range list {
		for to := from + 1; to <= len(list); to++ {
			for _, j := range byWords[strings.Join(list[from:to], " ")] {
				if entries[j].key != e.key && !add(j, false) {
					return found
				}
			}
		}
	}
	return found
}
