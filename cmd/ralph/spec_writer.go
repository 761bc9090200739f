package main

import (
	"path/filepath"

	"ralph/features"
)

// specWriter says which attempt may have left the specification of a feature as it is, without a person's consent. Where the project lets
// agents write specifications, it has consented.
func specWriter(a *app, s *session, feature string) string {
	file := filepath.Join(s.project.Feature(feature), features.Spec.File())
	for _, path := range s.config.Sandbox.Write {
		if !filepath.IsAbs(path) {
			path = filepath.Join(s.project.Root, path)
		}
		if rel, err := filepath.Rel(path, file); err == nil && filepath.IsLocal(rel) {
			return ""
		}
	}
	rel, err := filepath.Rel(s.project.Root, file)
	if err != nil {
		return ""
	}
	return historyOf(a, s.project).SpecWriter(filepath.ToSlash(rel))
}
