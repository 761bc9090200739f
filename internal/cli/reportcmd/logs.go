package reportcmd

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"ralph/dag"
	"ralph/internal/cli"
	"ralph/internal/cli/show"
	"ralph/internal/render/transcript"
	"ralph/internal/report"
)

// Logs is the command "ralph logs".
var Logs = cli.Command{
	Name: "logs", Args: "[RUN|TASK]", Short: "show prompts, what agents said and did, and the results of gates",
	Long: `RUN or TASK is an ID; without one, the last run is shown. With --follow, a running one is shown until
it ends; of attempts that have ended before, only the first and the last line is shown.`,
	Flags: []cli.Flag{
		cli.Bool("follow", "follow the run until it ends", "f"),
		cli.Bool("full", "show prompts, thoughts and the output of tools in full"),
		cli.Bool("json", "print one JSON object per line"),
	},
	Example: "ralph logs 1f0c --full\nralph logs -f", Exits: "3 no run yet, no such run or task, or its files are gone",
	Run: cli.InProject(runLogs),
}

type logsOptions struct {
	Args               []string
	Follow, Full, JSON bool
}

func runLogs(ctx context.Context, a *cli.App, s *cli.Session, o logsOptions) error {
	typed := strings.Join(o.Args, "")
	list, err := cli.Read(ctx, s, func(g *dag.Graph) ([]report.Log, error) { return report.Logs(g, typed) })
	if err != nil {
		return err
	}
	if len(list) == 0 {
		a.Note("no agent has worked on it yet; see why with: ralph task why %s", typed)
		return nil
	}
	out := &transcript.Printer{Out: a.Stdout, Palette: a.Palette(), Full: o.Full, JSON: o.JSON, Zone: time.Local}
	printed := false
	for i, l := range list {
		if !l.Run.PrunedAt.IsZero() {
			a.Note("the files of run %s were %s; see what is stored with: ralph runs show %s", l.Run.ID, show.PrunedText(l.Run.PrunedAt), l.Run.ID)
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
		return cli.Hint(fmt.Errorf("the files of run %s: %w in %s", list[0].Run.ID, dag.ErrNotFound, s.Project.Runs()),
			"see what is stored with: ralph runs show %s", list[0].Run.ID)
	}
	return nil
}

// printLog prints the log of a run, to its end if it is followed.
func printLog(ctx context.Context, a *cli.App, s *cli.Session, l report.Log, out *transcript.Printer, follow bool) (missing bool, err error) {
	r := &transcript.Reader{Folder: filepath.Join(s.Project.Runs(), l.Run.ID), Task: l.Task, Emit: out.Print}
	if !follow || !l.Run.EndedAt.IsZero() || cli.Life(l.Run.Process) == dag.Dead {
		_, err := r.Poll()
		return r.Missing(), errors.Join(err, r.Close(), out.Err())
	}
	r.Brief = func(attempt string) bool { return l.Ended[attempt] }
	died := func() bool {
		run, err := cli.Read(ctx, s, func(g *dag.Graph) (dag.Run, error) { return g.History.ResolveRun(l.Run.ID) })
		return cli.Life(l.Run.Process) == dag.Dead || err == nil && !run.EndedAt.IsZero()
	}
	unfinished, err := r.Follow(ctx, func() bool { return out.Err() != nil }, died)
	if unfinished {
		a.Note("run %s has ended without reporting how", l.Run.ID)
	}
	return r.Missing(), errors.Join(err, r.Close(), out.Err())
}
