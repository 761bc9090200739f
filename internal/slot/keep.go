package slot

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"ralph/internal/git"
	"ralph/internal/seq"
)

// messageTimeout bounds reading objects that an agent may have written.
const messageTimeout = 30 * time.Second

// Work is what an agent left, as a commit.
type Work struct {
	Commit string // the base itself if nothing has changed
	Tree   string
	Left   []git.Left // changes that are not part of it
}

const whySubmodule = "a submodule cannot be changed: its commit would exist here only"

// publishTimeout bounds asking a submodule's remote.
const publishTimeout = time.Minute

// Keep makes a commit of the files as they are now: the whole work as one change of base. It
// changes no file, so that an agent may be at work. What cannot be kept is listed and stays as
// it was in base; the rest is never lost for it. A commit in which conflicts are resolved names the work that had them.
func (s *Slot) Keep(ctx context.Context, base, message string) (Work, error) {
	if f := s.finished; f != nil {
		return Work{Commit: f.work, Tree: f.tree}, nil
	}
	w, err := s.tree(ctx, base)
	if err != nil {
		return Work{}, fmt.Errorf("keep the work in %s: %w", s.Name(), err)
	}
	repo := s.p.o.Repo
	was, err := repo.Tree(ctx, base)
	if s.made.Resolves != "" {
		message += "\n\n" + resolves + ": " + s.made.Resolves + "\n"
	}
	if w.Commit = base; err != nil || was == w.Tree {
		return w, err
	}
	if now := (kept{base: base, tree: w.Tree, message: message, commit: s.kept.commit}); s.kept != now {
		if now.commit, err = repo.CommitTree(ctx, w.Tree, message, base); err != nil {
			return w, err
		}
		s.kept = now
	}
	w.Commit = s.kept.commit
	return w, nil
}

// kept is a commit, and what it was made of.
type kept struct{ base, tree, message, commit string }

// Hold is for the time in which no process works in the slot: its files are looked at once, and what was seen then is all that counts until release.
func (s *Slot) Hold() (release func()) {
	s.still = &still{work: map[string]Work{}}
	return func() { s.still = nil }
}

// still is what was seen of a slot that nobody works in.
type still struct {
	work map[string]Work // by base; all files are looked at for ""
	head *head
}

// resolves is the trailer that names the work from before its first conflict.
const resolves = "Ralph-Resolves"

// Resolves is the work as it was before its first conflict that was resolved since; "" if it had none.
func (s *Slot) Resolves() string { return s.made.Resolves }

// Edited makes a commit like another one, with edits to files of the repository. They put back what base has.
func (s *Slot) Edited(ctx context.Context, base, commit string, edits []git.Edit) (string, error) {
	id := ""
	err := s.withCopy(ctx, s.Top(), func(g git.Plumbing, _ string) error {
		tree, err := git.EditTree(g, base, commit, edits)
		if err == nil {
			id, err = s.p.o.Repo.CommitTree(ctx, tree, "The work with the tests from before it", base)
		}
		return err
	})
	if err != nil {
		return "", fmt.Errorf("put back tests in %s: %w", s.Name(), err)
	}
	return id, nil
}

// Shown is the commit that was last checked out, and the tree that the slot was made to look like.
func (s *Slot) Shown() (commit, tree string) {
	if f := s.finished; f != nil {
		return f.work, f.tree
	}
	return s.made.Commit, s.made.Tree
}

// Tree is what the slot looks like now.
func (s *Slot) Tree(ctx context.Context) (string, error) {
	if s.finished != nil {
		return s.finished.tree, nil
	}
	base := ""
	if s.Here() { // people may have changed submodules there
		base = s.made.Base
	}
	w, err := s.tree(ctx, base)
	if err != nil {
		return "", fmt.Errorf("look at %s: %w", s.Name(), err)
	}
	return w.Tree, nil
}

