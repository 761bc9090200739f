package sandbox

import (
	"fmt"
	"path"
	"path/filepath"
)

// Change is one difference between then and now.
type Change struct {
	Path string // with slashes, below the folder that was looked at
	Kind Kind
}

func (c Change) String() string { return fmt.Sprintf("%s: %s", c.Path, c.Kind) }

// Kind is what changed.
type Kind string

// The kinds of changes.
const (
	Added   Kind = "added"
	Removed Kind = "removed"
	Content Kind = "content" // or type, or mode
)

// skipped reports whether a path is one of those left out, or in one. A pattern
// is a path below the folder, or a glob as path.Match has it.
func skipped(name string, patterns []string) bool {
	name = filepath.ToSlash(name)
	for ; name != "." && name != "/"; name = path.Dir(name) {
		for _, pattern := range patterns {
			if ok, _ := path.Match(pattern, name); ok {
				return true
			}
		}
	}
	return false
}
