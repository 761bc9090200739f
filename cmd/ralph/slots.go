package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
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
			flags: []flagSpec{jsonFlag}, example: "ralph slots list --json", run: onGraph(runSlotsList),
		},
		{
			name: "remove", args: "[N...]", short: "remove slots, or all that no task uses; the next run makes new ones",
			long: `Work is never only in a slot that no task uses, but caches are, and what a setup command installed.
The slot of a task that is running, or whose run died, is not removed.`,
			example: "ralph slots remove\nralph slots remove 3 4", exits: "1 in use, 3 not found", run: inProject(runSlotsRemove),
		},
	},
}

// usedSlot is a slot, and who uses it.
type usedSlot struct {
	slot.Info
	by dag.Attempt // the zero Attempt if nobody does
}

func (u usedSlot) object() jsonval.Object {
	return jsonval.Object{"n", u.N, "path", u.Path, "bytes", u.Size, "used_at", u.Used, "task", null(u.by.Task), "attempt", null(u.by.ID)}
}

// listSlots lists the slots in the order of their numbers.
func listSlots(a *app, s *session, g *dag.Graph) (*slot.Pool, []usedSlot, error) {
	o, err := slotOptions(a, s, nil)
	if err != nil {
		return nil, nil, err
	}
	pool := slot.Open(o)
	list, err := pool.List()
	attempts, derr := g.Queue.InSlots()
	by := seq.Index(attempts, func(at dag.Attempt) int { return at.Slot })
	return pool, seq.Map(list, func(i slot.Info) usedSlot { return usedSlot{i, by[i.N]} }), cmp.Or(err, derr)
}

func runSlotsList(a *app, s *session, g *dag.Graph, o plainOptions) error {
	_, list, err := listSlots(a, s, g)
	if err != nil {
		return err
	}
	p := a.palette()
	return printList(a, list, o.JSON, usedSlot.object, "no slots yet; ralph run --jobs N makes them", []string{"SLOT", "TASK", "SIZE", "USED", "PATH"}, func(u usedSlot) []term.Cell {
		return []term.Cell{{Text: strconv.Itoa(u.N)}, {Text: u.by.Task, Paint: p.Cyan}, {Text: human.Bytes(u.Size)}, {Text: stamp(u.Used), Paint: p.Dim}, {Text: u.Path}}
	})
}

func runSlotsRemove(ctx context.Context, a *app, s *session, o plainOptions) error {
	var pool *slot.Pool
	var removed, kept []string
	// A claim takes a slot in a transaction, so none is taken meanwhile. To remove one is to rename it.
	err := s.store.Update(ctx, func(g *dag.Graph) (err error) {
		var list []usedSlot
		if pool, list, err = listSlots(a, s, g); err != nil {
			return err
		}
		for _, arg := range o.Args {
			i := slices.IndexFunc(list, func(u usedSlot) bool { return strconv.Itoa(u.N) == arg })
			switch n, err := strconv.Atoi(arg); {
			case err != nil || strconv.Itoa(n) != arg:
				return usagef("%q is not the number of a slot", arg)
			case i < 0:
				return fmt.Errorf("slot %s: %w", arg, dag.ErrNotFound)
			case list[i].by.ID != "":
				return hint(fmt.Errorf("%w: slot %s is in use by %s", dag.ErrRefused, arg, list[i].by.Task), "if its run has died: ralph recover")
			}
		}
		for _, u := range list {
			name := strconv.Itoa(u.N)
			switch {
			case len(o.Args) > 0 && !slices.Contains(o.Args, name):
			case u.by.ID != "":
				kept = append(kept, name)
			default:
				removed, err = append(removed, name), errors.Join(err, pool.Remove(u.N))
			}
		}
		return err
	})
	if err != nil {
		return err
	}
	a.note("removed: %s%s", cmp.Or(human.Lead("slot ", strings.Join(removed, ", ")), "no slot"), human.Lead("; in use: slot ", strings.Join(kept, ", ")))
	return pool.Sweep()
}
