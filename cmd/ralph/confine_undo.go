package main

import (
	"context"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"ralph/internal/git"
	"ralph/internal/sandbox"
)

// undo makes the project what it was before a verifier came, the uncommitted work of
// others included, and lists what the verifier changed. It does nothing where
// nothing that a verifier does reaches the project.
//
// Not listed, though undone, is what comes with only looking: what tests leave
// behind and git ignores, what git and agents note for themselves in git's folder,
// and the times of folders in which something was made and removed.
func (x *confined) undo() ([]string, error) {
	if x.snap == nil {
		return nil, nil
	}
	changes, err := x.snap.Changed()
	if err != nil || len(changes) == 0 {
		return nil, err
	}
	folders := map[string]bool{}
	for _, c := range changes {
		info, err := os.Lstat(filepath.Join(x.root, filepath.FromSlash(c.Path)))
		folders[c.Path] = err == nil && info.IsDir()
	}
	if err := x.snap.Restore(); err != nil {
		return nil, err
	}
	// Only now, because what is ignored is for the project to say.
	name := func(c sandbox.Change) string {
		if folders[c.Path] {
			return c.Path + "/"
		}
		return c.Path
	}
	var names []string
	for _, c := range changes {
		names = append(names, name(c))
	}
	ignored := git.Ignored(context.Background(), x.root, names)
	var told []string
	for _, c := range changes {
		if ignored[name(c)] || noted(c.Path, folders[c.Path]) || folders[c.Path] && c.Kind == sandbox.Times {
			continue
		}
		told = append(told, c.String())
	}
	return told, nil
}

// noted says that a path is in git's folder, or in that of a repository inside, and
// none of those that say what the repository is.
func noted(name string, folder bool) bool {
	if path.Base(name) == ".git" {
		return folder // a file says where the folder is
	}
	_, inside, ok := strings.Cut("/"+name, "/.git/")
	if !ok {
		return false
	}
	first, rest, _ := strings.Cut(inside, "/")
	if first != "modules" && first != "worktrees" {
		return !slices.Contains(telling, first)
	}
	// The folders of submodules and worktrees are below, by names of any depth.
	for part := range strings.SplitSeq(rest, "/") {
		if part == "objects" || part == "logs" {
			return true
		}
		if slices.Contains(telling, part) {
			return false
		}
	}
	return true
}

// telling is what says in git's folder what a repository is, and what runs in it.
var telling = []string{"HEAD", "refs", "packed-refs", "config", "config.worktree", "hooks", "info", "commondir", "gitdir"}
