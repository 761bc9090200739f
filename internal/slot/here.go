package slot

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"ralph/internal/copyfile"
	"ralph/internal/git"
	"ralph/internal/human"
	"ralph/internal/seq"
)

// The project's own folder is the slot of agents that work in place. It is a person's, too: no .git is made there, nothing is checked
// out when an attempt begins, and a file is written only where it is as the work left it.

// Here reports whether a slot is the project's own folder.
func (s *Slot) Here() bool { return s.n == s.p.o.Here && !s.p.judges && s.n > 0 }

// Here is the slot that is the project's own folder.
func (p *Pool) Here() *Slot { return p.slot(p.o.Here) }

// state is the folder at one moment.
type state struct {
	Tree  string
	Head  head
	Index string // the sum of the person's index
}

// Unfinished is work in the folder that has not landed.
type Unfinished struct {
	Task, Attempt string
	Base          string   // the commit below it, with what people changed meanwhile
	Began         head     // when the task's first attempt began
	Before        []string // what could not be kept of the folder as it was then
	Left          *state   // by the last attempt; nil as long as one is at work
}

// TouchedError says that work cannot be taken out of the folder, or put into it, because a person has changed the same.
type TouchedError struct {
	Files []string
	Why   string // if it is not because of files
}

func (e *TouchedError) Error() string {
	if e.Why != "" {
		return e.Why
	}
	return "changed in this folder meanwhile: " + human.List(e.Files, 5)
}

// Enter learns what was left in the folder, and brings its files to what landed when its ralph died.
func (s *Slot) Enter(ctx context.Context) (u Unfinished, err error) {
	s.p.noted = noted{}
	if err := os.MkdirAll(s.note(""), 0o700); err != nil {
		return u, err
	}
	err = s.load()
	if common := s.p.o.Repo.Common(); errors.Is(err, ErrTorn) || err == nil && s.made.Repo != common { // this is the first time, or another repository
		s.made = made{Repo: common}
		_ = os.Remove(s.index())
		err = s.save()
	}
	if err != nil {
		return u, err
	}
	if err := s.seed(ctx); err != nil {
		return u, fmt.Errorf("look at this folder: %w", err)
	}
	if s.made.Open != nil {
		u = *s.made.Open
	}
	return u, s.roll(ctx)
}

// seed makes an index of our own from what was committed. What a sparse checkout leaves out is left out.
func (s *Slot) seed(ctx context.Context) error {
	if _, err := os.Lstat(s.index()); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	at, err := s.checkedOut(ctx)
	if err != nil {
		return err
	}
	repo := s.p.o.Repo
	out, err := repo.Git(ctx, git.Call{Own: repo.Own()}, "ls-files", "-zt", "--cached")
	if err != nil {
		return err
	}
	var skipped []string
	for _, entry := range git.Split(out) {
		if tag, name, _ := strings.Cut(entry, " "); tag == "S" {
			if _, err := os.Lstat(s.at(name)); errors.Is(err, fs.ErrNotExist) {
				skipped = append(skipped, name)
			}
		}
	}
	return s.withIndex(ctx, s.Top(), func(g git.Plumbing) error {
		tree := at.Commit
		if tree == "" {
			tree = "--empty"
		}
		_, err := g(nil, "read-tree", tree)
		if err == nil && len(skipped) > 0 {
			_, err = g(git.Lines(skipped), "update-index", "--skip-worktree", "-z", "--stdin")
		}
		return err
	})
}

// look is what the folder is now. What is not part of a tree is as it is in base.
func (s *Slot) look(ctx context.Context, base string) (now state, err error) {
	if s.now, err = s.tree(ctx, base); err == nil {
		now.Tree = s.now.Tree
		now.Head, err = s.checkedOut(ctx)
	}
	now.Index = sumOf(s.theirIndex())
	return now, err
}

func (s *Slot) theirIndex() string { return filepath.Join(s.p.o.Repo.Own(), "index") }

// sumOf is the sum of a file, "" if there is none. An agent may have put a pipe there, which would be waited for.
func sumOf(path string) string {
	data, err := copyfile.Read(path, maxIndex)
	if err != nil {
		return ""
	}
	return fmt.Sprintf("%x", sha256.Sum256(data))
}

// People is a tree of the folder without unfinished work: what was below it, with what people have changed since the work was left, or
// committed. Of files in which the two cannot be told apart it has what was there before both.
func (s *Slot) People(ctx context.Context, tip string) (tree string, mixed []string, err error) {
	u := s.made.Open
	if u == nil {
		s.now, err = s.tree(ctx, tip)
		return s.now.Tree, nil, err
	}
	now, err := s.look(ctx, u.Base)
	if err != nil {
		return "", nil, err
	}
	return s.people(ctx, *u, now)
}

