package slot

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"sync"
)

// Room is the folder in which the work of a slot is judged: it shows what would land, and no agent writes in it. What gates leave
// there is gone when it shows something else, unless the work has landed.
type Room struct{ *Slot }

// rooms are slots of their own, by the same numbers.
func (p *Pool) rooms() *Pool {
	rooms := *p
	rooms.o.Dir, rooms.o.State, rooms.judges = filepath.Join(p.o.Dir, "rooms"), filepath.Join(p.o.State, "rooms"), true
	return &rooms
}

// shown are the rooms of this process by their numbers: what it knows of one saves looking at all of its files.
type shown struct {
	sync.Mutex
	rooms map[int]*Slot
}

// Room is the room of slot n. It is made when it first shows something.
func (p *Pool) Room(n int) Room {
	p.shown.Lock()
	defer p.shown.Unlock()
	if p.shown.rooms[n] == nil {
		p.shown.rooms[n] = p.rooms().slot(n)
	}
	return Room{p.shown.rooms[n]}
}

// Layered reports whether rooms have uppers.
func (p *Pool) Layered() bool { return p.layered() }

// layers tries whether rooms have uppers where they are.
func (p *Pool) layers() bool {
	dir := p.rooms().o.Dir
	if p.o.Layers == nil || os.MkdirAll(dir, 0o700) != nil {
		return false
	}
	probe, err := os.MkdirTemp(dir, ".old-") // what stays of it is swept
	if err != nil {
		return false
	}
	defer func() { _ = removeAll(probe) }()
	lower, upper := filepath.Join(probe, "lower"), filepath.Join(probe, "upper")
	return os.Mkdir(lower, 0o700) == nil && os.Mkdir(upper, 0o700) == nil && p.o.Layers(lower, upper)
}

// Show makes the room look like work on a base, or like the base itself.
func (r Room) Show(ctx context.Context, base, commit string) error {
	known := r.made.Commit != "" // to this process
	if err := r.load(); err != nil || !known {
		if r.ours = ""; err == nil || base == commit {
			return r.take(ctx, "", base, commit)
		}
		if err := r.take(ctx, "", base, base); err != nil { // a new one is set up by what has landed
			return err
		}
	}
	if r.made.Base == r.made.Commit { // that has landed
		own, _ := r.Caches()
		_ = r.share(own) // a cache that stays behind is only built again
	}
	return r.Slot.Show(ctx, base, commit)
}

// Begin forgets what gates of other work wrote in caches.
func (r Room) Begin() error { return removeAll(r.caches()) }

// Trust says that what the room shows has landed: what its gates left is as good as what they accepted.
func (r Room) Trust() error {
	shown, err := filepath.Glob(filepath.Join(r.caches(), "*"))
	for _, own := range shown {
		err = errors.Join(err, r.share(own))
	}
	if r.made.Unclean {
		r.made.Unclean = false
		err = errors.Join(err, r.save())
	}
	return err
}

// share has what gates wrote in caches serve all rooms.
func (r Room) share(own string) error {
	_, landed := r.Caches()
	layers, err := filepath.Glob(filepath.Join(own, "*", "*", "upper"))
	for _, layer := range layers {
		err = errors.Join(err, join(layer, filepath.Join(landed, filepath.Base(filepath.Dir(layer)))))
	}
	return err
}

// join moves what is in a folder over what is in another. Whole folders move at once where they are new: a tool may take a folder
// that is there for complete. Other rooms may do the same at the same time.
func join(from, to string) error {
	info, err := os.Lstat(from)
	if err != nil {
		return err
	}
	if info.IsDir() {
		if err := errors.Join(os.Chmod(from, 0o700), os.MkdirAll(filepath.Dir(to), 0o700)); err != nil { // to move it changes it
			return err
		}
	}
	at, err := os.Lstat(to)
	switch {
	case err == nil && at.IsDir() && info.IsDir():
		err = os.Chmod(to, 0o700)
		entries, rerr := os.ReadDir(from)
		err = errors.Join(err, rerr)
		for _, e := range entries {
			err = errors.Join(err, join(filepath.Join(from, e.Name()), filepath.Join(to, e.Name())))
		}
		return err
	case err == nil && at.IsDir() != info.IsDir():
		err = removeAll(to)
	case errors.Is(err, fs.ErrNotExist):
		err = nil
	}
	if err == nil {
		err = os.Rename(from, to)
	}
	if now, e := os.Lstat(to); err != nil && e == nil && now.IsDir() && info.IsDir() { // another room was faster
		return join(from, to)
	}
	return err
}

// Upper is where gates write that find the room in an overlay, "" if they write in the room itself.
func (r Room) Upper() string {
	if !r.p.layered() {
		return ""
	}
	return filepath.Join(r.written(), "tree")
}

// Caches are folders for what programs write in caches. In a slot that is one; in a room, gates find own as gates left it that saw the same
// files, and landed as those of work that has landed did, in any room.
func (s *Slot) Caches() (own, landed string) {
	if !s.p.judges {
		return s.caches(), ""
	}
	return filepath.Join(s.caches(), cmp.Or(s.made.Tree, "setup")), filepath.Join(s.p.o.Dir, ".caches")
}

func (s *Slot) caches() string { return filepath.Join(s.written(), "caches") }

// written is a folder for what is written in the slot or room and is elsewhere.
func (s *Slot) written() string { return filepath.Join(s.p.o.Dir, ".written-"+strconv.Itoa(s.n)) }
