package knowledge

import (
	"fmt"
	"slices"
	"strings"

	"ralph/internal/words"
)

// AmbiguousError says that a name fits more than one entry.
type AmbiguousError struct {
	Name   string
	Titles []string
}

func (e *AmbiguousError) Error() string {
	return fmt.Sprintf("%q may be any of: %s", e.Name, strings.Join(e.Titles, ", "))
}

// Find returns the entry with a title, else the one with a file name, else the only one
// whose title or file name begins so. Otherwise it is ErrNotFound or an *AmbiguousError.
func Find(entries []Entry, name string) (Entry, error) {
	wanted := titleKey(name)
	file := strings.TrimSuffix(wanted, ".md")
	named := func(e Entry) bool { return strings.TrimSuffix(e.File, ".md") == file }
	for _, exact := range []func(Entry) bool{func(e Entry) bool { return e.key == wanted }, named} {
		if i := slices.IndexFunc(entries, exact); i >= 0 {
			return entries[i], nil
		}
	}
	var begin []Entry
	for _, e := range entries {
		own := strings.TrimSuffix(e.File, ".md")
		if wanted != "" && (strings.HasPrefix(e.key, wanted) || strings.HasPrefix(own, file)) {
			begin = append(begin, e)
		}
	}
	switch len(begin) {
	case 0:
		return Entry{}, fmt.Errorf("%w: %q", ErrNotFound, name)
	case 1:
		return begin[0], nil
	}
	ambiguous := &AmbiguousError{Name: name}
	for _, e := range begin[:min(len(begin), 10)] {
		ambiguous.Titles = append(ambiguous.Titles, e.Title)
	}
	return Entry{}, ambiguous
}

// Search returns the entries in which every word of text occurs, in the title, the
// tags, the feature or the body; those that have them all in title and tags first.
func Search(entries []Entry, text string) []Entry {
	wanted := words.Names(text)
	var first, rest []Entry
	for _, e := range entries {
		names := [][]string{words.Names(e.Title), words.Names(e.Feature)}
		for _, tag := range e.tags {
			names = append(names, strings.Fields(tag))
		}
		switch {
		case holdsAll(words.TextOf(names...), wanted):
			first = append(first, e)
		case holdsAll(words.TextOf(append(names, words.Names(e.Body))...), wanted):
			rest = append(rest, e)
		}
	}
	return append(first, rest...)
}

func holdsAll(t words.Text, wanted []string) bool {
	return len(wanted) > 0 && !slices.ContainsFunc(wanted, func(word string) bool { return !t.Holds(word) })
}

// Remove deletes the file of an entry that Find finds, and returns the entry.
func (s *Store) Remove(name string) (Entry, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	root, err := s.open(false)
	if err != nil {
		return Entry{}, fmt.Errorf("%w: %q", ErrNotFound, name)
	}
	defer root.Close()
	entries, _ := s.load(root)
	e, err := Find(entries, name)
	if err != nil {
		return Entry{}, err
	}
	if err := root.Remove(e.File); err != nil {
		return Entry{}, fmt.Errorf("remove knowledge %q: %w", e.Title, err)
	}
	return e, nil
}
