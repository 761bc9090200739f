package slot

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
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

// Room is the room of slot n. It is made when it first shows something.
func (p *Pool) Room(n int) Room { return Room{p.rooms().slot(n)} }

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
	if r.made.Commit == "" { // not seen by this process yet
		if r.load() == nil || base == commit {
			return r.take(ctx, "", base, commit)
		}
		if err := r.take(ctx, "", base, base); err != nil { // a new one is set up by what has landed
			return err
		}
	}
	return r.Slot.Show(ctx, base, commit)
}

// Trust says that what the room shows has landed: what its gates left is as good as what they accepted.
func (r Room) Trust() error {
	if !r.made.Unclean {
		return nil
	}
	r.made.Unclean = false
	return r.save()
}

// Upper is where gates write that find the room in an overlay, "" if they write in the room itself.
func (r Room) Upper() string {
	if !r.p.layered() {
		return ""
	}
	return r.upper()
}

func (s *Slot) upper() string { return filepath.Join(s.p.o.Dir, ".upper-"+strconv.Itoa(s.n)) }
