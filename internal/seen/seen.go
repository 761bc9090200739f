// Package seen names a folder from both sides of a sandbox.
package seen

import (
	"path/filepath"
	"strings"
)

// Folder is one that the processes which work in it find at another path, in the place of what is there. The zero Folder has the
// same path for all.
type Folder struct {
	Real string `json:"real,omitempty"` // where it is
	Seen string `json:"seen,omitempty"` // where its processes find it
	View string `json:"view,omitempty"` // where they find what it covers, to read
}

// Inside is the path by which the processes know a file of ours.
func (f Folder) Inside(path string) string { return move(path, f.Real, f.Seen) }

// Outside is the file of ours that the processes mean by a path.
func (f Folder) Outside(path string) string { return move(path, f.Seen, f.Real) }

// Behind is the path by which the processes know a file that is covered.
func (f Folder) Behind(path string) string { return move(path, f.Seen, f.View) }

// Covers reports whether the processes find something else at a path than there is.
func (f Folder) Covers(path string) bool { return f.Seen != "" && in(path, f.Seen) }

func move(path, from, to string) string {
	if from == "" || to == "" || !filepath.IsAbs(path) {
		return path
	}
	if clean := filepath.Clean(path); in(clean, from) {
		return filepath.Join(to, clean[len(from):])
	}
	return path
}

func in(path, dir string) bool {
	return path == dir || strings.HasPrefix(path, strings.TrimSuffix(dir, string(filepath.Separator))+string(filepath.Separator))
}
