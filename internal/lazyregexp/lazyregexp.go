// Package lazyregexp compiles regular expressions when they are first needed: most
// commands need none, and start faster for it.
package lazyregexp

import (
	"regexp"
	"sync"
)

// New returns a function that compiles the pattern on its first call. There are hundreds of them, and each is made whenever the program
// starts, as every helper does: sync.OnceValue would take three times as much.
func New(pattern string) func() *regexp.Regexp { return (&lazy{pattern: pattern}).get }

type lazy struct {
	pattern  string
	once     sync.Once
	compiled *regexp.Regexp
}

func (l *lazy) get() *regexp.Regexp {
	l.once.Do(l.compile)
	return l.compiled
}

func (l *lazy) compile() { l.compiled = regexp.MustCompile(l.pattern) }
