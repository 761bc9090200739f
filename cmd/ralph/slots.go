package main

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"ralph/dag"
	"ralph/internal/human"
	"ralph/internal/jsonval"
	"ralph/internal/seq"
	"ralph/internal/slot"
	"ralph/internal/term"
)

var slotsCommand = command{
	name: "slots", short: "list and remove the folders in which parallel agents work",
	example: "ralph slots list", exits: "3 not found",
	sub: []command{
		{
			name: "list", bare: true, short: "list slots: where they are, how large, and which task uses them",
			flags: []flagSpec{jsonFlag}, example: "ralph slots list --json", run: inProject(runSlotsList),
		},
		{
			name: "remove", args: "[N...]", short: "remove slots, or all that no task uses; the next run makes new ones",
			long: `Work is never only in a slot that no task uses, but caches are, and what a setup command installed.
The slot of a task that is running, or whose run died, is not removed.`,
			example: "ralph slots remove\nralph slots remove 3 4", exits: "1 in use, 3 not found", run: inProject(runSlotsRemove),
		},
	},
}

// slotsDir is where the slots of the project are.
func slotsDir(a *app, s *session) string {
	dir := s.config.Parallel.Dir
	if dir == "" {
		return filepath.Join(a.stateHome(), "ralph", "slots", slotsName(s.project.Root))
	}
	if home, ok := strings.CutPrefix(dir, "~/"); ok {
		dir = filepath.Join(a.getenv("HOME"), home)
	}
	return dir
}

// openPool is the slots of the project as folders: to work in them takes a repository, too.
func openPool(a *app, s *session) *slot.Pool {
	dir := slotsDir(a, s)
	if !filepath.IsAbs(dir) {
		dir = "" // no run makes slots there
	}
	return slot.Open(slot.Options{Dir: dir, State: slotsState(s)})
}

func slotsState(s *session) string { return filepath.Join(s.project.State(), "slots") }

// usedSlot is a slot, and who uses it.
type usedSlot struct {
	slot.Info
	by dag.Attempt // the zero Attempt if nobody does
}

func (u usedSlot) object() jsonval.Object {
	return jsonval.Object{"n", u.N, "path", u.Path, "bytes", u.Size, "used_at", u.Used, "task", null(u.by.Task), "attempt", null(u.by.ID)}
}

func listSlots(pool *slot.Pool, g *dag.Graph) ([]usedSlot, error) {
	list, err := pool.List()
	if err != nil {
		return nil, err
	}
	slots, err := g.Slots()
	if err != nil {
		return nil, err
	}
	by := map[int]dag.Attempt{}
	for _, s := range slots {
		if s.Attempt != "" {
			if by[s.N], err = g.Attempt(s.Attempt); err != nil {
				return nil, err
			}
		}
	}
	return seq.Map(list, func(i slot.Info) usedSlot { return usedSlot{i, by[i.N]} }), nil
}

func runSlotsList(ctx context.Context, a *app, s *session, o plainOptions) error {
	var list []usedSlot
	err := s.store.View(ctx, func(g *dag.Graph) (err error) { list, err = listSlots(openPool(a, s), g); return err })
	if err != nil {
		return err
	}
	p := a.palette()
	return printList(a, list, o.JSON, usedSlot.object, "no slots yet; ralph run --jobs N makes them", []string{"SLOT", "TASK", "SIZE", "USED", "PATH"}, func(u usedSlot) []term.Cell {
		return []term.Cell{{Text: strconv.Itoa(u.N)}, {Text: u.by.Task, Paint: p.Cyan}, {Text: human.Bytes(u.Size)}, {Text: stamp(u.Used), Paint: p.Dim}, {Text: u.Path}}
	})
}

func runSlotsRemove(ctx context.Context, a *app, s *session, o plainOptions) error {
	var wanted []int
	for _, arg := range o.Args {
		n, err := strconv.Atoi(arg)
		if err != nil || n < 1 {
			return usagef("%q is not the number of a slot", arg)
		}
		wanted = append(wanted, n)
	}
	pool, removed, kept := openPool(a, s), []string{}, 0
	// A claim takes a slot in a transaction, so none is taken meanwhile. To remove one is to rename it.
	err := s.store.Update(ctx, func(g *dag.Graph) error {
		list, err := listSlots(pool, g)
		if err != nil {
			return err
		}
		for _, n := range wanted {
			i := slices.IndexFunc(list, func(u usedSlot) bool { return u.N == n })
			switch {
			case i < 0:
				return fmt.Errorf("slot %d: %w", n, dag.ErrNotFound)
			case list[i].by.ID != "":
				return hint(fmt.Errorf("%w: slot %d is in use by %s", dag.ErrRefused, n, list[i].by.Task), "if its run has died: ralph recover")
			}
		}
		for _, u := range list {
			switch {
			case len(wanted) > 0 && !slices.Contains(wanted, u.N):
			case u.by.ID != "":
				kept++
			default:
				if err := pool.Remove(u.N); err != nil {
					return err
				}
				_ = g.ForgetSlot(u.N) // the database need not know it
				removed = append(removed, strconv.Itoa(u.N))
			}
		}
		return g.Tx().Err()
	})
	if err != nil {
		return err
	}
	text := "removed no slot"
	if len(removed) > 0 {
		text = "removed slot " + strings.Join(removed, ", ")
	}
	a.note("%s%s", text, human.Lead("; in use: ", human.Some(kept, "slot")))
	return pool.Sweep()
}
