package git

import (
	"context"
	"path"
	"path/filepath"
	"strings"
)

// Trees are trees of a repository, or of one folder of it, with objects in a store next to it. Files are named as they are seen from
// Sub, the project's folder: those outside of it begin with "../".
type Trees struct {
	Dir, Objects string // as in Take
	Sub          string // with slashes; "" if all of a tree is the project
}

// Name is what a tree calls a file that is seen from the project.
func (t Trees) Name(seen string) string { return path.Join(t.Sub, seen) }

// Seen is what a file of a tree is called in the project.
func (t Trees) Seen(name string) string {
	if t.Sub == "" || name == "" {
		return name
	}
	rel, err := filepath.Rel(filepath.FromSlash(t.Sub), filepath.FromSlash(name))
	if err != nil { // neither is absolute
		return name
	}
	return filepath.ToSlash(rel)
}

// Outside reports whether a file is not in the project.
func Outside(seen string) bool { return strings.HasPrefix(seen, "../") }

// Compare is the function Compare.
func (t Trees) Compare(ctx context.Context, from, to string, patch int) (Difference, error) {
	d, err := Compare(ctx, t.Dir, t.Objects, from, to, patch)
	for i := range d.Changes {
		c := &d.Changes[i]
		c.Path, c.Old = t.Seen(c.Path), t.Seen(c.Old)
	}
	return d, err
}

// Contents is the function Contents.
func (t Trees) Contents(ctx context.Context, from, to string, limit int) (before, after func(seen string) ([]byte, error), end func()) {
	was, is, end := Contents(ctx, t.Dir, t.Objects, from, to, limit)
	named := func(read func(string) ([]byte, error)) func(string) ([]byte, error) {
		return func(seen string) ([]byte, error) { return read(t.Name(seen)) }
	}
	return named(was), named(is), end
}

// Files is the function Files.
func (t Trees) Files(ctx context.Context, tree string) ([]string, error) {
	names, err := Files(ctx, t.Dir, t.Objects, tree)
	for i := range names {
		names[i] = t.Seen(names[i])
	}
	return names, err
}

// Modes is the function Modes.
func (t Trees) Modes(ctx context.Context, tree string) (map[string]string, error) {
	modes, err := Modes(ctx, t.Dir, t.Objects, tree)
	seen := make(map[string]string, len(modes))
	for name, mode := range modes {
		seen[t.Seen(name)] = mode
	}
	return seen, err
}

// Whole reports whether a tree is one of the repository: an older ralph stored those of the project's folder alone.
func (t Trees) Whole(ctx context.Context, tree string) bool {
	if t.Sub == "" {
		return true
	}
	s, err := openStore(ctx, t.Dir, t.Objects, tree)
	if err != nil {
		return false
	}
	kind, err := s.git(ctx, nil, nil, "cat-file", "-t", tree+":"+t.Sub)
	return err == nil && strings.TrimSpace(kind) == "tree"
}
