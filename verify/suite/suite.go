// Package suite knows which files of a project check its work, and what has to be put back so that
// the ones from before the work check it. It reads files through its caller and never runs anything.
package suite

import (
	"bytes"
	"path"
	"strings"

	"ralph/internal/glob"
)

// Kind is how a file checks the work. The zero Kind is a file that is part of the work.
type Kind string

// The kinds.
const (
	Test      Kind = "test"
	Fixture   Kind = "fixture"   // beside tests: snapshots, data, helpers
	Settings  Kind = "settings"  // of what runs tests or checks code
	Script    Kind = "script"    // run by a gate
	Protected Kind = "protected" // under [verify] protect, as the configuration of CI is by default
)

// Read returns the text of a file in one of two trees. A path that is not in it is refused with fs.ErrNotExist, what
// is no file with git.ErrTooLarge.
type Read func(path string) ([]byte, error)

// Base is the project from before the work, and what checks it.
type Base struct {
	Gates, Protect []string
	Task           string // what the work is to do, in its own words
	Read           Read
	Beside         func(dir string) ([]string, error) // the files of a folder
	May            func(file string) bool             // the task allows its work to change it; nil allows nothing
}

// Suite is what checks the work of a project.
type Suite struct {
	base Base
	runs *followed
}

// Of finds what checks the work, in the files from before it. The error is for files that cannot be read.
func Of(base Base) (*Suite, error) {
	runs, err := follow(base.Gates, base.Read)
	return &Suite{base, runs}, err
}

// Kind is how a file checks the work. Of one that is partly work, such as package.json, it is Settings.
func (s *Suite) Kind(file string) Kind {
	if glob.Match(s.base.Protect, file) {
		return Protected
	}
	kind := byName(file)
	if name := path.Base(file); recipes.has(name) || s.runs.scripts[file] && mixed(name) == nil {
		return Script
	}
	for dir := path.Dir(file); kind == "" && dir != "."; dir = path.Dir(dir) {
		if s.runs.scripts[dir] {
			return Script
		}
	}
	if kind == "" && asserting.Get().MatchString(file) {
		if text, err := s.base.Read(file); err == nil && bytes.Contains(text, []byte("\"testing\"\n")) {
			return Fixture
		}
	}
	return kind
}

// Tests reports whether a file holds tests: by its name, or because it is among tests and a gate runs it, or all that is called like it.
func (s *Suite) Tests(file string) bool {
	ext := path.Ext(file)
	switch {
	case IsTest(file):
		return true
	case !codeExts.has(ext), !inTests(strings.Split(path.Dir(file), "/"), ext), helper.Get().MatchString(strings.TrimSuffix(path.Base(file), ext)):
		return false
	}
	for word := range s.runs.words {
		if like, _ := path.Match(path.Clean(word), file); like {
			return true
		}
	}
	return s.runs.scripts[file]
}

// IsTest reports whether a file holds tests by its name.
func IsTest(file string) bool { return byName(file) == Test }
