package sandbox

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"

	"ralph/internal/git"
	"ralph/internal/project"
	"ralph/internal/seq"
)

// Protection is everything of a project that no agent may write, because ralph or git
// use it. It is the one list for what the sandbox makes read-only, what is never written
// on behalf of an agent, and what is compared after an attempt.
type Protection struct {
	guards []guard
}

// guard is a folder with protected names in it, or one file or folder as a whole.
type guard struct {
	path  string
	names []string // in path; "." is the path itself
	skip  []string // patterns below path that others write meanwhile
	only  []string // patterns of the files below path that count; nil counts all
	mayGo bool     // removing all of path is allowed
	ours  bool     // part of the project: in a copy of it, git's checkouts write it
	firm  bool     // the sandbox can prevent every change: it exists and cannot be moved away with its folder
}

// Protect finds what to protect, before the first agent can change where it is found.
// more lists further files.
func Protect(ctx context.Context, p project.Project, more ...string) *Protection {
	x := &Protection{}
	// Ralph itself writes some of its state while an agent works, and people edit the documents.
	x.add(guard{path: p.State(), skip: []string{"runs", "slots", "trees-*", "repository", "repository-*", "progress.db*", "last-gc", "knowledge", "features", "staging", "permissions.toml*"}, ours: true, firm: true})
	// Plan files say which commands run. Nobody else writes those of a folder in which an agent works; the documents beside them
	// may be open to it.
	x.add(guard{path: p.Features(), only: []string{"*/tasks.jsonl"}, ours: true})
	for _, path := range append([]string{p.Config()}, more...) {
		x.add(guard{path: path, ours: true, firm: true})
	}
	x.addGit(git.Find(p.Root), false)
	for _, name := range git.Search(ctx, p.Root, filepath.Base(p.State())) {
		x.addGit(git.Find(filepath.Join(p.Root, filepath.FromSlash(name))), true)
	}
	return x
}

// addGit adds what git uses. Repositories inside the project may be removed.
func (x *Protection) addGit(p git.Places, inside bool) {
	for _, file := range p.Pointers {
		x.add(guard{path: file, mayGo: inside, firm: !inside})
	}
	for _, dir := range p.Folders {
		if !x.has(dir) {
			x.add(guard{path: dir, names: []string{"hooks", "config"}, mayGo: inside, firm: !inside})
			x.add(guard{path: dir, names: []string{"config.worktree", "commondir"}, mayGo: inside})
		}
	}
	for _, dir := range p.Worktrees {
		if !x.has(dir) {
			x.add(guard{path: dir, names: []string{"commondir", "gitdir", "config.worktree"}, mayGo: true})
		}
	}
}

func (x *Protection) has(dir string) bool {
	return slices.ContainsFunc(x.guards, func(g guard) bool { return g.path == dir && g.names[0] != "." })
}

// add adds a guard, and one for each step of a link in it.
func (x *Protection) add(g guard) {
	if g.names == nil {
		g.names = []string{"."}
	}
	loose := g
	loose.names = nil
	for _, name := range g.names {
		// A link can be replaced, and a second name leads around what is read-only.
		if info, err := os.Lstat(filepath.Join(g.path, name)); err == nil && (info.Mode()&os.ModeSymlink != 0 || otherNames(info)) {
			loose.names = append(loose.names, name)
		}
	}
	if g.firm && loose.names != nil {
		loose.firm = false
		x.guards = append(x.guards, loose)
	}
	x.guards = append(x.guards, g)
	for _, name := range g.names {
		for _, step := range steps(filepath.Join(g.path, name)) {
			if filepath.Base(g.path) == ".git" && isDir(step) && name == "." {
				break // a link to git's folder, not all of which is protected
			}
			info, err := os.Lstat(step)
			firm := g.firm && err == nil && info.Mode()&os.ModeSymlink == 0 && !otherNames(info)
			x.guards = append(x.guards, guard{path: step, names: []string{"."}, skip: g.skip, only: g.only, mayGo: g.mayGo, ours: g.ours, firm: firm})
		}
	}
}

func steps(path string) []string {
	var out []string
	for range 40 {
		target, err := os.Readlink(path)
		if err != nil {
			break
		}
		if !filepath.IsAbs(target) {
			target = filepath.Join(filepath.Dir(path), target)
		}
		path = filepath.Clean(target)
		out = append(out, path)
	}
	return out
}

// ReadOnly lists what the sandbox makes read-only for a process of that mode, as far
// as it exists. Hooks exist afterwards: what does not cannot be made read-only.
func (x *Protection) ReadOnly(mode Mode) []string {
	var out []string
	for _, g := range x.guards {
		if mode == Verify && (g.mayGo || g.names[0] != ".") {
			continue // it is thrown away anyway
		}
		if g.only != nil {
			out = append(out, g.files()...)
			continue
		}
		for _, name := range g.names {
			path := filepath.Join(g.path, name)
			if name == "hooks" {
				_ = os.Mkdir(path, 0o777) //nolint:gosec // as git makes it
			}
			// A link has guards of its own for where it led when the run began. Where an
			// agent that worked before lets one lead is not of interest.
			if info, err := os.Lstat(path); err != nil || info.Mode()&os.ModeSymlink != 0 {
				continue
			}
			if real, err := filepath.EvalSymlinks(path); err == nil {
				out = append(out, real)
			}
		}
	}
	return out
}

// files lists those that count, as far as they exist.
func (g guard) files() (list []string) {
	for _, pattern := range g.only {
		found, _ := filepath.Glob(filepath.Join(g.path, pattern)) // the pattern is ours
		for _, path := range found {
			if info, err := os.Lstat(path); err == nil && info.Mode().IsRegular() {
				list = append(list, path)
			}
		}
	}
	return list
}

// Paths lists what is never written on behalf of an agent, with all that is in it.
func (x *Protection) Paths() []string {
	return slices.Compact(seq.Map(x.guards, func(g guard) string { return g.path }))
}

// Fingerprints are of all that an agent could change at that level.
func (x *Protection) Fingerprints(level Level) (list []*Fingerprint, err error) {
	for _, g := range x.guards {
		if g.firm && level == Namespaces {
			continue
		}
		own, ferr := fingerprint(g)
		list, err = append(list, own), errors.Join(err, ferr)
	}
	return list, err
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
