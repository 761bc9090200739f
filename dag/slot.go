package dag

import (
	"fmt"
	"slices"
	"time"

	"ralph/internal/db"
)

// Slot is a folder in which one agent at a time works.
type Slot struct {
	N       int
	Path    string // "" before it is made
	Attempt string // that works in it; "" if it is free
	Setup   string // what it was set up for; "" if that did not end
	Size    int64  // in bytes; 0 if it is not known
	UsedAt  time.Time
}

const (
	slotsSQL    = `SELECT n, path, attempt, setup, size, used_at FROM slots ORDER BY n;`
	lastSlotSQL = `SELECT slot FROM attempts WHERE task = :task AND slot IS NOT NULL ORDER BY n DESC LIMIT 1;`
	takeSlotSQL = `INSERT INTO slots (n, attempt, used_at) VALUES (:n, :attempt, :now) ON CONFLICT (n) DO UPDATE SET attempt = :attempt, used_at = :now;`
	noteSlotSQL = `
INSERT INTO slots (n, path, setup, size) VALUES (:n, :path, :setup, :size)
ON CONFLICT (n) DO UPDATE SET path = :path, setup = :setup, size = :size;`
	forgetSlotSQL = `DELETE FROM slots WHERE n = :n AND attempt IS NULL;`
)

// Slots lists all that there are.
func (g *Graph) Slots() ([]Slot, error) {
	return db.All(g.tx, slotsSQL, func(r *db.Row) Slot {
		return Slot{N: r.Int(), Path: r.Text(), Attempt: r.Text(), Setup: r.Text(), Size: r.Int64(), UsedAt: r.Time()}
	})
}

// freeSlots lists the free ones of the first so many, the lowest first.
func (g *Graph) freeSlots(of int) (free []int) {
	taken := map[int]bool{}
	slots, _ := g.Slots()
	for _, s := range slots {
		taken[s.N] = s.Attempt != ""
	}
	for n := 1; n <= of; n++ {
		if !taken[n] {
			free = append(free, n)
		}
	}
	return free
}

// slotFor is the slot of the task's last attempt, whose folder its session knows, if that is free.
func (g *Graph) slotFor(t Task, free []int) int {
	if len(free) == 0 {
		return 0
	}
	if last := int(g.number(lastSlotSQL, ":task", t.N)); slices.Contains(free, last) {
		return last
	}
	return free[0]
}

// NoteSlot stores the path, the setup and the size of a slot.
func (g *Graph) NoteSlot(s Slot) error {
	return g.tx.Exec(noteSlotSQL, ":n", s.N, ":path", db.OrNull(s.Path), ":setup", db.OrNull(s.Setup), ":size", db.OrNull(s.Size))
}

// ForgetSlot says that a slot's folder is gone. One that is in use is refused.
func (g *Graph) ForgetSlot(n int) error {
	return g.change(fmt.Errorf("slot %d: %w, or in use", n, ErrNotFound), forgetSlotSQL, ":n", n)
}

const (
	freeSlotSQL  = `UPDATE slots SET attempt = NULL WHERE attempt = :id;`
	freeLocksSQL = `DELETE FROM locks WHERE attempt = :id;`
)

// free gives back the slot and the locks of an attempt whose agent is gone.
func (g *Graph) free(attempt string) error {
	g.tx.Do(freeSlotSQL, ":id", attempt)
	return g.tx.Exec(freeLocksSQL, ":id", attempt)
}
