package doctorcmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"ralph/dag"
	"ralph/internal/cli"
	"ralph/internal/cli/wiring"
	"ralph/internal/human"
	"ralph/internal/slot"
	"ralph/internal/term"
)

// Slots is the command "ralph slots".
var Slots = cli.Command{
	Name: "slots", Short: "list and remove the folders in which parallel agents work",
	Example: "ralph slots list", Exits: "3 not found",
	Sub: []cli.Command{
		{
			Name: "list", Bare: true, Short: "list slots: where they are, how large, and which task uses them",
			Flags: []cli.Flag{cli.JSONFlag}, Example: "ralph slots list --json", Run: cli.OnGraph(runSlotsList),
		},
		{
			Name: "remove", Args: "[N...]", Short: "remove slots, or all that no task uses; the next run makes new ones",
			Long: `Work is never only in a slot that no task uses, but caches are, and what a setup command installed.
The slot of a task that is running, or whose run died, is not removed.`,
			Example: "ralph slots remove\nralph slots remove 3 4", Exits: "1 in use, 3 not found", Run: cli.InProject(runSlotsRemove),
		},
	},
}

func runSlotsList(a *cli.App, s *cli.Session, g *dag.Graph, o cli.PlainOptions) error {
	_, list, err := wiring.ListSlots(a, s, g)
	if err != nil {
		return err
	}
	p := a.Palette()
	return cli.PrintList(a, list, o.JSON, wiring.UsedSlot.Object, "no slots yet; ralph run --jobs N makes them", []string{"SLOT", "TASK", "SIZE", "USED", "PATH"}, func(u wiring.UsedSlot) []term.Cell {
		return []term.Cell{{Text: strconv.Itoa(u.N)}, {Text: u.By.Task, Paint: p.Cyan}, {Text: human.Bytes(u.Size)}, {Text: cli.Stamp(u.Used), Paint: p.Dim}, {Text: u.Path}}
	})
}

func runSlotsRemove(ctx context.Context, a *cli.App, s *cli.Session, o cli.PlainOptions) error {
	var pool *slot.Pool
	var removed, kept []string
	// A claim takes a slot in a transaction, so none is taken meanwhile. To remove one is to rename it.
	err := s.Store.Update(ctx, func(g *dag.Graph) (err error) {
		var list []wiring.UsedSlot
		if pool, list, err = wiring.ListSlots(a, s, g); err != nil {
			return err
		}
		for _, arg := range o.Args {
			i := slices.IndexFunc(list, func(u wiring.UsedSlot) bool { return strconv.Itoa(u.N) == arg })
			switch n, err := strconv.Atoi(arg); {
			case err != nil || strconv.Itoa(n) != arg:
				return cli.Usagef("%q is not the number of a slot", arg)
			case i < 0:
				return fmt.Errorf("slot %s: %w", arg, dag.ErrNotFound)
			case list[i].By.ID != "":
				return cli.Hint(fmt.Errorf("%w: slot %s is in use by %s", dag.ErrRefused, arg, list[i].By.Task), "if its run has died: ralph recover")
			}
		}
		for _, u := range list {
			name := strconv.Itoa(u.N)
			switch {
			case len(o.Args) > 0 && !slices.Contains(o.Args, name):
			case u.By.ID != "":
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
	a.Note("removed: %s%s", cmp.Or(human.Lead("slot ", strings.Join(removed, ", ")), "no slot"), human.Lead("; in use: slot ", strings.Join(kept, ", ")))
	return pool.Sweep()
}
