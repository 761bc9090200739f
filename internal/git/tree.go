package git

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// Taken is the ID of a tree, and what else was seen on the way.
type Taken struct {
	Tree   string
	Inside []string // the repositories inside, with slashes, below dir
	Large  []string // files above LargeFile, in the same way

	branch, head string   // what is checked out, "" if what differs from it is not known
	differ       []string // files that may not be as they were committed
}

// Take makes a tree object of dir as it is now, in the folder objects: tracked and
// untracked files, byte for byte, without those that are ignored, those that cannot be read
// and those in exclude (relative to dir). The repository is only read, and no program that
// it names is run. Of a file above LargeFile only size and time are kept; a repository
// inside counts like any folder, by its own ignore rules. Where nobody can tell, the error
// is ErrUnknown.
func Take(ctx context.Context, dir, objects string, exclude ...string) (Taken, error) {
	s, err := openStore(ctx, dir, objects)
	if err != nil {
		return Taken{}, err
	}
	names := slices.Clone(exclude)
	if own, err := filepath.Rel(s.dir, s.path); err == nil && filepath.IsLocal(own) {
		names = append(names, filepath.ToSlash(own))
	}
	exclude = nil
	for _, name := range slices.Sorted(slices.Values(names)) {
		if !Within(name, exclude) { // so that the same files are always named in the same way
			exclude = append(exclude, name)
		}
	}
	taken, err := s.tree(ctx, exclude)
	if err != nil && ctx.Err() == nil {
		// What we remember may be damaged, or may name objects that are gone.
		if forgotten, _ := s.forget(); forgotten {
			taken, err = s.tree(ctx, exclude)
		}
	}
	if err != nil {
		return Taken{}, fmt.Errorf("take the tree of %s: %w", dir, err)
	}
	return taken, nil
}

// Within says that a file is one of these, or in one of them.
func Within(name string, list []string) bool {
	return slices.ContainsFunc(list, func(at string) bool { return name == at || strings.HasPrefix(name, at+"/") })
}

func (s *store) tree(ctx context.Context, exclude []string) (Taken, error) {
	temp, err := os.MkdirTemp(s.path, "tree-")
	if err != nil {
		return Taken{}, err
	}
	defer func() { _ = os.RemoveAll(temp) }() // it is in a folder of ours
	w := &walk{temp: temp, repositories: maxRepositories, files: maxInside, dated: dated(temp)}
	env := []string{"GIT_INDEX_FILE=" + w.index()}
	if err := s.fill(ctx, w, env, exclude); err != nil {
		return Taken{}, err
	}
	id := w.same
	if id == "" {
		if id, err = s.write(ctx, env); err == nil {
			err = s.files(ctx, env).Remove(w.links) // git would not look into them the next time
		}
		if err != nil {
			return Taken{}, err
		}
	}
	if err = s.keep(w); err == nil {
		err = s.remember(w, exclude, id)
	}
	w.taken.Tree = id
	return w.taken, err
}

