// Package project owns where a project is and how it is configured: its root,
// the paths below .ralph, and .ralph.toml. It never reads the graph.
package project

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// ConfigName is the file that makes a folder a project.
const ConfigName = ".ralph.toml"

// ErrNone means that there is no project here or above.
var ErrNone = errors.New("not a ralph project")

// Project is a folder with a .ralph.toml.
type Project struct {
	Root string
}

// Find returns the project that dir lies in: the nearest folder at or above it
// that has a .ralph.toml. One that is no file is an error, because whoever put it
// there does not mean the project above. In a slot it is the project that the slot is a copy of.
func Find(dir string) (Project, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return Project{}, err
	}
	for at := dir; ; at = filepath.Dir(at) {
		switch err := isProject(at); {
		case err == nil:
			return Project{Root: original(at)}, nil
		case !errors.Is(err, ErrNone):
			return Project{}, err
		case copiedFrom(at) != "": // git does not know its configuration
			return Project{Root: copiedFrom(at)}, nil
		case at == filepath.Dir(at):
			return Project{}, fmt.Errorf("%w or above", isProject(dir))
		}
	}
}

// At returns the project whose root is exactly dir.
func At(dir string) (Project, error) {
	dir, err := filepath.Abs(dir)
	if err == nil {
		err = isProject(dir)
	}
	if err != nil {
		return Project{}, err
	}
	return Project{Root: original(dir)}, nil
}

// original is the project of which root is the copy in a slot, or root itself: a copy has no
// database of its own.
func original(root string) string {
	for top := root; ; top = filepath.Dir(top) {
		if from := copiedFrom(top); from != "" {
			sub, err := filepath.Rel(top, root)
			if err == nil && (sub == "." || strings.HasSuffix(from, string(filepath.Separator)+sub)) {
				return from
			}
			return root // a project that somebody made in the slot
		}
		if top == filepath.Dir(top) || exists(filepath.Join(top, ".git")) {
			return root
		}
	}
}

// copiedFrom is the project that a slot was made for, which a file beside slots names, or nothing.
func copiedFrom(top string) string {
	text, err := os.ReadFile(filepath.Join(filepath.Dir(top), "ralph-project"))
	from := strings.TrimSpace(string(text))
	if err != nil || isProject(from) != nil {
		return ""
	}
	return from
}

// isProject is nil for a project, ErrNone for a folder that is none, and ErrConfig for one
// whose configuration is no file.
func isProject(dir string) error {
	path := filepath.Join(dir, ConfigName)
	if !exists(path) {
		return fmt.Errorf("%w: no %s in %s", ErrNone, ConfigName, dir)
	}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%w: %s is a broken link", ErrConfig, path)
	case err != nil:
		return fmt.Errorf("%w: %w", ErrConfig, err)
	case info.IsDir():
		return fmt.Errorf("%w: %s is a folder, not a file", ErrConfig, path)
	case !info.Mode().IsRegular():
		return fmt.Errorf("%w: %s is not a regular file", ErrConfig, path)
	}
	return nil
}

// exists is false in a folder that cannot be entered: nothing is known of it.
func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// Config is the path of the configuration.
func (p Project) Config() string { return filepath.Join(p.Root, ConfigName) }

// State is the folder of everything ralph keeps for the project.
func (p Project) State() string { return filepath.Join(p.Root, ".ralph") }

// DB is the path of the database.
func (p Project) DB() string { return filepath.Join(p.State(), "progress.db") }

// Permissions is the path of the answers that people want remembered.
func (p Project) Permissions() string { return filepath.Join(p.State(), "permissions.toml") }

// Runs is the folder in which each run has one for its files.
func (p Project) Runs() string { return filepath.Join(p.State(), "runs") }

// Objects is where an older ralph stored the trees that work was compared with.
func (p Project) Objects() string { return filepath.Join(p.State(), "objects") }

// Staging is the folder of planning that has not ended.
func (p Project) Staging() string { return filepath.Join(p.State(), "staging") }

// Features is the folder in which each feature has one.
func (p Project) Features() string { return filepath.Join(p.State(), "features") }

// Names turns those of the paths, without links in their folders, that lie in the project and are regular
// files, or do not exist yet, into names below its root, with slashes.
func (p Project) Names(paths []string) []string {
	var names []string
	for _, path := range paths {
		rel, err := filepath.Rel(p.Root, path)
		if err != nil || !filepath.IsLocal(rel) {
			continue
		}
		if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
			continue
		}
		names = append(names, filepath.ToSlash(rel))
	}
	return names
}

// Instructions names the files in the root that are written for agents.
func (p Project) Instructions() []string {
	var list []string
	for _, name := range []string{"AGENTS.md", "CLAUDE.md"} {
		if info, err := os.Stat(filepath.Join(p.Root, name)); err == nil && info.Mode().IsRegular() {
			list = append(list, name)
		}
	}
	return list
}