// Left are the names of what could not be kept when the folder was seen last.
func (s *Slot) Left() []string { return seq.Map(s.now.Left, func(l git.Left) string { return l.Path }) }

// Kept is a commit of the folder as it was seen last, on another one.
func (s *Slot) Kept(ctx context.Context, base string) (string, error) {
	was, err := s.p.o.Repo.Tree(ctx, base)
	if err != nil || was == s.now.Tree {
		return base, err
	}
	return s.p.o.Repo.CommitTree(ctx, s.now.Tree, "The work so far\n", base)
}

func (s *Slot) people(ctx context.Context, u Unfinished, now state) (tree string, mixed []string, err error) {
	repo := s.p.o.Repo
	if tree, err = repo.Tree(ctx, u.Base); err != nil || u.Left == nil {
		return tree, nil, err
	}
	if u.Left.Tree != now.Tree {
		left, err := repo.CommitTree(ctx, u.Left.Tree, "Left", "")
		if err != nil {
			return "", nil, err
		}
		changed, err := repo.CommitTree(ctx, now.Tree, "Changed", left)
		if err != nil {
			return "", nil, err
		}
		m, err := repo.Merge(ctx, left, u.Base, changed)
		if err != nil {
			return "", nil, err
		}
		mixed = m.Files
		was, err := repo.DiffTrees(ctx, m.Tree, u.Base)
		if err != nil {
			return "", nil, err
		}
		was = slices.DeleteFunc(was, func(d git.Diff) bool { return !slices.Contains(mixed, d.Path) })
		if tree, err = s.with(ctx, m.Tree, was); err != nil {
			return "", nil, err
		}
	}
	if at := now.Head.Commit; at == "" || at == u.Left.Head.Commit {
		return tree, mixed, nil
	}
	from := u.Left.Head.Commit
	if from == "" {
		from = emptyTree(now.Tree)
	}
	committed, err := repo.DiffTrees(ctx, from, now.Head.Commit)
	if err != nil {
		return "", nil, err
	}
	differs, err := repo.DiffTrees(ctx, now.Head.Commit, now.Tree)
	if err != nil {
		return "", nil, err
	}
	theirs := seq.Set(committed, func(d git.Diff) string { return d.Path })
	for _, d := range differs {
		delete(theirs, d.Path) // not all of it is committed
	}
	open, err := repo.DiffTrees(ctx, tree, now.Tree)
	if err != nil {
		return "", nil, err
	}
	open = slices.DeleteFunc(open, func(d git.Diff) bool { return !theirs[d.Path] })
	mixed = slices.DeleteFunc(mixed, func(name string) bool { return theirs[name] })
	tree, err = s.with(ctx, tree, open)
	return tree, mixed, err
}

func emptyTree(like string) string {
	if len(like) == sha256.Size*2 {
		return "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321"
	}
	return "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
}

// with is a tree that has what others have at some paths.
func (s *Slot) with(ctx context.Context, tree string, changes []git.Diff) (id string, err error) {
	if len(changes) == 0 {
		return tree, nil
	}
	lines := seq.Map(changes, func(d git.Diff) string {
		if d.Now.Mode == git.Nothing {
			return git.Entry{Mode: "0", ID: strings.Repeat("0", len(tree))}.Line(d.Path)
		}
		return d.Now.Line(d.Path)
	})
	err = s.withCopy(ctx, s.Top(), func(g git.Plumbing, _ string) error {
		_, err := g(nil, "read-tree", tree)
		if err == nil {
			_, err = g(git.Lines(lines), "update-index", "--replace", "-z", "--index-info")
		}
		if err == nil {
			id, err = line(g(nil, "write-tree"))
		}
		return err
	})
	return id, err
}

// Begin has an attempt at a task begin with a commit, on base. Files are written only if that has earlier work which is not in the folder.
func (s *Slot) Begin(ctx context.Context, task, attempt, base, commit string) error {
	tree, err := s.p.o.Repo.Tree(ctx, commit)
	if err != nil {
		return err
	}
	at, err := s.checkedOut(ctx)
	if err != nil {
		return err
	}
	u := Unfinished{Task: task, Attempt: attempt, Base: base, Began: at, Before: seq.Map(s.now.Left, func(l git.Left) string { return l.Path })}
	if was := s.made.Open; was != nil && was.Task == task {
		u.Began, u.Before = was.Began, was.Before
	} else if err := s.saveIndex(); err != nil {
		return err
	}
	refs, err := packed(ctx, s.p.o.Repo, refFolders...)
	if err == nil {
		err = os.WriteFile(s.note(refsNote), []byte(refs), 0o600)
	}
	if err != nil {
		return err
	}
	s.made.Attempt, s.made.Open, s.made.Head, s.made.Base, s.made.Commit, s.made.Resolves = attempt, &u, at.Commit, base, commit, ""
	if commit != base {
		if s.made.Resolves, err = s.resolves(ctx, commit); err != nil {
			return err
		}
	}
	if err := s.save(); err != nil { // from now on what is in the folder is this work
		return err
	}
	if tree != s.now.Tree {
		if err := s.set(ctx, s.now.Tree, tree); err != nil {
			return err
		}
	}
	s.made.Tree = tree
	return s.save()
}

