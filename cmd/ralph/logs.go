package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"ralph/dag"
	"ralph/internal/render/transcript"
	"ralph/internal/report"
)

var logsCommand = command{
	name: "logs", args: "[RUN|TASK]", short: "show prompts, what agents said and did, and the results of gates",
	long: `RUN or TASK is an ID; without one, the last run is shown. With --follow, a running one is shown until
it ends; of attempts that have ended before, only the first and the last line is shown.`,
	flags: []flagSpec{
		boolFlag("follow", "follow the run until it ends", "f"),
		boolFlag("full", "show prompts, thoughts and the output of tools in full"),
		boolFlag("json", "print one JSON object per line"),
	},
	example: "ralph logs 1f0c --full\nralph logs -f", exits: "3 no run yet, no such run or task, or its files are gone",
	run: inProject(runLogs),
}

type logsOptions struct {
	Args               []string
	Follow, Full, JSON bool
}

func runLogs(ctx context.Context, a *app, s *session, o logsOptions) error {
	typed := strings.Join(o.Args, "")
	list, err := look(ctx, s, func(g *dag.Graph) ([]report.Log, error) { return report.Logs(g, typed) })
	if err != nil {
		return err
	}
	if len(list) == 0 {
		a.note("no agent has worked on it yet; see why with: ralph task why %s", typed)
		return nil
	}
	out := &transcript.Printer{Out: a.stdout, Palette: a.palette(), Full: o.Full, JSON: o.JSON, Zone: time.Local}
	printed := false
	for i, l := range list {
		if !l.Run.PrunedAt.IsZero() {
			a.note("the files of run %s were %s; see what is stored with: ralph runs show %s", l.Run.ID, prunedText(l.Run.PrunedAt), l.Run.ID)
			printed = true
			continue
		}
		missing, err := printLog(ctx, a, s, l, out, o.Follow && i == len(list)-1)
		if err != nil {
			return err
		}
		printed = printed || !missing
	}
	if !printed {
		return hint(fmt.Errorf("the files of run %s: %w in %s", list[0].Run.ID, dag.ErrNotFound, s.project.Runs()),
			"see what is stored with: ralph runs show %s", list[0].Run.ID)
	}
	return nil
}

// printLog prints the log of a run, to its end if it is followed.
func printLog(ctx context.Context, a *app, s *session, l report.Log, out *transcript.Printer, follow bool) (missing bool, err error) {
	r := &transcript.Reader{Folder: filepath.Join(s.project.Runs(), l.Run.ID), Task: l.Task, Emit: out.Print}
	if !follow || !l.Run.EndedAt.IsZero() || life(l.Run.Process) == dag.Dead {
		_, err := r.Poll()
		return r.Missing(), errors.Join(err, r.Close(), out.Err())
	}
	r.Brief = func(attempt string) bool { return l.Ended[attempt] }
	died := func() bool {
		run, err := look(ctx, s, func(g *dag.Graph) (dag.Run, error) { return g.History.ResolveRun(l.Run.ID) })
		return life(l.Run.Process) == dag.Dead || err == nil && !run.EndedAt.IsZero()
	}
	unfinished, err := r.Follow(ctx, func() bool { return out.Err() != nil }, died)
	if unfinished {
		a.note("run %s has ended without reporting how", l.Run.ID)
	}
	return r.Missing(), errors.Join(err, r.Close(), out.Err())
}
