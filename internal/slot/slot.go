// Package slot keeps the folders in which parallel agents work: each has the files of a
// commit and a private .git that borrows the project's objects. It never runs git with what
// an agent wrote into a slot, and never decides which slot is free.
package slot

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"ralph/internal/filelock"
	"ralph/internal/git"
	"ralph/internal/human"
	"ralph/internal/seen"
	"ralph/internal/seq"
	"ralph/internal/testing/failpoint"
)

// Options say where slots are and what is put into them.
type Options struct {
	Repo    *git.Repo
	Dir     string // holds one folder per slot; agents may write in these, not beside them
	State   string // what ralph knows about each slot, out of agents' reach
	Project string // the root of the project
	Sub     string // the project's folder within its repository, "" for all of it
	Name    string // of the project, for the names of containers
	Branch  string // the branch that agents find checked out: the target's

	// Copy names ignored files of the project that slots get too, as .gitignore does; its
	// file .worktreeinclude does the same. If it is Assumed, slots do without what cannot be copied.
	Copy    []string
	Assumed bool
	// Dotenv is given the text of each .env file that a slot gets, before it gets it; nil is given none.
	Dotenv func(context.Context, string)
	// Setup prepares a new slot, confined by whoever gives it; it runs again if SetupIs (its
	// command) or one of the files SetupOn of the project has changed.
	Setup   func(context.Context, *Slot) error
	SetupIs string
	SetupOn []string

	// Layers reports whether what gates write in a folder can go into another one instead, see Room.Upper. It is asked once; nil
	// means that it cannot.
	Layers func(dir, upper string) bool
	// Sees reports whether the processes of slots can find these in the place of the repository. It is asked once, too.
	Sees func(seen.Folder) bool

	// Here is the number of the slot that is the project's own folder, in which agents may work, too; 0 for none. Folder is the ref of what
	// has landed there, and Own lists, from the project on, the files in it that ralph itself writes.
	Here   int
	Folder string
	Own    func(context.Context) []string

	MinFree int64 // bytes that have to stay free
	MaxFile int64 // no larger file is kept; 0 means 512 MiB
}

var (
	// ErrFull says that there is no space for another slot.
	ErrFull = errors.New("the disk is nearly full")
	// ErrTorn says that ralph died while it was changing the files of a slot: they are nobody's work.
	ErrTorn = errors.New("the slot was being changed when ralph died")
)

// Pool is the slots of a project.
type Pool struct {
	o       Options
	judges  bool        // its slots are rooms
	layered func() bool // they have uppers
	sees    func() seen.Folder
	setting func(name string)
	left    func(line string)
	home    string   // of slots, rooms and snapshots
	listed  *listing // of the project
	shown   *shown
	indexed *sync.Map // by the path of an index
	noted   noted
}

// noted is what ralph wrote last about the project's own folder, as long as an attempt works there: its agent may be able to write these
// files.
type noted struct {
	made   []byte // nil if nothing was written since the attempt began
	index  string // its sum, "" likewise
	forged []string
}

// OnSetup has f called before what may take minutes: each Setup, and each copy of a folder.
func (p *Pool) OnSetup(f func(name string)) { p.setting = f }

// OnLeftOut has f called with a line about each folder that slots do without.
func (p *Pool) OnLeftOut(f func(line string)) { p.left = f }

// Open returns the slots of a project. It makes none.
func Open(o Options) *Pool {
	if o.MaxFile == 0 {
		o.MaxFile = 512 << 20
	}
	if o.Sub = filepath.ToSlash(o.Sub); o.Sub == "." {
		o.Sub = ""
	}
	o.Branch = human.Branch(o.Branch)
	if o.Branch == "" || !filepath.IsLocal(o.Branch) {
		o.Branch = "main"
	}
	p := &Pool{o: o, home: o.Dir, listed: &listing{}, shown: &shown{rooms: map[int]*Slot{}}, indexed: &sync.Map{}}
	p.layered, p.sees = sync.OnceValue(p.layers), sync.OnceValue(p.place)
	return p
}

