package wiring

import (
	"context"
	"errors"

	"ralph/internal/cli"
	"ralph/internal/gc"
	"ralph/internal/sandbox"
	"ralph/internal/slot"
)

// Collector removes what is old in a project.
func Collector(a *cli.App, s *cli.Session) gc.Collector {
	temps := sandbox.UselessTemps(s.Project.Root)
	if o, err := SlotOptions(a, s, nil); err == nil {
		temps = append(temps, slot.Open(o).Discarded()...)
	}
	return gc.Collector{Project: s.Project, DB: s.DB, Store: s.Store, Life: cli.Life, Temps: temps, Now: a.Now}
}

// CollectAfter collects after a run is over and reported, so that it delays nothing. It
// does nothing after a signal or a crash.
func CollectAfter(ctx context.Context, a *cli.App, s *cli.Session, ended error) {
	if errors.As(ended, new(cli.CaughtSignal)) || errors.As(ended, new(cli.MidRun)) || !s.Config.GC.Auto {
		return
	}
	ctx, stop := cli.Interruptible(ctx, a, nil, 0)
	defer stop()
	log, keep := a.Logger(), s.Config.GC.OlderThan
	switch r, ran, err := Collector(a, s).Automatic(ctx, keep.Std()); {
	case ctx.Err() != nil: // by a signal
	case err != nil:
		log.Warn().Err(err).Msg("automatic gc failed; the next run tries again, and ralph gc says more")
	case ran:
		log.Debug().Stringer("older_than", keep).Int("journal_entries", r.Entries).Int("runs", len(r.Runs)).
			Int64("freed_bytes", r.Freed).Msg("automatic gc removed old data")
	}
}
