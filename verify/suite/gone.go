package suite

import (
	"path"
	"slices"
	"strings"

	"ralph/internal/git"
	"ralph/internal/lazyregexp"
)

// marks are what a name has that is one of tests and not of what they test.
var marks = lazyregexp.New(`^(?i:tests?[_-])|(?i:[_.-](?:tests?|specs?))$|(?:Tests?|TestCase|Specs?)$`)

// subject is the name of what a file tests, or of a file that is tested.
func subject(file string) string {
	base := path.Base(file)
	return marks.Get().ReplaceAllString(strings.TrimSuffix(base, path.Ext(base)), "")
}

// Orphaned reports whether a change deletes tests of a file that the work deletes, too, and whose lines it has nowhere else.
func (s *Suite) Orphaned(c git.Change, changes []git.Change, after Read) bool {
	name := subject(c.Path)
	if name == "" || c.Kind != git.Deleted || s.Kind(c.Path) != Test {
		return false
	}
	return slices.ContainsFunc(changes, func(o git.Change) bool {
		if o.Kind != git.Deleted || s.Kind(o.Path) != "" {
			return false
		}
		tested := subject(o.Path) == name && path.Ext(o.Path) == path.Ext(c.Path)
		return tested && s.deleted(o.Path, changes, after)
	})
}

// deleted reports whether most lines of a file are nowhere in what the work added or changed. What cannot be read may be there.
func (s *Suite) deleted(file string, changes []git.Change, after Read) bool {
	text, err := s.base.Read(file)
	if err != nil {
		return false
	}
	lines := Lines(changes, after, func(file string) bool { return s.Kind(file) == "" })
	all, kept := 0, 0
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); len(line) > len("return x") {
			if all++; lines[line] {
				kept++
			}
		}
	}
	return all > 0 && 2*kept < all
}

// Lines are those of changed files, as they are after the work. What cannot be read has none.
func Lines(changes []git.Change, after Read, of func(file string) bool) map[string]bool {
	lines := map[string]bool{}
	for _, c := range changes {
		if c.Kind != git.Deleted && of(c.Path) {
			text, _ := after(c.Path)
			for line := range strings.Lines(string(text)) {
				lines[strings.TrimSpace(line)] = true
			}
		}
	}
	return lines
}
