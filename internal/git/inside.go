package git

import (
	"context"
	"errors"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// How much of the repositories inside a folder is looked at. One beyond that counts
// by the commit that is checked out in it.
const (
	maxRepositories = 100
	maxInside       = 50_000 // files in all of them
)

var errTooMany = errors.New("too many files")

// walk is one way through a folder and the repositories inside it.
type walk struct {
	temp                string // a folder of ours
	repositories, files int    // that may still be looked at
	taken               Taken
	links               []string // repositories that count by their commits
	same                string   // the tree, if nothing has changed
	dated               bool     // what is remembered can be relied on, and can be remembered
	memory              memory   // to be kept
}

// index is where the index is worked on.
func (w *walk) index() string { return filepath.Join(w.temp, "index") }

// withGit lists the folders of files that have a .git: git lists a folder as a repository only as long as the index
// has no files of it.
func (s *store) withGit(names []string) (found []string) {
	looked := map[string]bool{".": true}
	for _, name := range names {
		for up := path.Dir(name); !looked[up]; up = path.Dir(up) {
			if looked[up] = true; exists(filepath.Join(s.dir, filepath.FromSlash(up), ".git")) {
				found = append(found, up)
			}
		}
	}
	return found
}

// enter adds what is in repositories inside, each by its own ignore rules. Where git keeps files of a folder although
// a repository was put into it, it stays a folder: what that repository knows of is added.
func (s *store) enter(ctx context.Context, w *walk, repositories []string, known map[string]bool, names, others []string) ([]string, error) {
	var whole []string // with the repositories in them
	slices.Sort(repositories)
	for _, name := range slices.Compact(repositories) {
		if Within(name, whole) {
			continue
		}
		if !known[name] {
			whole = append(whole, name)
			others = slices.DeleteFunc(others, func(file string) bool { return Within(file, []string{name}) })
		}
		was := len(w.taken.Inside)
		more, err := s.list(ctx, w, name)
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if err != nil || known[name] {
			w.taken.Inside = w.taken.Inside[:was]
		}
		if err != nil && !known[name] {
			w.links = append(w.links, path.Join(s.inside, name))
		}
		for _, file := range more {
			others = append(others, name+"/"+file)
		}
	}
	return append(names, others...), nil
}

// list is what is in a repository inside. Its objects are not relied on: it may be gone, or be an ordinary folder, when
// the tree is looked at.
func (s *store) list(ctx context.Context, w *walk, name string) ([]string, error) {
	if w.repositories--; w.repositories < 0 {
		return nil, errTooMany
	}
	dir := filepath.Join(s.dir, filepath.FromSlash(name))
	in := &store{dir: dir, top: dir, path: s.path, inside: path.Join(s.inside, name)}
	if err := in.find(); err != nil {
		return nil, err
	}
	w.taken.Inside = append(w.taken.Inside, in.inside)
	return in.names(ctx, w, []string{"GIT_INDEX_FILE=" + filepath.Join(s.path, "none")})
}

// prefix is where the folder is in its repository, as an index names it.
func (s *store) prefix() string {
	if sub, err := filepath.Rel(s.top, s.dir); err == nil && sub != "." {
		return filepath.ToSlash(sub) + "/"
	}
	return ""
}

// Heads are the commits that are checked out in dir and in the repositories inside it.
func Heads(ctx context.Context, dir string, inside ...string) map[string]string {
	heads := map[string]string{}
	for _, name := range append([]string{"."}, inside...) {
		heads[name] = Head(ctx, filepath.Join(dir, filepath.FromSlash(name)))
	}
	return heads
}

// SameTrees says that commits hold the same: an empty one adds nothing, and neither does a
// repository inside that holds nothing.
func SameTrees(ctx context.Context, dir string, a, b map[string]string) bool {
	tree := func(name, id string) string {
		if id == "" {
			return ""
		}
		out, _ := run(ctx, filepath.Join(dir, filepath.FromSlash(name)), nil, "rev-parse", "--verify", "--quiet", id+"^{tree}")
		tree := strings.TrimSpace(string(out))
		if name != "." && slices.Contains(emptyTrees, tree) {
			return ""
		}
		return tree
	}
	for _, name := range slices.AppendSeq(slices.Collect(maps.Keys(a)), maps.Keys(b)) {
		if a[name] != b[name] && tree(name, a[name]) != tree(name, b[name]) {
			return false
		}
	}
	return true
}

// emptyTrees are the names of the tree without files, by length.
var emptyTrees = []string{"4b825dc642cb6eb9a060e54bf8d69288fbee4904", "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321"}
