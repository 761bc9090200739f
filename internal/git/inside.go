package git

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
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
	temp                string // a folder for indexes
	repositories, files int    // that may still be looked at
	taken               Taken
	same                string      // the tree, if nothing has changed
	dated               bool        // what is remembered can be relied on, and can be remembered
	memory              memory      // to be kept
	kept                [][2]string // indexes in temp, and where they are remembered
}

// index is where the index that is remembered elsewhere is worked on.
func (w *walk) index(remembered string) string {
	path := filepath.Join(w.temp, fmt.Sprintf("index%d", len(w.kept)))
	w.kept = append(w.kept, [2]string{path, remembered})
	return path
}

// remember puts the indexes in their places. Without files there is none.
func (w *walk) remember() error {
	w.memory.Index = mark(w.kept[0][0])
	for _, k := range w.kept {
		if mark(k[0]) == mark(k[1]) {
			continue
		}
		if err := os.Rename(k[0], k[1]); err != nil && exists(k[0]) {
			return err
		}
	}
	return nil
}

// sort puts names in order. A folder of which git keeps files although a repository
// was put into it stays a folder: what that repository knows of is added to them.
func (s *store) sort(ctx context.Context, names, repositories []string) (files, inside []string) {
	slices.Sort(names)
	names = slices.Compact(names)
	slices.Sort(repositories)
	for _, name := range slices.Compact(repositories) {
		i, listed := slices.BinarySearch(names, name)
		if listed {
			names = slices.Delete(names, i, i+1) // it was a file, or counted by its commit
		}
		if i, _ = slices.BinarySearch(names, name+"/"); i == len(names) || !strings.HasPrefix(names[i], name+"/") {
			inside = append(inside, name)
			continue
		}
		if in, err := s.open(name); err == nil {
			if more, _, err := in.names(ctx, &walk{}, []string{"GIT_INDEX_FILE=" + filepath.Join(s.path, "none")}); err == nil {
				for _, file := range more {
					names = append(names, name+"/"+file)
				}
				slices.Sort(names)
				names = slices.Compact(names)
			}
		}
	}
	return names, inside
}

// open is the store for a repository inside. Its objects are not relied on: it may be
// gone, or be an ordinary folder, when the tree is looked at.
func (s *store) open(name string) (*store, error) {
	dir := filepath.Join(s.dir, filepath.FromSlash(name))
	in := &store{dir: dir, top: dir, path: s.path, inside: name}
	if s.inside != "" {
		in.inside = s.inside + "/" + name
	}
	return in, in.find()
}

// enter adds what is in repositories to a copy of the index: git lists a folder as a
// repository only as long as the index has no files of it.
func (s *store) enter(ctx context.Context, w *walk, env, repositories []string) ([]string, error) {
	if err := s.files(ctx, env).Remove(repositories); err != nil {
		return nil, err
	}
	index := strings.TrimPrefix(env[0], "GIT_INDEX_FILE=")
	whole := []string{"GIT_INDEX_FILE=" + index + "-whole"}
	if err := CopyIndex(index+"-whole", index); err != nil && exists(index) {
		return nil, err
	}
	prefix := s.prefix()
	var entries strings.Builder
	for _, name := range repositories {
		list, err := s.list(ctx, w, name)
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if err != nil {
			// By its commit, then; one without has nothing to count by.
			_, _ = s.git(ctx, whole, nil, "update-index", "--add", "--", name)
			continue
		}
		for _, entry := range Split(list) {
			if mode, path, is := strings.Cut(entry, "\t"); is {
				fmt.Fprintf(&entries, "%s\t%s%s/%s\x00", mode, prefix, name, path)
			}
		}
	}
	_, err := s.git(ctx, whole, strings.NewReader(entries.String()), "update-index", "-z", "--index-info")
	return whole, err
}

// prefix is where the folder is in its repository, as an index names it.
func (s *store) prefix() string {
	if sub, err := filepath.Rel(s.top, s.dir); err == nil && sub != "." {
		return filepath.ToSlash(sub) + "/"
	}
	return ""
}

// list is what is in a repository inside, as git lists an index.
func (s *store) list(ctx context.Context, w *walk, name string) (string, error) {
	if w.repositories--; w.repositories < 0 {
		return "", errTooMany
	}
	in, err := s.open(name)
	if err != nil {
		return "", err
	}
	w.taken.Inside = append(w.taken.Inside, in.inside)
	was := *w
	env, err := in.fill(ctx, w, nil)
	if err != nil && !errors.Is(err, errTooMany) && ctx.Err() == nil && os.Remove(in.index()) == nil {
		// What we remember may be damaged, as in Take. The index is worked on in another place.
		w.repositories, w.files, w.taken = was.repositories, was.files, was.taken
		env, err = in.fill(ctx, w, nil)
	}
	if err != nil {
		return "", err
	}
	return in.git(ctx, env, nil, "ls-files", "-z", "--stage")
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