// fill brings an index up to date with what is in dir and in the repositories inside it.
func (s *store) fill(ctx context.Context, w *walk, env, exclude []string) error {
	if err := CopyIndex(w.index(), s.index()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	names, known, err := s.changed(ctx, w, env, exclude)
	if err == nil && !known {
		names, err = s.names(ctx, w, env)
	}
	left := func(name string) bool { return Within(name, exclude) }
	names, w.links = slices.DeleteFunc(names, left), slices.DeleteFunc(w.links, left)
	w.taken.Inside = slices.DeleteFunc(w.taken.Inside, left)
	if err != nil || known && len(names) == 0 {
		return err
	}
	w.same = ""
	files := s.files(ctx, env)
	up, err := files.Update(names)
	if err != nil {
		return err
	}
	var unread []string
	for _, l := range up.Left {
		unread = append(unread, l.Path)
	}
	w.memory.Missing = append(w.memory.Missing, slices.DeleteFunc(append(up.Gone, unread...), func(name string) bool { return exists(files.at(name)) })...)
	w.dated = w.dated && len(w.taken.Inside)+len(w.links)+len(up.Large) == 0
	if err := errors.Join(files.Remove(unread), s.describe(ctx, w, env, up.Large)); err != nil {
		return err
	}
	if out := append(slices.Clone(w.links), exclude...); len(out) > 0 && !known { // an earlier tree may have had them
		args := []string{"rm", "--cached", "-r", "-f", "-q", "--ignore-unmatch", "--"}
		for _, name := range out {
			args = append(args, ":(literal)"+name)
		}
		if _, err := s.git(ctx, env, nil, args...); err != nil {
			return err
		}
	}
	for _, name := range w.links { // by its commit; one without has nothing to count by
		_, _ = s.git(ctx, env, nil, "update-index", "--add", "--", name)
	}
	return nil
}

// CopyIndex copies an index with its time: git reads a file again if it changed
// in the moment when the index was written, which it knows by this time. Git replaces an
// index and never writes into one, so a second name is as good as a copy, and costs nothing.
func CopyIndex(to, from string) error {
	if os.Link(from, to) == nil {
		return nil
	}
	info, err := os.Stat(from)
	if err != nil {
		return err
	}
	data, err := read(from)
	if err != nil {
		return err
	}
	if err := os.WriteFile(to, data, 0o600); err != nil {
		return err
	}
	return os.Chtimes(to, info.ModTime(), info.ModTime())
}

// names lists what belongs into the tree, with what is in the repositories inside dir.
func (s *store) names(ctx context.Context, w *walk, env []string) ([]string, error) {
	args := []string{"ls-files", "-zt", "--cached", "--others", "--exclude-standard"}
	if rules := filepath.Join(s.common, "info", "exclude"); s.inside != "" && exists(rules) {
		args = append(args, "--exclude-from="+rules)
	}
	out, err := s.git(ctx, env, nil, append(args, "--", ".")...)
	if err != nil {
		return nil, err
	}
	var names, others, repositories []string
	for _, entry := range Split(out) {
		if folder, is := strings.CutSuffix(entry[2:], "/"); is {
			repositories = append(repositories, folder)
		} else if entry[0] == '?' {
			others = append(others, entry[2:])
		} else {
			names = append(names, entry[2:])
		}
	}
	repositories = append(repositories, s.withGit(names)...)
	known := map[string]bool{} // folders of which git keeps files or submodules
	for _, entry := range s.tracked(ctx, w) {
		mode, name, _ := strings.Cut(entry, "\t")
		if !strings.HasPrefix(mode, Gitlink) {
			names = append(names, name)
		} else if exists(filepath.Join(s.dir, name, ".git")) {
			repositories = append(repositories, name)
		}
		for up := path.Dir(name); !known[up]; up = path.Dir(up) {
			known[up] = true
		}
	}
	if s.inside != "" {
		all := slices.Concat(names, others) // most files are both, as our index is empty here
		slices.Sort(all)
		if w.files -= len(slices.Compact(all)); w.files < 0 {
			return nil, errTooMany
		}
	}
	return s.enter(ctx, w, repositories, known, names, others)
}

// tracked lists what is in their index: a file may be tracked although it is ignored. One
// that cannot be read takes nothing away, as what we saw before is in ours, and is asked again.
func (s *store) tracked(ctx context.Context, w *walk, options ...string) []string {
	out, err := s.git(ctx, []string{"GIT_DIR=" + s.theirs}, nil, slices.Concat([]string{"ls-files", "-z", "--cached", "--stage"}, options, []string{"--", "."})...)
	w.dated = w.dated && err == nil
	return slices.DeleteFunc(Split(out), func(entry string) bool {
		_, name, _ := strings.Cut(entry, "\t")
		return outside(name)
	})
}

// files are those of the folder with an index of ours.
func (s *store) files(ctx context.Context, env []string) Folder {
	return Folder{Dir: s.dir, Max: LargeFile, Git: func(in io.Reader, args ...string) (string, error) { return s.git(ctx, env, in, args...) }}
}

func (s *store) write(ctx context.Context, env []string) (string, error) {
	args := []string{"write-tree"}
	if prefix := s.prefix(); prefix != "" {
		args = append(args, "--prefix="+prefix)
	}
	out, err := s.git(ctx, env, nil, args...)
	if err != nil && len(args) > 1 {
		// Without files there is no such prefix, and the whole tree is empty, too.
		if left, errLeft := s.git(ctx, env, nil, "ls-files", "-z"); errLeft == nil && len(left) == 0 {
			out, err = s.git(ctx, env, nil, "write-tree")
		}
	}
	return strings.TrimSpace(out), err
}

// LargeFile is the size above which a file is not copied into a tree: a data set or a
// disk image would fill the disk, and reading it again would hold up every attempt.
const LargeFile = 50 << 20

// describe puts a text with size and time in the place of each large file.
func (s *store) describe(ctx context.Context, w *walk, env, list []string) error {
	if len(list) == 0 {
		return nil
	}
	var paths, entries strings.Builder
	modes := make([]string, len(list))
	for i, name := range list {
		info, err := os.Lstat(filepath.Join(s.dir, filepath.FromSlash(name)))
		if err != nil {
			return err
		}
		modes[i] = "100644"
		if info.Mode()&0o111 != 0 {
			modes[i] = "100755"
		}
		at := filepath.Join(w.temp, fmt.Sprintf("large%d", i))
		text := fmt.Sprintf("%d bytes, modified at %d\n", info.Size(), info.ModTime().UnixNano())
		if err := os.WriteFile(at, []byte(text), 0o600); err != nil {
			return err
		}
		fmt.Fprintln(&paths, at)
		w.taken.Large = append(w.taken.Large, name)
	}
	out, err := s.git(ctx, env, strings.NewReader(paths.String()), "hash-object", "-w", "--no-filters", "--stdin-paths")
	if err != nil {
		return err
	}
	ids := strings.Fields(out)
	if len(ids) != len(list) {
		return fmt.Errorf("describe large files: git named %d of %d", len(ids), len(list))
	}
	for i, name := range list {
		fmt.Fprintf(&entries, "%s %s\t%s%s\x00", modes[i], ids[i], s.prefix(), name)
	}
	_, err = s.git(ctx, env, strings.NewReader(entries.String()), "update-index", "-z", "--index-info")
	return err
}
