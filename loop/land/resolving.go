package land

import (
	"maps"
	"slices"
	"sync"
)

// resolving has the files in which lanes of this run resolve conflicts with the target. Whoever resolves one lands
// before the next begins: otherwise each landing would be in conflict with the resolutions of all others.
type resolving struct {
	mu    sync.Mutex
	files map[string]string // the attempt that has each
}

// Resolved says that an attempt resolves nothing any more.
func (l *Lander) Resolved(attempt string) { l.resolving.take(attempt) }

// take gives an attempt files, instead of those that it had: all of them, or none. Nobody has any while it waits
// for others.
func (r *resolving) take(attempt string, files ...string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	maps.DeleteFunc(r.files, func(_, who string) bool { return who == attempt })
	if slices.ContainsFunc(files, func(name string) bool { return r.files[name] != "" }) {
		return false
	}
	if r.files == nil {
		r.files = map[string]string{}
	}
	for _, name := range files {
		r.files[name] = attempt
	}
	return true
}