// tree makes a tree of the files. With a base, submodules stay as they are there.
func (s *Slot) tree(ctx context.Context, base string) (w Work, err error) {
	if err := s.load(); err != nil {
		return w, err
	}
	known := map[string]Work{}
	if s.still != nil {
		known = s.still.work
	}
	if w, is := known[base]; is {
		w.Left = slices.Clone(w.Left)
		return w, nil
	}
	err = s.withIndex(ctx, s.Top(), func(g git.Plumbing) (err error) {
		if all, is := known[""]; is {
			w.Tree, w.Left = all.Tree, slices.Clone(all.Left)
		} else if err = s.add(ctx, &w, g); err == nil {
			w.Tree, err = line(g(nil, "write-tree"))
		}
		if err != nil || base == "" {
			return err
		}
		known[""] = Work{Tree: w.Tree, Left: slices.Clone(w.Left)}
		if err = s.restoreLinks(ctx, &w, g, base); err == nil {
			err = s.dirtyLinks(ctx, &w, g)
		}
		return err
	})
	if u := s.made.Open; u != nil { // nobody has worked on the rest
		w.Left = slices.DeleteFunc(w.Left, func(l git.Left) bool { return slices.Contains(u.Before, l.Path) })
	}
	if err == nil {
		known[base] = Work{Tree: w.Tree, Left: slices.Clone(w.Left)}
		s.setIndexed(w.Tree)
	}
	return w, err
}

// ralph is the folder of the project's state in the repository: no agent's work.
func (s *Slot) ralph() string { return path.Join(s.p.o.Sub, ".ralph") }

// own are what ralph itself writes there.
func (s *Slot) own(ctx context.Context) []string {
	own := []string{s.ralph()}
	if s.Here() && s.p.o.Own != nil {
		for _, name := range s.p.o.Own(ctx) {
			own = append(own, path.Join(s.p.o.Sub, name))
		}
	}
	return own
}

// add brings the index up to date.
func (s *Slot) add(ctx context.Context, w *Work, g git.Plumbing) error {
	s.said.Reset()
	list, err := g(nil, "ls-files", "-zt", "--cached", "--modified", "--deleted", "--others", "--exclude-standard")
	if err != nil {
		return err
	}
	var tracked, names []string
	for _, entry := range git.Split(list) {
		tag, name, _ := strings.Cut(entry, " ")
		if folder, is := strings.CutSuffix(name, "/"); is {
			names = append(names, s.nested(ctx, w, folder)...)
		} else if strings.ContainsAny(tag, "?CR") { // other, changed, removed
			names = append(names, name)
		} else {
			tracked = append(tracked, name)
		}
	}
	files := git.Folder{Dir: s.Top(), Git: g, Max: s.p.o.MaxFile}
	own := s.own(ctx)
	u, err := files.Update(slices.DeleteFunc(append(names, s.forced(ctx, tracked)...), func(name string) bool { return git.Within(name, own) }))
	w.Left = append(w.Left, u.Left...)
	for _, name := range u.Large {
		w.Left = append(w.Left, git.Left{Path: name, Why: "the file is too large"})
	}
	for _, l := range git.PassedOver(s.said.String()) {
		if !slices.ContainsFunc(u.Left, func(file git.Left) bool { return git.Within(file.Path, []string{l.Path}) }) {
			w.Left = append(w.Left, l)
		}
	}
	return err
}

// forced lists what the agent's git tracks and ours does not, so that it is ignored. What the agent's git does not track
// decides nothing: an index that was made anew has no file that is ignored. What the project gave the slot is none of its work.
func (s *Slot) forced(ctx context.Context, ours []string) []string {
	theirs, _ := s.theirs(ctx, "", "--cached") // one that cannot be read decides nothing
	return slices.DeleteFunc(theirs, func(name string) bool {
		_, is := slices.BinarySearch(ours, name)
		return is || slices.ContainsFunc(s.made.Copied, func(copied string) bool { return git.Within(name, []string{strings.TrimSuffix(copied, "/")}) })
	})
}

// at is where a file of the repository is.
func (s *Slot) at(name string) string { return filepath.Join(s.Top(), filepath.FromSlash(name)) }

// nested lists the files of a repository that the agent made, by its ignore rules. Git would
// keep only the name of its commit, which nobody else has.
func (s *Slot) nested(ctx context.Context, w *Work, dir string) (names []string) {
	list, err := s.p.o.Repo.Git(ctx, s.call(s.at(dir), s.note("none")), "ls-files", "-z", "--others", "--exclude-standard")
	if err != nil {
		w.Left = append(w.Left, git.Left{Path: dir, Why: err.Error()})
	}
	for _, name := range git.Split(list) {
		name = dir + "/" + name
		if inner, is := strings.CutSuffix(name, "/"); is {
			names = append(names, s.nested(ctx, w, inner)...)
		} else {
			names = append(names, name)
		}
	}
	return names
}

