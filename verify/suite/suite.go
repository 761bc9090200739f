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

// Read returns the text of a file in one of two trees. A path that is not in it is refused with fs.ErrNotExist.
type Read func(path string) ([]byte, error)

// Base is the project from before the work, and what checks it.
type Base struct {
	Gates, Protect []string
	Read           Read
	Files          func() ([]string, error) // all of it; asked for only where it matters
}

// Suite is what checks the work of a project.
type Suite struct {
	base Base
}

// Of finds what checks the work, in the files from before it. The error is for files that cannot be read.
func Of(base Base) (*Suite, error) { return &Suite{base}, nil }

// Kind says how a file checks the work. Of one that is partly work, such as package.json, it is Settings.
func (s *Suite) Kind(path string) Kind { return "" }

// Edit makes one file of a tree what it was before the work, or partly so.
type Edit struct {
	Path    string
	From    string // the base's file of that path is put there, with its mode: Path itself, or where it was before it moved
	Content []byte // else this, in the mode that it has, if it is not nil; else what is at Path is removed
}

// Plan is how the files that check the work are made as they were before it.
type Plan struct {
	Changed []git.Change // those that the work changed, removed, or added as settings or scripts
	Edits   []Edit       // to the tree of the work, removals first; includes the removal of new ones
}

// Plan says what to put back. Nothing is Changed if the old files need not be run.
func (s *Suite) Plan(changes []git.Change, after Read) (Plan, error) { return Plan{}, nil }

// Tells says that a gate can be expected to pass with the old files: what it runs was there before the
// work, and there were tests, unless it was green without any.
func (p Plan) Tells(gate string, green bool) bool { return true }
