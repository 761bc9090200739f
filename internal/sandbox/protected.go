package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"ralph/internal/provenance"
)

// Fingerprint is what a set of paths looked like: names, types, modes and contents, not
// times. It shows afterwards what was tampered with; a path that is missing must not appear.
type Fingerprint struct {
	guard
	sums map[string]string // by path
}

func fingerprint(g guard) (*Fingerprint, error) {
	f := &Fingerprint{guard: g}
	var err error
	if f.sums, err = f.take(); err != nil {
		return nil, fmt.Errorf("fingerprint %s: %w", g.path, err)
	}
	return f, nil
}

// Changed lists what differs now, sorted by path.
func (f *Fingerprint) Changed() ([]Change, error) {
	if _, err := os.Lstat(f.path); f.mayGo && errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	now, err := f.take()
	if err != nil {
		return nil, fmt.Errorf("fingerprint %s: %w", f.path, err)
	}
	var out []Change
	for name, sum := range f.sums {
		switch got, ok := now[name]; {
		case !ok:
			out = append(out, Change{name, Removed})
		case got != sum:
			out = append(out, Change{name, Content})
		}
	}
	for name := range now {
		if _, ok := f.sums[name]; !ok {
			out = append(out, Change{name, Added})
		}
	}
	slices.SortFunc(out, func(a, b Change) int { return strings.Compare(a.Path, b.Path) })
	return out, nil
}

func (f *Fingerprint) take() (map[string]string, error) {
	sums := map[string]string{}
	for _, name := range f.names {
		err := filepath.WalkDir(filepath.Join(f.path, name), func(at string, d fs.DirEntry, err error) error {
			if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
				return nil
			}
			if err != nil {
				return err
			}
			name, err := filepath.Rel(f.path, at)
			if err != nil {
				return err
			}
			if skipped(filepath.ToSlash(name), f.skip) {
				if d.IsDir() {
					return fs.SkipDir
				}
				return nil
			}
			if f.only != nil && !slices.ContainsFunc(f.only, func(pattern string) bool { ok, _ := path.Match(pattern, filepath.ToSlash(name)); return ok }) {
				return nil
			}
			switch sum, err := provenance.SumOf(at); {
			case err == nil:
				sums[at] = sum
			case !errors.Is(err, fs.ErrNotExist):
				return err
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return sums, nil
}

// Change is one difference between then and now.
type Change struct {
	Path string
	Kind Kind
}

// Kind is what changed.
type Kind string

// The kinds of changes.
const (
	Added   Kind = "added"
	Removed Kind = "removed"
	Content Kind = "content" // or type, or mode
)

// skipped reports whether a path is one of those left out, or in one. A pattern
// is a path below the folder, or a glob as path.Match has it.
func skipped(name string, patterns []string) bool {
	for ; name != "." && name != "/"; name = path.Dir(name) {
		for _, pattern := range patterns {
			if ok, _ := path.Match(pattern, name); ok {
				return true
			}
		}
	}
	return false
}
