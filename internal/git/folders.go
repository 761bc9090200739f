package git

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Places are where git keeps what belongs to a working tree.
type Places struct {
	// Folders have objects, refs, hooks and a configuration each: the repository's
	// own, wherever it is, a worktree's, and those of submodules.
	Folders []string
	// Pointers are the files and links that say where such a folder is.
	Pointers []string
	// Worktrees are the folders of the repository's worktrees, each of which says
	// where the repository is.
	Worktrees []string
}

// Find looks for the places of the tree that dir lies in. It reads what is on the
// disk and does not ask git, which would run what is configured there.
func Find(dir string) Places {
	top := repository(dir)
	if top == "" {
		return Places{}
	}
	var p Places
	at := filepath.Join(top, ".git")
	if info, err := os.Lstat(at); err == nil && !info.IsDir() {
		p.Pointers = append(p.Pointers, at)
	}
	if info, err := os.Stat(at); err == nil && !info.IsDir() {
		at = follow(at, "gitdir: ")
	}
	if at == "" {
		return p
	}
	p.Folders = append(p.Folders, at)
	common := filepath.Join(at, "commondir")
	if main := follow(common, ""); main != "" {
		p.Pointers = append(p.Pointers, common)
		if back := filepath.Join(at, "gitdir"); exists(back) {
			p.Pointers = append(p.Pointers, back)
		}
		p.Folders = append(p.Folders, main)
		at = main
	}
	p.Folders = append(p.Folders, modules(filepath.Join(at, "modules"))...)
	slices.Sort(p.Folders)
	p.Folders = slices.Compact(p.Folders)
	entries, _ := os.ReadDir(filepath.Join(at, "worktrees")) // most have none
	for _, entry := range entries {
		p.Worktrees = append(p.Worktrees, filepath.Join(at, "worktrees", entry.Name()))
	}
	return p
}

// follow reads the path in a pointer, or returns "".
func follow(file, prefix string) string {
	raw, err := os.ReadFile(file)
	if err != nil {
		return ""
	}
	line, _, _ := strings.Cut(string(raw), "\n")
	target, ok := strings.CutPrefix(strings.TrimSuffix(line, "\r"), prefix)
	if !ok || target == "" {
		return ""
	}
	if !filepath.IsAbs(target) {
		target = filepath.Join(filepath.Dir(file), target)
	}
	if info, err := os.Stat(target); err != nil || !info.IsDir() {
		return ""
	}
	return filepath.Clean(target)
}

// modules finds the folders of submodules, which may lie in one another.
func modules(dir string) []string {
	var found []string
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return nil //nolint:nilerr // what cannot be looked into has nothing for git either
		}
		if exists(filepath.Join(path, "HEAD")) && exists(filepath.Join(path, "config")) {
			found = append(found, path)
			found = append(found, modules(filepath.Join(path, "modules"))...)
			return fs.SkipDir
		}
		return nil
	})
	return found
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
