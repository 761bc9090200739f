package wiring

import (
	"context"
	"slices"
	"strings"

	"ralph/dag"
	"ralph/internal/cli"
	"ralph/internal/plansync"
	"ralph/loop/land"
)

// LostWork is done work that is not on its branch, as far as git knows.
func LostWork(ctx context.Context, s *cli.Session) []land.LostWork {
	lost, _, _ := land.Lost(ctx, s.Store, s.Project.Root) // ralph doctor reports why git does not know it
	return lost
}

// ReportLost warns of done work that is not on its branch. First it opens those tasks again whose commits are missing and which are still
// to be done in the plan of HEAD: then only the database has them as done, and that may come from another clone.
func ReportLost(ctx context.Context, a *cli.App, s *cli.Session, dry bool) error {
	lost := LostWork(ctx, s)
	if len(lost) > 0 && !dry {
		again, err := reopenLost(ctx, s, lost)
		if err != nil {
			return err
		}
		if len(again) > 0 {
			a.Note("open again, because their work is not on its branch and the plan in HEAD does not have them as done: %s", strings.Join(again, ", "))
			lost = LostWork(ctx, s)
		}
	}
	for _, l := range lost {
		a.Note("warning: %s", l)
	}
	return nil
}

func reopenLost(ctx context.Context, s *cli.Session, lost []land.LostWork) (again []string, err error) {
	var features, ids []string
	for _, l := range lost {
		if !l.Here { // what is here can be brought back without an agent
			ids = append(ids, l.Tasks...)
		}
	}
	err = s.Store.View(ctx, func(g *dag.Graph) error {
		for _, id := range ids {
			t, err := g.Tasks.Get(id)
			if err != nil {
				return err
			}
			features = append(features, t.Feature)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	slices.Sort(features)
	open := plansync.OpenInHead(ctx, s.Project, slices.Compact(features))
	ids = slices.DeleteFunc(ids, func(id string) bool { return !slices.Contains(open, id) })
	if len(ids) == 0 {
		return nil, nil
	}
	return ids, s.Store.Update(ctx, func(g *dag.Graph) error {
		for _, id := range ids {
			if err := g.Tasks.Reset(id); err != nil {
				return err
			}
			if err := g.Tasks.Log(id, dag.LogSystem, "its work is not on its branch, and the plan in HEAD does not have it as done"); err != nil {
				return err
			}
		}
		return nil
	})
}
