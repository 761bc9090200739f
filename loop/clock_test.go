package loop

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"ralph/acp"
	"ralph/dag"
	"ralph/internal/db"
	"ralph/internal/event"
	"ralph/internal/proc"
	"ralph/internal/testing/check"
	"ralph/internal/testing/emptydb"
	"ralph/loop/attempt"
)

// night is a run in simulated time: timers are those of synctest, and the clock on
// the wall may be set, or go on while the machine sleeps and no timer does.
type night struct {
	ahead atomic.Int64 // by how much the wall is ahead of the timers
	quick bool         // agents need no time

	mu       sync.Mutex
	prompts  map[string]int
	sessions int
	open     int
	most     int // sessions at once
	limited  int
	limits   []window // in which a provider lets nobody in
}

type window struct{ from, to time.Time }

func (n *night) now() time.Time        { return time.Now().Add(time.Duration(n.ahead.Load())).Round(0) }
func (n *night) shift(d time.Duration) { n.ahead.Add(int64(d)) }

// open starts an agent that takes ten minutes for a task, or meets a limit.
func (n *night) start(_ context.Context, op attempt.Opening) (attempt.Session, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.sessions++
	n.open++
	n.most = max(n.most, n.open)
	if err := op.Started("simulated", proc.Identity{Pid: n.sessions}); err != nil {
		return nil, err
	}
	return &simulated{night: n, op: op, nth: n.sessions}, nil
}

type simulated struct {
	*night
	op  attempt.Opening
	nth int
}

func (s *simulated) Prompt(ctx context.Context, _ string) (acp.Turn, error) {
	s.mu.Lock()
	for _, w := range s.limits {
		if now := s.now(); now.After(w.from) && now.Before(w.to) {
			s.limited++
			s.mu.Unlock()
			return acp.Turn{}, &acp.Error{Kind: acp.RateLimited, Op: "prompt", Text: "limit reached", RetryAfter: w.to.Sub(now)}
		}
	}
	s.prompts[s.op.Task.ID]++
	s.mu.Unlock()
	if !s.quick {
		select {
		case <-time.After(10 * time.Minute):
		case <-ctx.Done():
			return acp.Turn{Stop: acp.StopCancelled}, nil
		}
	}
	return acp.Turn{Stop: acp.StopEnd, Segments: []string{"<task-done>" + s.op.Task.ID + "</task-done>\n"}}, nil
}

func (s *simulated) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open--
	return nil
}
func (s *simulated) Model() acp.ModelChoice      { return acp.ModelChoice{} }
func (s *simulated) Usage() acp.Usage            { return acp.Usage{} }
func (s *simulated) SessionUSD() *float64        { return nil }
func (s *simulated) ID() string                  { return fmt.Sprintf("s-%d", s.nth) }
func (s *simulated) Kill() error                 { return nil }
func (s *simulated) Sandbox() string             { return "" }
func (s *simulated) Evident() bool               { return false }
func (s *simulated) Tampered() ([]string, error) { return nil, nil }

func (s *simulated) Renew() error { return nil }

func (s *simulated) Freeze() (thaw func()) { return func() {} }

// project has that many tasks, and the options of a run in simulated time.
func (n *night) project(t *testing.T, open func(context.Context, attempt.Opening) (attempt.Session, error), tasks int) Options {
	t.Helper()
	path := filepath.Join(t.TempDir(), "progress.db")
	emptydb.Write(t, path)
	d, err := db.Open(t.Context(), path, db.Options{Conns: 4})
	check.OK(t, err)
	t.Cleanup(func() { d.Close() })
	store := dag.New(d, dag.Options{Now: n.now})
	check.OK(t, store.Update(t.Context(), func(g *dag.Graph) (err error) {
		for i := 0; i < tasks && err == nil; i++ {
			_, err = g.Plan.Add(dag.NewTask{Detail: dag.Detail{Title: fmt.Sprint("task ", i), Kind: dag.Check}})
		}
		return err
	}))
	opts := options(store, open, t.TempDir(), t.TempDir())
	opts.Landing = landing(t, opts.Place.Dir)
	opts.Host.Now, opts.Verify.Skip = n.now, true
	opts.Recovery.Life = func(dag.Process) dag.Life { return dag.Unknown } // only leases and heartbeats say that we live
	return opts
}

// TestEightSimulatedHours has a laptop that sleeps, a clock that is set, in both
// directions, and limits. Every task is done once, and nothing is waited for longer
// than its time on the wall.
func TestEightSimulatedHours(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := &night{prompts: map[string]int{}}
		at := func(d time.Duration) time.Time { return n.now().Add(d) }
		n.limits = []window{{at(4 * time.Hour), at(6 * time.Hour)}, {at(8 * time.Hour), at(10 * time.Hour)}}
		const tasks = 30
		var waits []time.Duration // how long each waiting took, on the wall, beyond its end
		var until time.Time
		opts := n.project(t, n.start, tasks)
		opts.Host.Observe = func(e event.Event) {
			switch {
			case e.Type == event.Waiting:
				until = *e.Until
			case e.Type == event.TaskClaimed && !until.IsZero():
				waits, until = append(waits, n.now().Sub(until)), time.Time{}
			}
		}
		began, wall := time.Now(), n.now()
		var jumps sync.WaitGroup
		jumps.Go(func() { // while it works and while it waits
			for _, jump := range []struct{ after, by time.Duration }{
				{25 * time.Minute, 3 * time.Hour},
				{30 * time.Minute, -45 * time.Minute},
				{30 * time.Minute, time.Hour},
				{30 * time.Minute, 20 * time.Minute},
				{2*time.Hour + 30*time.Minute, -30 * time.Minute},
				{20 * time.Minute, 45 * time.Minute},
			} {
				time.Sleep(jump.after) // in the time of the bubble, which costs none
				n.shift(jump.by)
			}
		})
		r, err := Start(t.Context(), opts)
		check.OK(t, err)
		out, err := r.Run(t.Context())
		check.That(t, err == nil && out.Outcome == event.OutcomeComplete && out.Counts.Done == tasks && out.Iterations == tasks,
			"got %+v, %v; want all %d done", out, err, tasks)
		jumps.Wait()
		if err := r.Finish(t.Context(), out); err != nil {
			t.Error(err)
		}
		for id, times := range n.prompts {
			check.That(t, times == 1, "%s was let in %d times, want once", id, times)
		}
		check.That(t, n.sessions == tasks+n.limited && n.most == 1,
			"got %d sessions, %d at once; want %d, one at a time", n.sessions, n.most, tasks+n.limited)
		check.That(t, len(waits) >= 2, "got %d waits, want one for each limit", len(waits))
		for _, late := range waits {
			check.That(t, late <= 2*time.Second, "a wait ended %s late", late)
		}
		t.Logf("%s on the wall, %s of timers, %d waits", n.now().Sub(wall), time.Since(began), len(waits))
		worked := n.now().Sub(wall)
		check.That(t, worked >= 8*time.Hour, "the night took %s, want at least eight hours", worked)
	})
}
