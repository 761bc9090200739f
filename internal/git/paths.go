package git

// Paths are the files that a change touches: one that was renamed has two names.
func (c Change) Paths() []string {
	if c.Old == "" {
		return []string{c.Path}
	}
	return []string{c.Path, c.Old}
}
