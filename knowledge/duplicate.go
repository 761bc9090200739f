package knowledge

import (
	"slices"
	"strings"
)

// duplicate finds the entry that says what e says: by its title, else the first
// by title that is similar.
func duplicate(entries []Entry, e Entry) (Entry, bool) {
	for _, old := range entries {
		if old.key == e.key {
			return old, true
		}
	}
	for _, old := range entries {
		if similar(old, e) {
			return old, true
		}
	}
	return Entry{}, false
}

// similar says whether two entries share more than half of the tags of the one
// that has more, and the words of one title stand within the other's.
func similar(a, b Entry) bool {
	shared := 0
	for _, tag := range a.tags {
		if slices.Contains(b.tags, tag) {
			shared++
		}
	}
	return 2*shared > max(len(a.tags), len(b.tags)) && within(key(a.Title), key(b.Title))
}

// within says whether one key holds the other, word by word.
func within(a, b string) bool {
	return strings.Contains(" "+a+" ", " "+b+" ") || strings.Contains(" "+b+" ", " "+a+" ")
}
