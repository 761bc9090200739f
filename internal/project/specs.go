package project

import (
	"maps"
	"path/filepath"
	"slices"
)

// SpecWriter says which attempt may have left the specification of a feature as it is now, in words: one that could write it was at
// work when it changed, and no person has confirmed it since. It is empty if none was.
func (h *ConfigHistory) SpecWriter(feature string) string {
	name, err := filepath.Rel(h.project.Root, filepath.Join(h.project.Feature(feature), "spec.md"))
	if err != nil {
		return ""
	}
	file := filepath.ToSlash(name)
	if w := h.stored().specWriter(file, h.sums(specPattern)[file]); w != nil {
		return w.String()
	}
	return ""
}

// specFiles are all specifications that there are, and those that attempts found or changed.
func (r configRecord) specFiles(now map[string]string) map[string]string {
	all := maps.Clone(now)
	for _, w := range slices.Concat(r.Written, r.Open) {
		maps.Copy(all, w.Specs)
	}
	return all
}

// specWriter finds who left a specification with that sum, which is empty if there is none.
func (r configRecord) specWriter(file, sum string) *configWriter {
	if confirmed, is := r.Specs[file]; is && confirmed == sum {
		return nil
	}
	for _, w := range r.Written {
		if left, is := w.Specs[file]; is && left == sum {
			return &w
		}
	}
	for _, w := range r.Open { // at work, or killed: it was something else when it began
		if w.Specs != nil && w.Specs[file] != sum {
			return &w
		}
	}
	return nil
}