// Sub is the project's folder within its repository, "" for all of it.
func (p *Pool) Sub() string { return p.o.Sub }

// Slot is one folder. It belongs to one attempt, and its methods to one goroutine, at a time.
type Slot struct {
	p    *Pool
	n    int
	made made
	said strings.Builder // by git beside its output

	found    *found    // what it gets of the project; an agent at work keeps what it has
	now      Work      // of the project's own folder, as it was seen last
	finished *finished // work that the project's own folder stands for, whatever is in it
	ranSetup bool      // since its files were last set
	still    *still    // what was seen since the slot is held; nil while it is not
	kept     kept      // by this process, last
	ours     string    // the tree that its files are known to be of
}

func (p *Pool) slot(n int) *Slot { return &Slot{p: p, n: n} }

// Name is what people call it.
func (s *Slot) Name() string {
	switch {
	case s.Here():
		return "this folder"
	case s.p.judges && s.n == s.p.o.Here && s.n > 0:
		return "the room of this folder"
	case s.p.judges:
		return fmt.Sprintf("room %d", s.n)
	}
	return fmt.Sprintf("slot %d", s.n)
}

// Top is the slot's folder: all of the repository.
func (s *Slot) Top() string {
	if s.Here() {
		return s.p.o.Repo.Dir()
	}
	return filepath.Join(s.p.o.Dir, strconv.Itoa(s.n))
}

// Dir is the folder to work in: the project's place in the repository.
func (s *Slot) Dir() string { return filepath.Join(s.Top(), filepath.FromSlash(s.p.o.Sub)) }

// maxSlots is more than there ever are.
const maxSlots = 256

// Env is what programs in the slot are told, so that ports and containers of one slot are not
// those of another, and git does not take a repository above for the slot's if its own is gone.
func (s *Slot) Env() []string {
	if s.Here() {
		return nil
	}
	name := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, strings.ToLower(s.p.o.Name))
	number, kind := s.n, "-slot"
	if s.p.judges { // what its agent has left listening is not what a gate starts
		number, kind = s.n+maxSlots, "-room"
	}
	return []string{
		"RALPH_SLOT=" + strconv.Itoa(number), "RALPH_PROJECT=" + s.p.o.Project,
		"COMPOSE_PROJECT_NAME=" + strings.TrimLeft(name+kind, "-") + strconv.Itoa(s.n),
		"GIT_CEILING_DIRECTORIES=" + filepath.Dir(s.Place().Inside(s.Top())),
	}
}

// Take makes slot n ready for an attempt, which begins at a commit: at base, or at work on it.
// Ignored files stay as the last attempt left them, so that caches are warm. A slot that is
// missing, damaged or half made is made anew; what is in the way of that is for Sweep to remove.
func (p *Pool) Take(ctx context.Context, n int, attempt, base, commit string) (*Slot, error) {
	s := p.slot(n)
	if err := s.take(ctx, attempt, base, commit); err != nil {
		return nil, fmt.Errorf("take slot %d: %w", n, err)
	}
	return s, nil
}

func (s *Slot) take(ctx context.Context, attempt, base, commit string) error {
	tree, err := s.p.o.Repo.Tree(ctx, commit)
	if err != nil {
		return err
	}
	err = s.load()
	if err == nil && s.made.Seen != s.Place().Seen { // what was built there names the other path
		err = ErrTorn
	}
	if space, err := s.p.Space(err != nil); err == nil && space.Full {
		return fmt.Errorf("%w: %s", ErrFull, space)
	}
	if err := s.begin(); err != nil {
		return err
	}
	if err == nil {
		if err = s.files(ctx, commit); err == nil {
			err = s.private(ctx, commit)
		}
	}
	s.made.Unclean = false
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		if err := s.make(ctx, commit); err != nil {
			return err
		}
	}
	if err = s.setUp(ctx, commit, commit); err == nil {
		err = s.resolved(ctx)
	}
	if err != nil {
		return err
	}
	if s.made.Attempt, s.made.Resolves = attempt, ""; commit != base {
		if s.made.Resolves, err = s.resolves(ctx, commit); err != nil {
			return err
		}
	}
	return s.finish(base, commit, tree, nil)
}

