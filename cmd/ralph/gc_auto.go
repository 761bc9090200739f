package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"time"

	"ralph/dag"
)

// retain does what ralph gc does, at most once a day and after a run is over and told,
// so that it holds up nothing. It stays out of the way of other runs, and of people who
// want ralph to end.
func (a *app) retain(ctx context.Context, s *session, ended error) {
	if errors.As(ended, new(caughtSignal)) || errors.As(ended, new(midRun)) || !s.config.GC.Auto || !a.retentionDue(s) {
		return
	}
	ctx, stop := a.interruptible(ctx)
	defer stop()
	if others, err := a.othersRun(ctx, s); err != nil || others {
		return
	}
	removed, err := a.collect(ctx, s, s.config.GC.OlderThan.Std(), false)
	log := a.logger()
	switch {
	case ctx.Err() != nil: // somebody wants ralph to end
		return
	case err != nil:
		log.Warn().Err(err).Msg("retention failed; the next run tries again, and ralph gc says more")
		return
	}
	if err := os.WriteFile(lastRetention(s), []byte(a.now().UTC().Format(time.RFC3339)+"\n"), 0o600); err != nil {
		log.Warn().Err(err).Msg("retention: its time is not kept; the next run does it again")
	}
	log.Debug().Str("older_than", s.config.GC.OlderThan.String()).Int("journal_entries", removed.Entries).Int("runs", len(removed.Runs)).
		Int64("freed_bytes", removed.Freed).Msg("retention: what is old was removed")
}

// lastRetention is the file that says when retention ran last.
func lastRetention(s *session) string { return filepath.Join(s.project.State(), "last-gc") }

// retentionDue says that it has not run for a day. A time in the future is of a clock
// that was set.
func (a *app) retentionDue(s *session) bool {
	text, err := os.ReadFile(lastRetention(s))
	if err != nil {
		return true
	}
	last, err := time.Parse(time.RFC3339+"\n", string(text))
	since := a.now().Sub(last)
	return err != nil || since < 0 || since >= 24*time.Hour
}

// othersRun says that another run is at work in the project.
func (a *app) othersRun(ctx context.Context, s *session) (others bool, err error) {
	err = s.store.View(ctx, func(g *dag.Graph) error {
		open, err := g.OpenRuns()
		others = slices.ContainsFunc(open, func(r dag.Run) bool { return life(r.Process) != dag.Dead })
		return err
	})
	return others, err
}
