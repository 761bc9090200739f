package decide

import (
	"context"
	"fmt"
	"slices"
	"time"

	"ralph/dag"
	"ralph/internal/cli"
)

// WorkGone says that a repository does not have work that waits to land.
func WorkGone(task, commit string) error {
	return cli.Hint(fmt.Errorf("%w: the work of %s is gone: this repository does not have commit %.10s", dag.ErrRefused, task, commit), "do it again: ralph task reset %s", task)
}

// AwaitLanding waits as long as another run that lives has a task: it found the finished work first.
func AwaitLanding(ctx context.Context, a *cli.App, id string) error {
	ctx, stop := cli.Interruptible(ctx, a, nil, 0)
	defer stop()
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	for said := false; ; said = true {
		taken := false
		err := a.View(ctx, func(_ *cli.Session, g *dag.Graph) error {
			stale, err := g.Queue.Stale(cli.Life)
			t, _ := g.Tasks.Get(id) // it may be gone
			taken = t.Status == dag.InProgress && !slices.ContainsFunc(stale, func(s dag.Task) bool { return s.ID == id })
			return err
		})
		if err != nil || !taken {
			return err
		}
		if !said {
			a.Note("another run works on %s; Ctrl-C does not wait for it", id)
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-ticker.C:
		}
	}
}
