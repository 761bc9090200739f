// Package suite knows which files of a project check its work, and what has to be put back so that
// the ones from before the work check it. It reads files through its caller and never runs anything.
package suite

import "ralph/internal/git"

// Kind is how a file checks the work. The zero Kind is a file that is part of the work.
type Kind string

// The kinds.
const (
	Test      Kind = "test"
	Fixture   Kind = "fixture"  // beside tests: snapshots, data, helpers
	Settings  Kind = "settings" // of a test runner
	Script    Kind = "script"   // run by a gate
	CI        Kind = "ci"
	Protected Kind = "protected" // under [verify] protect
)

// Read returns the text of a file as it was at one of two moments.
type Read func(path string) ([]byte, error)

// Suite is what checks the work of a project.
type Suite struct{}

// Of finds what checks the work, in the files from before it.
func Of(gates, protect []string, base Read) *Suite { return &Suite{} }

// Kind says how a file checks the work.
func (s *Suite) Kind(path string) Kind { return "" }

// Edit makes one file of a tree what it was before the work, or partly so.
type Edit struct {
	Path    string
	Restore bool   // as it was; its mode, too
	Content []byte // else this, if it is not nil; else the file is removed
}

// Plan is how the files that check the work are made as they were before it.
type Plan struct {
	Changed []git.Change // those that the work changed, removed, or added as settings or scripts
	Edits   []Edit       // to the tree of the work; includes the removal of new ones
}

// Plan says what to put back. Nothing is Changed if the old files need not be run.
func (s *Suite) Plan(changes []git.Change, before, after Read) (Plan, error) { return Plan{}, nil }
