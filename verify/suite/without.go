package suite

import (
	"path"

	"ralph/internal/git"
)

// Tested says what of the work is to be tested on what was there before it.
type Tested struct {
	Mine    func(file string) bool // the tests that are; others that were written since are not there
	Scripts bool                   // gates are no part of the work: scripts that they name stay
}

// Without says how a tree is made what it was before the work, but for what checks it: so one sees what the new tests say
// of the old code. The suite is that of the work, before reads what was there earlier. What is partly work, such as the
// versions of libraries, stays as it is: a test that only lacks a library shows nothing.
func (s *Suite) Without(changes []git.Change, before Read, of Tested) (edits []Edit, err error) {
	for _, c := range changes {
		if s.stays(c.Path, of) || c.Old != "" && s.stays(c.Old, of) {
			continue
		}
		if path.Ext(c.Path) == ".rs" && c.Kind == git.Modified {
			edit, err := s.oldCode(c.Path, before)
			if err != nil {
				return nil, err
			}
			edits = append(edits, edit)
			continue
		}
		edits = append(edits, Edit{Path: c.Path, From: c.Path}) // where nothing was, nothing is
		if c.Old != "" {
			edits = append(edits, Edit{Path: c.Old, From: c.Old})
		}
	}
	return edits, nil
}

// stays says that a file checks the work, or is partly what does.
func (s *Suite) stays(file string, of Tested) bool {
	if mixed(path.Base(file), s.runs.words) != nil {
		return true
	}
	switch kind := s.Kind(file); kind {
	case "":
		return false
	case Test:
		return of.Mine(file)
	case Script: // what a test runs is most often what it tests
		if IsTest(file) {
			return of.Mine(file)
		}
		return of.Scripts && s.runs.own[file]
	default:
		return true
	}
}

// oldCode is a source file from before the work, with the tests that the work has in it.
func (s *Suite) oldCode(file string, before Read) (Edit, error) {
	was, err := before(file)
	if err != nil {
		return Edit{Path: file, From: file}, nil //nolint:nilerr // too large for tests
	}
	is, err := s.base.Read(file)
	if err != nil {
		return Edit{Path: file, From: file}, nil //nolint:nilerr // too large for tests
	}
	text, err := mergeRust(is, was)
	return Edit{Path: file, Content: text}, err
}
