package coverage

import "sync"

// Silence knows which gates told nothing of a language when they were measured: they run none of it, or their tools cannot be asked. To
// measure them again would cost a run for nothing. The zero value is ready.
type Silence struct {
	mu sync.Mutex
	of map[silent]bool
}

type silent struct {
	gate     string
	language language
}

// Note remembers of which languages a gate told nothing, though its changed files are in them.
func (s *Silence) Note(gate string, c *Collector) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, file := range c.files {
		if l := languageOf(file); !c.heard[l] && (l != golang || len(c.names) > 0) { // in no module, Go was not asked
			if s.of == nil {
				s.of = map[silent]bool{}
			}
			s.of[silent{gate, l}] = true
		}
	}
}

// Covers reports whether a gate tells nothing of any of these files.
func (s *Silence) Covers(gate string, files []string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, file := range files {
		if !s.of[silent{gate, languageOf(file)}] {
			return false
		}
	}
	return true
}