// restoreLinks sets submodules back to what base has, unless they are at a commit of their remote.
func (s *Slot) restoreLinks(ctx context.Context, w *Work, g git.Plumbing, base string) error {
	diff, err := s.p.o.Repo.DiffTrees(ctx, base, w.Tree)
	if err != nil {
		return err
	}
	var entries []string
	for _, d := range diff {
		if d.Was.Mode != git.Gitlink && d.Now.Mode != git.Gitlink {
			continue
		}
		now, why := d.Was, whySubmodule
		if commit := s.headOf(path.Join(d.Path, ".git")); commit != "" && d.Was.Mode == git.Gitlink {
			if why = s.unpublished(ctx, link{d.Path, commit}); why == "" {
				now.ID = commit
			}
		}
		if entries = append(entries, now.Line(d.Path)); why != "" {
			w.Left = append(w.Left, git.Left{Path: d.Path, Why: why})
		}
	}
	if len(entries) == 0 {
		return nil
	}
	if _, err := g(git.Lines(entries), "update-index", "--replace", "-z", "--index-info"); err != nil {
		return err
	}
	w.Tree, err = line(g(nil, "write-tree"))
	return err
}

// dirtyLinks finds submodules with changes that were not even committed there: a gate would see
// them, and they would not land. It goes by the submodule's own index, read as a file.
func (s *Slot) dirtyLinks(ctx context.Context, w *Work, g git.Plumbing) error {
	if _, err := os.Lstat(s.at(".gitmodules")); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	list, err := g(nil, "ls-files", "-sz")
	if err != nil {
		return err
	}
	for _, entry := range git.Split(list) {
		_, name, _ := strings.Cut(entry, "\t")
		if !strings.HasPrefix(entry, git.Gitlink) || slices.ContainsFunc(w.Left, func(l git.Left) bool { return l.Path == name }) {
			continue
		}
		changes, err := s.theirs(ctx, name, "--modified", "--others", "--exclude-standard")
		if err != nil && !errors.Is(err, fs.ErrNotExist) || len(changes) > 0 || s.stray(name) {
			w.Left = append(w.Left, git.Left{Path: name, Why: whySubmodule})
		}
	}
	return nil
}

// stray says that there are files in a submodule that is not set up: git looks at none of them.
func (s *Slot) stray(name string) bool {
	copied := func(file string) bool {
		file = strings.TrimSuffix(file, "/")
		return git.Within(name, []string{file}) || git.Within(file, []string{name})
	}
	if _, err := os.Lstat(s.at(name + "/.git")); err == nil || slices.ContainsFunc(s.made.Copied, copied) {
		return false
	}
	files, err := os.ReadDir(s.at(name))
	return err == nil && len(files) > 0
}

// theirs lists files by the index of the agent's git in a folder. It is copied as a file: no git ever starts
// from what an agent wrote.
func (s *Slot) theirs(ctx context.Context, folder string, options ...string) ([]string, error) {
	root, err := os.OpenRoot(s.Top())
	if err != nil {
		return nil, err
	}
	defer root.Close()
	temp, err := os.MkdirTemp(s.note(""), "tmp-") // of our own, as git takes an index that is gone for an empty one
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(temp) }() // Take removes what stays
	index := filepath.Join(temp, "index")
	if s.Here() && folder == "" {
		own, err := os.OpenRoot(s.p.o.Repo.Own())
		if err != nil {
			return nil, err
		}
		defer own.Close()
		if err := copyOut(index, own, "index"); err != nil {
			return nil, err
		}
		return s.listed(ctx, s.Top(), index, options)
	}
	at := path.Join(folder, ".git")
	if elsewhere, is := strings.CutPrefix(strings.TrimSpace(read(root, at)), "gitdir: "); is {
		at = path.Join(folder, elsewhere)
	}
	if err := copyOut(index, root, path.Join(at, "index")); err != nil {
		return nil, err
	}
	return s.listed(ctx, s.at(folder), index, options)
}

