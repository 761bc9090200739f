// Package lazyregexp compiles regular expressions when they are first needed: most
// commands need none, and start faster for it.
package lazyregexp

import (
	"regexp"
	"sync"
)

// New returns a function that compiles the pattern on its first call.
func New(pattern string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(pattern) })
}
