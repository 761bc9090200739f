package main

import (
	"context"
	"errors"
	"fmt"

	"ralph/internal/gc"
	"ralph/internal/human"
	"ralph/internal/project"
	"ralph/internal/sandbox"
	"ralph/internal/slot"
	"ralph/internal/term"
)

var gcCommand = command{
	name: "gc", short: "remove old data and give the space back; failures are kept three times as long",
	long: `Removes old journal entries, what was asked, answered, sent and changed by hand in tasks that ended
long ago, the files of old runs (the database keeps what is known of a run, its cost too), abandoned
planning, what an older ralph stored to compare work with if nothing needs it, and what killed processes
left, removed slots too. A run keeps its files while it is alive, while "ralph run --continue" would continue it, and while
its work is still to be verified. What is known of tasks that vanished from a plan file is kept for 90
days, in case they come back. Every run does the same when it ends, at most once a day, for what is
older than gc.older_than (90d), unless gc.auto is false.`,
	flags: []flagSpec{
		{name: "older-than", usage: "remove what is older than `DURATION`: 720h, or 30d"},
		boolFlag("dry-run", "list what would be removed, and remove nothing"),
		jsonFlag,
	},
	example: "ralph gc --older-than 90d", exits: "1 something could not be removed", run: inProject(runGC),
}

type gcOptions struct {
	OlderThan    *project.Duration
	DryRun, JSON bool
}

func (o *gcOptions) parse(commandLine) error {
	if o.OlderThan == nil {
		return usagef("--older-than is missing: nothing is removed by accident")
	}
	return nil
}

func runGC(ctx context.Context, a *app, s *session, o gcOptions) error {
	r, err := collector(a, s).Collect(ctx, o.OlderThan.Std(), o.DryRun)
	if err != nil {
		return fmt.Errorf("gc: %w", err)
	}
	entries := fmt.Sprintf("%s, %s among them", human.Count(r.Entries, "journal entry"), human.Count(r.Failures, "failure"))
	talk := fmt.Sprintf("%s, %s, %s", human.Count(r.Requests, "request"), human.Count(r.Audited, "audit entry"), human.Count(r.Deleted, "deleted task"))
	files := fmt.Sprintf("the files of %s, %s of planning, %s",
		human.Count(len(r.Runs), "run"), human.Count(len(r.Planning), "step"), human.Count(r.Temps, "temporary file"))
	switch {
	case o.JSON:
		return a.printJSON(r)
	case !o.DryRun:
		a.note("removed: %s", entries)
		a.note("removed: %s", talk)
		a.note("removed: %s", files)
		a.note("%s freed", human.Bytes(r.Freed))
		return nil
	}
	err = printTable(a, nil, r.Removed, func(l gc.Leftover) []term.Cell {
		text := human.Path(l.Path, s.project.Root)
		if l.Path == s.project.Objects() {
			text += ": trees that no work is compared with any more"
		}
		return []term.Cell{{Text: text}, {Text: human.Bytes(l.Bytes)}}
	})
	if err != nil {
		return err
	}
	a.note("gc would remove %s", entries)
	a.note("gc would remove %s", talk)
	a.note("gc would free %s: %s", human.Bytes(r.Freed), files)
	a.note("not counted: the space that the database gives back")
	return nil
}

func collector(a *app, s *session) gc.Collector {
	temps := sandbox.UselessTemps(s.project.Root)
	if o, err := slotOptions(a, s, nil); err == nil {
		temps = append(temps, slot.Open(o).Discarded()...)
	}
	return gc.Collector{Project: s.project, DB: s.db, Store: s.store, Life: life, Temps: temps, Now: a.now}
}

// collectAfter collects after a run is over and reported, so that it delays nothing. It
// does nothing after a signal or a crash.
func collectAfter(ctx context.Context, a *app, s *session, ended error) {
	if errors.As(ended, new(caughtSignal)) || errors.As(ended, new(midRun)) || !s.config.GC.Auto {
		return
	}
	ctx, stop := interruptible(ctx, a, nil, 0)
	defer stop()
	log, keep := a.logger(), s.config.GC.OlderThan
	switch r, ran, err := collector(a, s).Automatic(ctx, keep.Std()); {
	case ctx.Err() != nil: // by a signal
	case err != nil:
		log.Warn().Err(err).Msg("automatic gc failed; the next run tries again, and ralph gc says more")
	case ran:
		log.Debug().Stringer("older_than", keep).Int("journal_entries", r.Entries).Int("runs", len(r.Runs)).
			Int64("freed_bytes", r.Freed).Msg("automatic gc removed old data")
	}
}
