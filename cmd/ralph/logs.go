package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"ralph/dag"
	"ralph/internal/render/transcript"
)

func (a *app) logsCommand() command {
	return command{
		name: "logs", args: "[RUN|TASK]", short: "show what agents were told, said and did, and what the gates judged",
		long: `RUN or TASK is an ID; none means the last run. With --follow a run that goes on is shown until it
ends; attempts that had ended before are shown by their first and last line only.`,
		flags: []cli.Flag{
			&cli.BoolFlag{DisableDefaultText: true, Name: "follow", Aliases: []string{"f"}, Usage: "go on until the run ends"},
			&cli.BoolFlag{DisableDefaultText: true, Name: "full", Usage: "show prompts, thoughts and the output of tools as a whole"},
			&cli.BoolFlag{DisableDefaultText: true, Name: "json", Usage: "print a JSON object a line"},
		},
		example: "ralph logs 1f0c --full\nralph logs -f",
		exits:   "3 no run yet, no such run or task, or its files are gone",
		run:     a.runLogs,
	}
}

// logged is a run whose log is wanted, or only what it did for one task.
type logged struct {
	run   dag.Run
	task  string
	ended map[string]bool // attempts that were over when we looked
}

// printer is what lines of a log are written with.
type printer interface {
	Print(transcript.Line)
	Err() error
}

func (a *app) runLogs(c *cli.Context) error {
	if c.NArg() > 1 {
		return usagef("at most one RUN or TASK")
	}
	s, err := a.open(c.Context)
	if err != nil {
		return err
	}
	defer s.Close()
	var list []logged
	err = s.store.View(c.Context, func(g *dag.Graph) (err error) {
		list, err = whichLogs(g, c.Args().First())
		return err
	})
	if err != nil {
		return err
	}
	if len(list) == 0 {
		a.note("no agent has worked on it yet; see why with: ralph task why %s", c.Args().First())
		return nil
	}
	var out printer = &transcript.Printer{Out: a.stdout, Palette: a.palette(), Full: c.Bool("full"), Zone: time.Local}
	if c.Bool("json") {
		out = transcript.NewJSON(a.stdout)
	}
	told := false
	for i, l := range list {
		if !l.run.PrunedAt.IsZero() {
			a.note("the files of run %s were %s; what is stored of it is shown by: ralph runs show %s", l.run.ID, prunedText(l.run.PrunedAt), l.run.ID)
			told = true
			continue
		}
		follow := c.Bool("follow") && i == len(list)-1
		missing, err := a.printLog(c, s, l, out, follow)
		if err != nil {
			return err
		}
		told = told || !missing
	}
	if !told {
		return hint(fmt.Errorf("the files of run %s: %w in %s", list[0].run.ID, dag.ErrNotFound, s.project.Runs()),
			"what is stored of it is shown by: ralph runs show %s", list[0].run.ID)
	}
	return nil
}

// whichLogs finds what was typed: a run, the runs that worked on a task, or the
// last run.
func whichLogs(g *dag.Graph, typed string) ([]logged, error) {
	isRun := typed == "" || strings.HasPrefix(strings.ToLower(typed), "r-")
	if !isRun {
		t, err := g.Resolve(typed)
		if err == nil {
			return logsOfTask(g, t)
		}
		if !errors.Is(err, dag.ErrNotFound) || strings.HasPrefix(strings.ToLower(typed), "t-") {
			return nil, lookUpHint(err)
		}
	}
	run, err := findRun(g, typed)
	if err != nil && !isRun && errors.Is(err, dag.ErrNotFound) {
		return nil, hint(fmt.Errorf("%q: %w: neither a run nor a task", typed, dag.ErrNotFound), "see them with: ralph runs list, ralph task list --all")
	}
	if err != nil {
		return nil, err
	}
	l := logged{run: run, ended: map[string]bool{}}
	receipts, err := g.Receipts(dag.ReceiptFilter{Run: run.ID})
	for _, r := range receipts {
		l.ended[r.ID] = !r.EndedAt.IsZero()
	}
	return []logged{l}, err
}

func logsOfTask(g *dag.Graph, t dag.Task) ([]logged, error) {
	receipts, err := g.Receipts(dag.ReceiptFilter{Task: t.ID})
	if err != nil {
		return nil, err
	}
	var list []logged
	for _, r := range receipts {
		if slices.ContainsFunc(list, func(l logged) bool { return l.run.ID == r.Run }) {
			continue
		}
		run, err := g.ResolveRun(r.Run)
		if err != nil {
			return nil, err
		}
		list = append(list, logged{run: run, task: t.ID})
	}
	return list, nil
}

// polling is how often the files of a run are looked at: a person sees no
// difference, and the run feels none.
const polling = 250 * time.Millisecond

// printLog prints the log of a run, to its end if it is followed.
func (a *app) printLog(c *cli.Context, s *session, l logged, out printer, follow bool) (missing bool, err error) {
	r := &transcript.Reader{Folder: filepath.Join(s.project.Runs(), l.run.ID), Task: l.task, Tell: out.Print}
	live := follow && l.run.EndedAt.IsZero() && life(l.run.Process) != dag.Dead
	if live {
		r.Brief = func(attempt string) bool { return l.ended[attempt] }
	}
	over, err := r.Poll()
	if err != nil || !live {
		return r.Missing(), errors.Join(err, r.Close(), out.Err())
	}
	ticker := time.NewTicker(polling)
	defer ticker.Stop()
	for quiet := 0; !over; quiet++ {
		if out.Err() != nil {
			break
		}
		select {
		case <-ticker.C:
		case <-c.Done():
			return false, c.Err()
		}
		// A run that died says nothing any more: look for it now and then.
		gone := quiet%8 == 7 && a.ended(c.Context, s, l.run)
		if over, err = r.Poll(); err != nil {
			return false, err
		}
		if gone && !over {
			a.note("run %s has ended without saying how", l.run.ID)
			break
		}
	}
	return r.Missing(), errors.Join(r.Close(), out.Err())
}

// ended says whether a run is over or its process gone.
func (a *app) ended(ctx context.Context, s *session, run dag.Run) bool {
	if life(run.Process) == dag.Dead {
		return true
	}
	err := s.store.View(ctx, func(g *dag.Graph) (err error) { run, err = g.ResolveRun(run.ID); return err })
	return err == nil && !run.EndedAt.IsZero()
}
