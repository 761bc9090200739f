package suite

import (
	"path"
	"slices"

	"ralph/internal/git"
)

// Without returns the edits that make a tree what it was before the work, but for those of mine that check it: so one sees what the new tests
// say of the old code. The suite is that of the work, before reads what was there earlier. What others wrote meanwhile goes,
// tests as well: they would fail for want of their own code. Of mine, what is partly work stays, such as the versions of libraries: a
// test that only lacks a library shows nothing. Kept are the files that stay, wholly or in part.
func (s *Suite) Without(changes []git.Change, before Read, mine func(file string) bool) (edits []Edit, kept []string, err error) {
	for _, c := range changes {
		if slices.ContainsFunc(c.Paths(), func(file string) bool { return mine(file) && s.stays(file) }) {
			if c.Kind != git.Deleted {
				kept = append(kept, c.Path)
			}
			continue
		}
		if mine(c.Path) && path.Ext(c.Path) == ".rs" && c.Kind == git.Modified {
			edit, tests, err := s.oldCode(c.Path, before)
			if err != nil {
				return nil, nil, err
			}
			if edits = append(edits, edit); tests {
				kept = append(kept, c.Path)
			}
			continue
		}
		for _, file := range c.Paths() {
			edits = append(edits, Edit{Path: file, From: file}) // where nothing was, nothing is
		}
	}
	return edits, kept, nil
}

// stays reports whether a file checks the work, or is partly what does.
func (s *Suite) stays(file string) bool {
	if mixed(path.Base(file)) != nil {
		return true
	}
	switch kind := s.Kind(file); kind {
	case "":
		return false
	case Script: // what a test runs is most often what it tests
		return IsTest(file) || s.runs.own[file]
	default:
		return true
	}
}

// oldCode is a source file from before the work, with the tests that the work has in it.
func (s *Suite) oldCode(file string, before Read) (edit Edit, tests bool, err error) {
	edit = Edit{Path: file, From: file}
	was, err := before(file)
	if err != nil {
		return edit, false, nil //nolint:nilerr // too large for tests
	}
	is, err := s.base.Read(file)
	if err != nil || len(modules(string(is))) == 0 {
		return edit, false, nil //nolint:nilerr // too large for tests
	}
	text, err := mergeRust(is, was)
	return Edit{Path: file, Content: text}, true, err
}
