package doctorcmd

import (
	"context"
	"fmt"

	"ralph/internal/cli"
	"ralph/internal/cli/wiring"
	"ralph/internal/gc"
	"ralph/internal/human"
	"ralph/internal/project"
	"ralph/internal/term"
)

// GC is the command "ralph gc".
var GC = cli.Command{
	Name: "gc", Short: "remove old data and give the space back; failures are kept three times as long",
	Long: `Removes old journal entries, what was asked, answered, sent and changed by hand in tasks that ended
long ago, the files of old runs (the database keeps what is known of a run, its cost too), abandoned
planning, what an older ralph stored to compare work with if nothing needs it, and what killed processes
left, removed slots too. A run keeps its files while it is alive, while "ralph run --continue" would continue it, and while
its work is still to be verified. What is known of tasks that vanished from a plan file is kept for 90
days, in case they come back. Every run does the same when it ends, at most once a day, for what is
older than gc.older_than (90d), unless gc.auto is false.`,
	Flags: []cli.Flag{
		{Name: "older-than", Usage: "remove what is older than `DURATION`: 720h, or 30d"},
		cli.Bool("dry-run", "list what would be removed, and remove nothing"),
		cli.JSONFlag,
	},
	Example: "ralph gc --older-than 90d", Exits: "1 something could not be removed", Run: cli.InProject(runGC),
}

type gcOptions struct {
	OlderThan    *project.Duration
	DryRun, JSON bool
}

func (o *gcOptions) Parse(cli.CommandLine) error {
	if o.OlderThan == nil {
		return cli.Usagef("--older-than is missing: nothing is removed by accident")
	}
	return nil
}

func runGC(ctx context.Context, a *cli.App, s *cli.Session, o gcOptions) error {
	r, err := wiring.Collector(a, s).Collect(ctx, o.OlderThan.Std(), o.DryRun)
	if err != nil {
		return fmt.Errorf("gc: %w", err)
	}
	entries := fmt.Sprintf("%s, %s among them", human.Count(r.Entries, "journal entry"), human.Count(r.Failures, "failure"))
	talk := fmt.Sprintf("%s, %s, %s", human.Count(r.Requests, "request"), human.Count(r.Audited, "audit entry"), human.Count(r.Deleted, "deleted task"))
	files := fmt.Sprintf("the files of %s, %s of planning, %s",
		human.Count(len(r.Runs), "run"), human.Count(len(r.Planning), "step"), human.Count(r.Temps, "temporary file"))
	switch {
	case o.JSON:
		return a.PrintJSON(r)
	case !o.DryRun:
		a.Note("removed: %s", entries)
		a.Note("removed: %s", talk)
		a.Note("removed: %s", files)
		a.Note("%s freed", human.Bytes(r.Freed))
		return nil
	}
	err = cli.PrintTable(a, nil, r.Removed, func(l gc.Leftover) []term.Cell {
		text := human.Path(l.Path, s.Project.Root)
		if l.Path == s.Project.Objects() {
			text += ": trees that no work is compared with any more"
		}
		return []term.Cell{{Text: text}, {Text: human.Bytes(l.Bytes)}}
	})
	if err != nil {
		return err
	}
	a.Note("gc would remove %s", entries)
	a.Note("gc would remove %s", talk)
	a.Note("gc would free %s: %s", human.Bytes(r.Freed), files)
	a.Note("not counted: the space that the database gives back")
	return nil
}
