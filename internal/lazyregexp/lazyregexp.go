// Package lazyregexp compiles regular expressions when they are first needed: most
// commands need none, and start faster for it.
package lazyregexp

import (
	"regexp"
	"sync"
)

// Regexp is a pattern that Get compiles once.
type Regexp struct {
	pattern  string
	once     sync.Once
	compiled *regexp.Regexp
}

// New is so short that the compiler writes into the program what it returns to a variable of a package. So hundreds of them cost
// nothing when the program starts, and a package that has nothing else to do then is not even read from the disk.
func New(pattern string) *Regexp { return &Regexp{pattern: pattern} }

// Get compiles the pattern on its first call.
func (r *Regexp) Get() *regexp.Regexp {
	r.once.Do(r.compile)
	return r.compiled
}

func (r *Regexp) compile() { r.compiled = regexp.MustCompile(r.pattern) }