// finished is work that only has to land.
type finished struct{ base, work, tree string }

// Stand has the slot stand for work that is finished: the folder itself does not matter until that lands.
func (s *Slot) Stand(ctx context.Context, base, work string) error {
	tree, err := s.p.o.Repo.Tree(ctx, work)
	s.finished = &finished{base, work, tree}
	return err
}

// saveIndex keeps the person's index as it is before the work.
func (s *Slot) saveIndex() error {
	_ = os.Remove(s.note("their-index"))
	err := git.CopyIndex(s.note("their-index"), s.theirIndex())
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// Leave notes what an attempt leaves in the folder. It is over, and all of its processes are gone.
func (s *Slot) Leave(ctx context.Context) error {
	u := s.made.Open
	if u == nil || s.finished != nil {
		return nil
	}
	now, err := s.look(ctx, u.Base)
	s.still = nil // from now on it is a person who changes something
	if err == nil {
		u.Left = &now
		err = s.save()
	}
	return err
}

// Forget says that what is in the folder is not unfinished work any more.
func (s *Slot) Forget() error {
	s.made.Open = nil
	return s.save()
}

// Clear takes unfinished work out of the folder, which is kept elsewhere: files, commits on the branch, and what was staged go back to
// what there was before the work. It is a *TouchedError, and changes nothing, if a person has changed the same.
func (s *Slot) Clear(ctx context.Context) error {
	u := s.made.Open
	if u == nil {
		return nil
	}
	now, err := s.look(ctx, u.Base)
	if err != nil {
		return err
	}
	if u.Left == nil { // its ralph died
		u.Left = &now
	}
	left := u.Left.Head
	if left != u.Began && now.Head != left && now.Head != u.Began {
		return &TouchedError{Why: fmt.Sprintf("it changed what git has checked out, from %s to %s, and that is %s by now", u.Began, left, now.Head)}
	}
	tree, mixed, err := s.people(ctx, *u, now)
	if err != nil {
		return err
	}
	if len(mixed) > 0 {
		return &TouchedError{Files: mixed}
	}
	if err := s.save(); err != nil {
		return err
	}
	if err := s.set(ctx, now.Tree, tree); err != nil {
		return err
	}
	if now.Head == left && left != u.Began {
		if err := s.checkOut(ctx, left, u.Began); err != nil {
			return err
		}
		now.Head = u.Began
	}
	if now.Head == u.Began && now.Index == u.Left.Index {
		if err := s.restoreIndex(); err != nil {
			return err
		}
	}
	return s.Forget()
}

// restoreIndex puts the person's index back, as git does: by its lock.
func (s *Slot) restoreIndex() error {
	at := s.theirIndex()
	data, err := copyfile.Read(s.note("their-index"), maxIndex)
	if errors.Is(err, fs.ErrNotExist) {
		if err := os.Remove(at); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	if err != nil || fmt.Sprintf("%x", sha256.Sum256(data)) == sumOf(at) {
		return err
	}
	f, err := os.OpenFile(at+".lock", os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644) //nolint:gosec // as git makes it
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Close()); err != nil {
		return errors.Join(err, os.Remove(at+".lock"))
	}
	return os.Rename(at+".lock", at)
}

// set makes the files what another tree has. It is a *TouchedError, and nothing changes, if git would overwrite something.
func (s *Slot) set(ctx context.Context, from, to string) error {
	if from == to {
		return nil
	}
	err := s.withIndex(ctx, s.Top(), func(g git.Plumbing) error {
		_, _ = g(nil, "update-index", "-q", "--refresh") // what differs is for read-tree to say
		_, err := g(nil, "read-tree", "-m", "-u", from, to)
		return err
	})
	if failed := new(git.CommandError); errors.As(err, &failed) && git.Status(err) > 0 {
		return &TouchedError{Why: strings.TrimSpace(failed.Stderr)}
	}
	return err
}

// Done says that the work in the folder has landed.
func (s *Slot) Done(task string) error {
	if s.made.Open == nil || s.made.Open.Task != task {
		return nil
	}
	return s.Forget()
}
