package slot

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"ralph/internal/atomicfile"
	"ralph/internal/git"
)

// projectFile is beside slots, where agents do not write.
const projectFile = "ralph-project"

// made is what is kept about a slot, beside ralph's own index of its files.
type made struct {
	Attempt   string   // that it was taken for
	Commit    string   // what is checked out
	Tree      string   // what it was made to look like
	Base      string   // what is below the work in it
	Conflicts []string // files that were shown in conflict
	Mark      string   // what conflict markers in them have
	Unmarked  []string // those of them that had no conflict markers
	Resolves  string   // the work as it was before its first conflict with what landed; "" if it had none
	Setup     string   // what it was set up for
	Seen      string   // where its processes found it; "" for its own path
	Copied    []string // files of the project, from the top of the repository
	Brought   []Brought
	Modules   []string // submodules that the person has
	There     []string // what was ignored and there when it was set up
	Unclean   bool     // of a room: the gates of work that has not landed wrote in it
	Size      int64

	Open    *Unfinished // of the project's own folder
	Rolling *rolling    // into it
	Head    string      // that it had when the attempt began
	Repo    string      // whose objects it has
}

func (s *Slot) note(name string) string {
	return filepath.Join(s.p.o.State, strconv.Itoa(s.n), name)
}

func (s *Slot) index() string { return s.note("index") }

// load reads what is kept, and says whether the slot is whole. If an agent has locked us out of its folder, we
// own that all the same.
func (s *Slot) load() error {
	info, err := os.Lstat(s.Top())
	if err == nil && info.IsDir() && info.Mode().Perm()&0o700 != 0o700 {
		err = os.Chmod(s.Top(), info.Mode().Perm()|0o700)
	}
	if err != nil {
		return err
	}
	data, err := os.ReadFile(s.note("made.json"))
	if s.Here() && s.p.noted.made != nil {
		if !bytes.Equal(data, s.p.noted.made) {
			s.forged("made.json")
		}
		data, err = s.p.noted.made, nil
	}
	if err == nil {
		err = json.Unmarshal(data, &s.made)
	}
	if err != nil || !info.IsDir() {
		return ErrTorn
	}
	return nil
}