// resolves is what a commit of work says it resolves.
func (s *Slot) resolves(ctx context.Context, commit string) (string, error) {
	return s.p.o.Repo.Trailer(ctx, commit, resolves)
}

// make fills a new folder and puts it in the place of the old one. A git that a dead ralph
// has left running knows that folder only, so no other ever has its name.
func (s *Slot) make(ctx context.Context, commit string) error {
	name := fmt.Sprintf(".new-%d-", s.n)
	left, _ := filepath.Glob(filepath.Join(s.p.o.Dir, name+"*")) // the pattern is good
	for _, path := range left {
		if err := s.p.discard(path); err != nil {
			return err
		}
	}
	fresh, err := os.MkdirTemp(s.p.o.Dir, name)
	if err != nil {
		return err
	}
	if err := os.Remove(s.index()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	err = s.withIndex(ctx, fresh, func(g git.Plumbing) error {
		_, err := g(nil, "read-tree", "--reset", "-u", commit)
		return err
	})
	if err != nil {
		return err
	}
	failpoint.Hit("in-slot-setup")
	if err := s.p.discard(s.Top()); err != nil {
		return err
	}
	if err := os.Rename(fresh, s.Top()); err != nil {
		return err
	}
	s.made = made{}
	return errors.Join(s.private(ctx, commit), s.footing())
}

// Of is the slot or room that a folder is in, nil if it is in none.
func (p *Pool) Of(dir string) *Slot {
	for _, pool := range []*Pool{p.rooms(), p} {
		rel, err := filepath.Rel(pool.o.Dir, dir)
		top, _, _ := strings.Cut(filepath.ToSlash(rel), "/")
		if n, nerr := strconv.Atoi(top); err == nil && nerr == nil {
			return pool.slot(n)
		}
	}
	return nil
}

// At returns slot n as it is: for what an attempt has left there whose ralph died. The error is
// fs.ErrNotExist if there is no such slot, and ErrTorn if its files are nobody's work.
func (p *Pool) At(n int) (*Slot, error) {
	s := p.slot(n)
	return s, s.load()
}

// Attempt is whose work is in the slot.
func (s *Slot) Attempt() string { return s.made.Attempt }

// Gone says that somebody has deleted the slot's folder.
func (s *Slot) Gone() bool {
	_, err := os.Lstat(s.Top())
	return errors.Is(err, fs.ErrNotExist)
}

// Show sets the files to a commit, as Take does, in the middle of an attempt: what the agent
// stashed, and its own commits, stay in the private .git.
func (s *Slot) Show(ctx context.Context, base, commit string) error {
	if s.Here() { // it shows the work as it is, on the tip that nobody else moves meanwhile
		return nil
	}
	if base == commit { // nothing is left of the work
		s.made.Resolves = ""
	}
	return s.show(ctx, base, commit, commit, nil, nil)
}

// show sets the files to a tree, of which the agent is told that head is checked out.
func (s *Slot) show(ctx context.Context, base, head, tree string, stages, conflicts []string) error {
	own, err := s.p.o.Repo.Tree(ctx, tree)
	if err == nil {
		err = s.begin()
	}
	if err == nil {
		err = s.files(ctx, tree)
	}
	if err == nil {
		err = s.point(ctx, head, stages)
		if err != nil || s.made.Unclean { // an agent has broken the .git, or gates may have
			err = errors.Join(s.private(ctx, head), s.point(ctx, head, stages))
		}
		s.made.Unclean = false
	}
	if err == nil && stages == nil {
		err = s.setUp(ctx, head, tree)
	}
	if err == nil || errors.As(err, new(*SetupError)) && s.back(ctx, head, tree) == nil { // it is whole all the same
		err = errors.Join(err, s.finish(base, head, own, conflicts))
	}
	if err != nil {
		return fmt.Errorf("show %s in %s: %w", tree, s.Name(), err)
	}
	return nil
}

// Info is what is known of a slot.
type Info struct {
	N    int
	Path string
	Size int64     // of it and of its room
	Used time.Time // when its files were last set
}

// List is the slots there are, by number.
func (p *Pool) List() ([]Info, error) {
	entries, err := os.ReadDir(p.o.Dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var list []Info
	for _, e := range entries {
		n, err := strconv.Atoi(e.Name())
		if err != nil || n < 1 {
			continue
		}
		s := p.slot(n)
		_ = s.load() // one that is half made is listed too
		room := p.rooms().slot(n)
		_ = room.load() // it may not be there yet
		info := Info{N: n, Path: s.Top(), Size: s.made.Size + room.made.Size}
		if at, err := os.Stat(s.note("made.json")); err == nil {
			info.Used = at.ModTime()
		}
		list = append(list, info)
	}
	slices.SortFunc(list, func(a, b Info) int { return a.N - b.N })
	return list, nil
}

// Remove takes slot n and its room away. Their files are gone from their places at once; Sweep removes them.
func (p *Pool) Remove(n int) error {
	s, room := p.slot(n), p.rooms().slot(n)
	return errors.Join(p.discard(s.Top()), room.p.discard(room.Top()), p.discard(s.written()), room.p.discard(room.written()), os.RemoveAll(room.note("")), os.RemoveAll(s.note("")))
}

// discard renames a file or folder so that Sweep finds it: to remove many files takes long.
func (p *Pool) discard(path string) error {
	_, err := p.moveAway(path)
	return err
}

// moveAway is discard, and returns what Sweep is to remove, "" for nothing.
func (p *Pool) moveAway(path string) (string, error) {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err == nil && info.IsDir() {
		err = os.Chmod(path, 0o700) // a folder that cannot be written cannot be moved either
	}
	if err != nil {
		return "", err
	}
	hole, err := os.MkdirTemp(p.o.Dir, ".old-")
	if err != nil {
		return "", err
	}
	return hole, os.Rename(path, filepath.Join(hole, "it"))
}

// Sweep removes what is no slot any more, also what a dead ralph has left, and snapshots that no slot uses.
func (p *Pool) Sweep() error {
	var err error
	if f, oerr := os.OpenFile(p.lockFile(), os.O_RDWR, 0); oerr == nil { // else there are none
		if filelock.Try(f) { // else a run does it
			_, err = p.unused(func(string) bool { return false }) // and then as below
		}
		_ = filelock.Close(f)
	}
	return errors.Join(append(seq.Map(p.Discarded(), removeAll), err)...)
}

// Discarded lists the folders that Sweep removes. Without slots, the caches of their rooms and the place for their view are among them.
func (p *Pool) Discarded() []string {
	var list []string
	if slots, err := p.List(); err == nil && len(slots) == 0 {
		_, landed := p.rooms().slot(1).Caches()
		for _, dir := range []string{landed, filepath.Join(p.o.Dir, view)} {
			if _, err := os.Lstat(dir); err == nil {
				list = append(list, dir)
			}
		}
	}
	for _, dir := range []string{p.o.Dir, p.rooms().o.Dir} {
		entries, _ := os.ReadDir(dir) // without it there are none
		for _, e := range entries {
			if strings.HasPrefix(e.Name(), ".old-") {
				list = append(list, filepath.Join(dir, e.Name()))
			}
		}
	}
	return list
}

// removeAll removes folders too that were made read-only, as caches of modules are.
func removeAll(path string) error {
	if os.RemoveAll(path) == nil {
		return nil
	}
	return errors.Join(writable(path), os.RemoveAll(path))
}

// writable makes all folders below writable for us.
func writable(path string) error {
	return filepath.WalkDir(path, func(path string, d fs.DirEntry, err error) error {
		if d == nil || !d.IsDir() || err != nil { // an error comes after the folder itself
			return err
		}
		info, err := d.Info()
		if err != nil || info.Mode().Perm()&0o700 == 0o700 {
			return err
		}
		return os.Chmod(path, info.Mode().Perm()|0o700)
	})
}