// listed is what git lists of a folder by an index.
func (s *Slot) listed(ctx context.Context, dir, index string, options []string) (names []string, err error) {
	if data, err := os.ReadFile(index); err == nil && slices.Equal(options, []string{"--cached"}) {
		if list, err := git.ParseIndex(data, s.made.Commit); err == nil {
			return seq.Map(list, func(f git.Indexed) string { return f.Name }), nil
		}
	}
	out, err := s.p.o.Repo.Git(ctx, s.call(dir, index), append([]string{"ls-files", "-z"}, options...)...)
	return git.Split(out), err
}

func line(out string, err error) (string, error) { return strings.TrimSuffix(out, "\n"), err }

// Conflict shows what comes of merging work, which is on base, into onto, with conflict markers:
// onto is checked out, and git in the slot says which paths are unmerged.
func (s *Slot) Conflict(ctx context.Context, base, onto, work string) error {
	if s.Here() { // only finished work can be in conflict there, and no session resolves that
		return nil
	}
	m, err := s.p.o.Repo.Merge(ctx, base, onto, work)
	if err != nil {
		return err
	}
	stages := seq.Map(m.Files, func(name string) string { return git.Entry{Mode: "0", ID: strings.Repeat("0", len(m.Tree))}.Line(name) })
	s.made.Mark, s.made.Resolves = "> "+work, cmp.Or(s.made.Resolves, work)
	return s.show(ctx, onto, onto, m.Tree, append(stages, m.Stages...), m.Files)
}

// Base is the commit below the work in the slot.
func (s *Slot) Base() string {
	if s.finished != nil {
		return s.finished.base
	}
	return s.made.Base
}

// Unresolved lists the files in conflict that nobody has decided about: what is in the slot is
// then a merge that nobody finished. A file has its conflict markers still; one that was shown without,
// because it was deleted or is not text, is there and unmerged in the agent's index.
func (s *Slot) Unresolved(ctx context.Context) []string {
	if len(s.made.Conflicts) == 0 {
		return nil
	}
	unmerged, _ := s.theirs(ctx, "", "--unmerged") // as far as that can be read
	return slices.DeleteFunc(slices.Clone(s.made.Conflicts), func(name string) bool {
		_, err := os.Lstat(s.at(name))
		staged := !slices.ContainsFunc(unmerged, func(entry string) bool { return strings.HasSuffix(entry, "\t"+name) })
		return !s.marked(name) && (err != nil || staged || !slices.Contains(s.made.Unmarked, name))
	})
}

// marked says that a file has a conflict marker of the merge that was shown, which names the
// work. Others may be part of its text.
func (s *Slot) marked(name string) bool {
	root, err := os.OpenRoot(s.Top())
	if err != nil {
		return false
	}
	defer root.Close()
	return strings.Contains(read(root, name), s.made.Mark)
}

// Message is what the agent wrote into its own commits since the slot was last shown a commit,
// the oldest first; "" if it made none. Its objects are read by the project's git.
func (s *Slot) Message(ctx context.Context) (string, error) {
	if err := s.load(); err != nil {
		return "", err
	}
	from, id, objects := s.made.Commit, s.head(), filepath.Join(s.Top(), ".git", "objects")
	call := git.Call{Env: []string{"GIT_ALTERNATE_OBJECT_DIRECTORIES=" + git.Quote(objects)}}
	if s.Here() {
		at, err := s.checkedOut(ctx)
		if from, id, call = s.made.Head, at.Commit, (git.Call{}); err != nil || s.finished != nil || from == "" {
			return "", err
		}
	} else if !isDir(objects) {
		return "", nil
	}
	if id == "" || id == from {
		return "", nil
	}
	ctx, cancel := context.WithTimeout(ctx, messageTimeout)
	defer cancel()
	// 4,000 characters of each will do; git fills up what is shorter with blanks.
	out, err := s.p.o.Repo.Git(ctx, call, "log", "-z", "--reverse", "--no-merges", "--max-count=100", "--encoding=UTF-8", "--no-show-signature", "--no-notes",
		"--no-color", "--format=%<(4000,trunc)%B", from+".."+id)
	if err != nil {
		return "", fmt.Errorf("messages of %s: %w", s.Name(), err)
	}
	var messages []string
	for _, message := range git.Split(out) {
		if message = strings.TrimSpace(message); message != "" {
			messages = append(messages, message)
		}
	}
	return strings.Join(messages, "\n\n"), nil
}