// begin forgets that the slot is whole, until finish: who dies between leaves one that is
// made anew (in-slot-setup).
func (s *Slot) begin() error {
	if err := errors.Join(os.MkdirAll(s.note(""), 0o700), os.MkdirAll(s.p.o.Dir, 0o700), s.p.makeView(s.Place())); err != nil {
		return err
	}
	// Ralph finds the project by this in a slot, whatever an agent removes there.
	at, name := filepath.Join(s.p.o.Dir, projectFile), s.p.o.Project+"\n"
	if was, err := os.ReadFile(at); err != nil || string(was) != name {
		if err := atomicfile.Write(at, []byte(name)); err != nil {
			return err
		}
	}
	if s.p.judges {
		upper := filepath.Join(s.written(), "tree")
		s.made.Tree = "" // setup is not for what it showed, and believes no cache that the setup of other work wrote
		setup, _ := s.Caches()
		if err := errors.Join(removeAll(setup), removeAll(upper), removeAll(s.over()), os.MkdirAll(upper, 0o700)); err != nil {
			return err
		}
	}
	if s.ranSetup = false; s.still != nil {
		s.still = &still{work: map[string]Work{}} // its files change now
	}
	left, _ := filepath.Glob(s.note("tmp-*")) // the pattern is good
	for _, path := range left {
		_ = os.RemoveAll(path) // a git of a dead ralph may still write there
	}
	if err := os.Remove(s.note("made.json")); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

func (s *Slot) finish(base, commit, tree string, conflicts []string) error {
	s.made.Base, s.made.Commit, s.made.Tree, s.made.Conflicts, s.made.Seen = base, commit, tree, conflicts, s.Place().Seen
	s.made.Unclean = s.p.judges && base != commit && (s.ranSetup || !s.p.layered())
	s.made.Unmarked = slices.DeleteFunc(slices.Clone(conflicts), s.marked)
	if s.p.judges && s.p.layered() && !s.ranSetup {
		s.ours = tree
	}
	return s.save()
}

// save keeps what is known about the slot.
func (s *Slot) save() error {
	data, err := json.Marshal(s.made)
	if err != nil {
		return err
	}
	if s.Here() {
		s.p.noted.made = data
	}
	return atomicfile.Write(s.note("made.json"), data)
}

// forged remembers that somebody else has written one of our files.
func (s *Slot) forged(name string) {
	if path := s.note(name); !slices.Contains(s.p.noted.forged, path) {
		s.p.noted.forged = append(s.p.noted.forged, path)
	}
}

// call is git on files of the slot, with an index of ours.
func (s *Slot) call(dir, index string) git.Call {
	return git.Call{WorkTree: dir, Index: index, Own: s.p.o.Repo.Own()}
}

// withIndex runs git on the files in dir with a copy of our index, which takes the place of
// the old one if all went well. So nobody waits for the lock of a git that was killed.
func (s *Slot) withIndex(ctx context.Context, dir string, do func(git.Plumbing) error) error {
	if was := s.p.noted.index; s.Here() && was != "" && sumOf(s.index()) != was { // it may hide changes
		s.forged("index")
		s.p.noted.index = ""
		if err := errors.Join(os.RemoveAll(s.index()), s.seed(ctx)); err != nil {
			return err
		}
	}
	return s.withCopy(ctx, dir, func(g git.Plumbing, index string) error {
		if err := do(g); err != nil {
			return err
		}
		if s.Here() {
			s.p.noted.index = sumOf(index)
		}
		return os.Rename(index, s.index())
	})
}

// withCopy is withIndex for an index that is not to be ours.
func (s *Slot) withCopy(ctx context.Context, dir string, do func(g git.Plumbing, index string) error) error {
	temp, err := os.MkdirTemp(s.note(""), "tmp-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(temp) }() // Take removes what stays
	index := filepath.Join(temp, "index")
	if err := git.CopyIndex(index, s.index()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	call := s.call(dir, index)
	call.Env, call.Said = []string{"GIT_LITERAL_PATHSPECS=1"}, &s.said
	return do(func(in io.Reader, args ...string) (string, error) {
		call.In = in
		return s.p.o.Repo.Git(ctx, call, args...)
	}, index)
}

// files sets the working files to a commit or a tree: what was changed is set back, what is
// neither part of it nor ignored is removed. In a room that is not clean, what is ignored goes, too.
func (s *Slot) files(ctx context.Context, tree string) error {
	remove := "-ffdq"
	if s.made.Unclean {
		remove, s.made.Setup = "-ffdxq", ""
		if err := removeAll(s.underGates()); err != nil {
			return err
		}
	}
	if s.ours == "" && !s.p.judges {
		s.ours = s.unchanged(ctx)
	}
	moved, err := s.move(ctx, tree)
	if err == nil && moved && !s.p.judges {
		err = s.folders(ctx, tree)
	}
	if err != nil || moved {
		return errors.Join(err, s.footing())
	}
	err = s.withIndex(ctx, s.Top(), func(g git.Plumbing) error {
		set := func() error {
			if _, err := g(nil, "read-tree", "--reset", "-u", tree); err != nil {
				return err
			}
			_, err := g(nil, "clean", remove)
			return err
		}
		if err := set(); errors.Is(err, git.ErrWaits) {
			return err
		} else if err != nil { // a folder may have been made read-only
			return errors.Join(writable(s.Top()), set())
		}
		return nil
	})
	if err == nil {
		err = s.folders(ctx, tree)
	}
	if err != nil {
		return err
	}
	return s.footing()
}

// move sets the files of a slot or room from one tree to another: only those that differ, which needs that no other file was written. Git would
// read all trees and look at all files. False means that it could not.
func (s *Slot) move(ctx context.Context, tree string) (bool, error) {
	from := s.ours
	s.ours = ""
	for _, special := range []string{filepath.Join(s.p.o.Repo.Own(), "info", "sparse-checkout"), s.at(".gitmodules")} {
		if _, err := os.Lstat(special); from == "" || !errors.Is(err, fs.ErrNotExist) {
			return false, nil
		}
	}
	diffs, err := s.p.o.Repo.DiffTrees(ctx, from, tree)
	if err != nil {
		return false, err
	}
	var gone, entries, there []string
	for _, d := range diffs {
		if d.Was.Mode == git.Gitlink || d.Now.Mode == git.Gitlink || decides(d) {
			return false, nil
		}
		if d.Now.Mode == git.Nothing {
			gone = append(gone, d.Path)
			entries = append(entries, git.Entry{Mode: "0", ID: d.Was.ID}.Line(d.Path))
		}
	}
	for _, d := range diffs { // after what goes: a folder may become a file
		if d.Now.Mode != git.Nothing {
			there, entries = append(there, d.Path), append(entries, d.Now.Line(d.Path))
		}
	}
	err = s.withIndex(ctx, s.Top(), func(g git.Plumbing) (err error) {
		if len(entries) > 0 {
			_, err = g(git.Lines(entries), "update-index", "--replace", "-z", "--index-info")
		}
		if err == nil {
			err = s.remove(gone)
		}
		if err == nil && len(there) > 0 {
			_, err = g(git.Lines(there), "checkout-index", "--force", "--index", "-z", "--stdin")
		}
		if err == nil && len(s.made.Copied)+len(s.made.Brought)+len(s.made.There) > 0 { // git may not ignore them any more
			_, err = g(nil, "clean", "-ffdq")
		}
		return err
	})
	if errors.Is(err, git.ErrWaits) || ctx.Err() != nil {
		return false, err
	}
	return err == nil, nil
}

// remove removes files, and the folders that have no others.
func (s *Slot) remove(names []string) error {
	root, err := os.OpenRoot(s.Top())
	if err != nil {
		return err
	}
	defer root.Close()
	for _, name := range names {
		if err := root.Remove(name); gone(err) != nil {
			return err
		}
		for dir := path.Dir(name); dir != "." && root.Remove(dir) == nil; dir = path.Dir(dir) {
		}
	}
	return nil
}

// footing has the project's folder be there, whatever the commit has, and nothing in the place of its state.
func (s *Slot) footing() error {
	root, err := os.OpenRoot(s.Top())
	if err != nil {
		return err
	}
	defer root.Close()
	if err := root.MkdirAll(filepath.Join(".", filepath.FromSlash(s.p.o.Sub)), 0o700); err != nil || s.Place().Seen == "" {
		return err
	}
	if info, err := root.Lstat(s.ralph()); err == nil && !info.IsDir() { // the project's own is shown there
		return root.Remove(s.ralph())
	}
	return nil
}

// folders sets back what git never looks at in its own folders: one that cannot be written, a repository that an
// agent made in one, and a submodule that is not at its commit, which the next agent would be blamed for.
func (s *Slot) folders(ctx context.Context, tree string) error {
	root, err := os.OpenRoot(s.Top())
	if err != nil {
		return err
	}
	defer root.Close()
	list, links, err := s.tracked(ctx, tree)
	if err != nil {
		return err
	}
	for _, name := range slices.Concat(list, links) {
		if info, err := os.Lstat(s.at(name)); err == nil && info.IsDir() && info.Mode().Perm()&0o700 != 0o700 {
			if err := root.Chmod(name, info.Mode().Perm()|0o700); err != nil {
				return err
			}
		}
	}
	for _, name := range list {
		if _, err := root.Lstat(name + "/.git"); err == nil {
			if err := removeAll(filepath.Join(s.Top(), name, ".git")); err != nil {
				return err
			}
		}
	}
	if len(links) == 0 {
		return nil
	}
	out := ""
	err = s.withIndex(ctx, s.Top(), func(g git.Plumbing) error {
		out, err = g(nil, append([]string{"ls-files", "-zm", "--"}, links...)...)
		return err
	})
	if !s.made.Unclean {
		links = slices.DeleteFunc(links, func(name string) bool { return !s.stray(name) })
	}
	for _, name := range append(git.Split(out), links...) {
		s.made.Setup = "" // it may be able to bring the submodule back
		err = errors.Join(err, removeAll(filepath.Join(s.Top(), name)), root.Mkdir(name, 0o700))
	}
	return err
}

// tracked lists the folders of a tree, which the index has, and its submodules.
func (s *Slot) tracked(ctx context.Context, tree string) (folders, links []string, err error) {
	data, err := os.ReadFile(s.index())
	if err != nil {
		return nil, nil, err
	}
	list, err := git.ParseIndex(data, tree)
	if err != nil {
		out, err := s.p.o.Repo.Git(ctx, git.Call{}, "ls-tree", "-rdz", tree)
		for _, entry := range git.Split(out) {
			if mode, name, _ := strings.Cut(entry, "\t"); strings.HasPrefix(mode, git.Gitlink) {
				links = append(links, name)
			} else {
				folders = append(folders, name)
			}
		}
		return folders, links, err
	}
	seen := map[string]bool{".": true}
	for _, file := range list {
		if file.Link {
			links = append(links, file.Name)
		}
		for dir := path.Dir(file.Name); !seen[dir]; dir = path.Dir(dir) {
			seen[dir], folders = true, append(folders, dir)
		}
	}
	return folders, links, nil
}

// size is what the slot takes on the disk. What cannot be read does not count.
func (s *Slot) size() (total int64) {
	_ = filepath.WalkDir(s.Top(), func(_ string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil //nolint:nilerr // as said
		}
		if info, err := d.Info(); err == nil {
			total += (info.Size() + 4095) &^ 4095
		}
		return nil
	})
	return total
}
