package git

import (
	"context"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"ralph/internal/copyfile"
)

const (
	maxRepositories = 100
	maxFolders      = 50_000
)

// Search finds the repositories inside dir, submodules and worktrees among them, nearest
// first, and names their folders with slashes. It skips what git ignores, where builds
// leave repositories and remove them, and the folders in skip. It stops after 100
// repositories or 50,000 folders. It reads every folder, which costs more than git status.
func Search(ctx context.Context, dir string, skip ...string) []string {
	type folder struct {
		name    string          // below dir
		ignored map[string]bool // by the repository that it is in
	}
	var found []string
	queue := []folder{{"", ignoredFolders(ctx, dir, "")}}
	for seen := 0; seen < len(queue) && seen < maxFolders; seen++ {
		at := queue[seen]
		full := filepath.Join(dir, filepath.FromSlash(at.name))
		entries, err := os.ReadDir(full)
		if err != nil {
			continue // git cannot look into it, either
		}
		has := func(entry os.DirEntry) bool { return entry.Name() == ".git" }
		if at.name != "" && slices.ContainsFunc(entries, has) && isRepository(full) {
			if found = append(found, at.name); len(found) == maxRepositories {
				return found
			}
			at.ignored = ignoredFolders(ctx, dir, at.name)
		}
		for _, entry := range entries {
			name := path.Join(at.name, entry.Name())
			if entry.IsDir() && !has(entry) && !at.ignored[name] && !slices.Contains(skip, name) {
				queue = append(queue, folder{name, at.ignored})
			}
		}
	}
	return found
}

// ignoredFolders are those that the repository at name below dir ignores as a whole,
// as they are called from dir. Where git cannot be asked there are none.
func ignoredFolders(ctx context.Context, dir, name string) map[string]bool {
	at := filepath.Join(dir, filepath.FromSlash(name))
	out, _ := run(ctx, at, nil, "ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--directory")
	folders := map[string]bool{}
	for _, entry := range Split(out) {
		if folder, is := strings.CutSuffix(entry, "/"); is {
			folders[path.Join(name, folder)] = true
		}
	}
	return folders
}

// Places are where git keeps what belongs to a working tree.
type Places struct {
	Folders   []string // with hooks and a configuration: the repository's own, a worktree's, those of submodules
	Pointers  []string // files and links that say where such a folder is
	Worktrees []string // folders of the repository's worktrees, each of which says where the repository is
}

// Find looks for the places of the tree that dir lies in. It reads what is on the
// disk and does not ask git, which would run what is configured there.
func Find(dir string) Places {
	top := Top(dir)
	if top == "" {
		return Places{}
	}
	var p Places
	at := filepath.Join(top, ".git")
	if info, err := os.Lstat(at); err == nil && !info.IsDir() {
		p.Pointers = append(p.Pointers, at)
	}
	own, common := dirs(top)
	if !isDir(own) {
		return p
	}
	p.Folders, at = append(p.Folders, own), own
	if common != own && isDir(common) {
		p.Folders, at = append(p.Folders, common), common
		p.Pointers = append(p.Pointers, filepath.Join(own, "commondir"))
		if back := filepath.Join(own, "gitdir"); exists(back) {
			p.Pointers = append(p.Pointers, back)
		}
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

// Objects lists the folders that git reads objects from: those of the repository, and those
// that it borrows from, as a clone with --shared does, and so on.
func (p Places) Objects() []string {
	var found []string
	for _, dir := range p.Folders {
		found = append(found, filepath.Join(dir, "objects"))
	}
	for i := 0; i < len(found); i++ {
		for line := range strings.Lines(pointer(filepath.Join(found[i], "info", "alternates"))) {
			name := strings.TrimRight(line, "\n")
			if at := join(found[i], name); name != "" && name[0] != '#' && isDir(at) && !slices.Contains(found, at) {
				found = append(found, at)
			}
		}
	}
	return found
}

// gitDirs follows what a .git may be: the folder itself, or a file that names it, as
// in a worktree, which has its objects elsewhere, and in a submodule.
func gitDirs(path string) (own, common string) {
	own = path
	if name, ok := strings.CutPrefix(pointer(path), "gitdir: "); ok {
		own = join(filepath.Dir(path), name)
	}
	if name := pointer(filepath.Join(own, "commondir")); name != "" {
		return own, join(own, name)
	}
	return own, own
}

// Index is the file in which git keeps what it carries of the working tree that dir lies in, or "".
func Index(dir string) string {
	top := Top(dir)
	if top == "" {
		return ""
	}
	own, _ := dirs(top)
	return filepath.Join(own, "index")
}

// pointer is what a file says, as git reads it, or "".
func pointer(file string) string {
	raw, _ := read(file)
	return strings.TrimRight(string(raw), "\r\n")
}

// read is what a file of a repository has. An agent may have put a pipe in its place, which would be waited for.
func read(file string) ([]byte, error) { return copyfile.Read(file, 1<<30) }

func join(base, name string) string {
	if filepath.IsAbs(name) {
		return filepath.Clean(name)
	}
	return filepath.Join(base, name)
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
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
