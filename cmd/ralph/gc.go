package main

import (
	"fmt"
	"path/filepath"

	"github.com/urfave/cli/v2"

	"ralph/internal/human"
	"ralph/internal/project"
	"ralph/internal/term"
)

func (a *app) gcCommand() command {
	return command{
		name: "gc", short: "remove what is old, and give the space back; failures are kept three times as long",
		long: `It forgets old journal entries, and removes the files of old runs (what the database knows of a
run stays, its cost too), planning that was begun and never ended, trees that no work is compared
with any more, and what killed processes have left. A run that goes on, that "ralph run --continue"
would take up, or whose work is still to be verified keeps its files. A run does the same when it ends, at most once
a day, for what is older than gc.older_than (90d), unless gc.auto is false.`,
		flags: []cli.Flag{
			&cli.StringFlag{Name: "older-than", Usage: "remove what is older than `DUR`: 720h, or 30d"},
			&cli.BoolFlag{DisableDefaultText: true, Name: "dry-run", Usage: "list what would be removed, and remove nothing"},
			jsonFlag(),
		},
		example: "ralph gc --older-than 90d", exits: "1 something could not be removed",
		run: a.runGC,
	}
}

type gcJSON struct {
	Entries  int      `json:"journal_entries"`
	Failures int      `json:"journal_failures"`
	Runs     []string `json:"runs"`     // whose files are gone
	Planning []string `json:"planning"` // steps that were forgotten
	Temps    int      `json:"temporary_files"`
	Freed    int64    `json:"freed_bytes"`
	DryRun   bool     `json:"dry_run"` // nothing is gone: it would be
	Paths    []string `json:"paths"`   // files and folders that are gone

	removed []leftover
}

func (a *app) runGC(c *cli.Context) error {
	if err := noArgs(c); err != nil {
		return err
	}
	if c.String("older-than") == "" {
		return usagef("--older-than is missing: nothing is removed by accident")
	}
	var keep project.Duration
	if err := keep.UnmarshalText([]byte(c.String("older-than"))); err != nil {
		return usagef("--older-than: %v", err)
	}
	s, err := a.open(c.Context)
	if err != nil {
		return err
	}
	defer s.Close()
	done, err := a.collect(c.Context, s, keep.Std(), c.Bool("dry-run"))
	if err != nil {
		return fmt.Errorf("gc: %w", err)
	}
	switch {
	case c.Bool("json"):
		return a.printJSON(done)
	case done.DryRun:
		return a.printCollectable(s, done)
	}
	a.note("%s forgotten, %s among them", human.Count(done.Entries, "journal entry"), human.Count(done.Failures, "failure"))
	a.note("removed: the files of %s, %s of planning, %s", human.Count(len(done.Runs), "run"), human.Count(len(done.Planning), "step"), human.Count(done.Temps, "temporary file"))
	a.note("%s freed", human.Bytes(done.Freed))
	return nil
}

// printCollectable lists what gc would remove.
func (a *app) printCollectable(s *session, would gcJSON) error {
	t := &term.Table{Width: a.width}
	for _, l := range would.removed {
		text := relativeTo(s, l.path)
		if l.path == s.project.Objects() {
			text += ": trees that no work is compared with any more"
		}
		t.Add(term.Cell{Text: text}, term.Cell{Text: human.Bytes(l.bytes)})
	}
	if _, err := t.WriteTo(a.stdout); err != nil {
		return err
	}
	a.note("gc would forget %s, %s among them", human.Count(would.Entries, "journal entry"), human.Count(would.Failures, "failure"))
	a.note("gc would give back %s: the files of %s, %s of planning, %s", human.Bytes(would.Freed),
		human.Count(len(would.Runs), "run"), human.Count(len(would.Planning), "step"), human.Count(would.Temps, "temporary file"))
	a.note("not counted: the space that the database gives back")
	return nil
}

// relativeTo shortens the path of something in the project.
func relativeTo(s *session, path string) string {
	if rel, err := filepath.Rel(s.project.Root, path); err == nil && filepath.IsLocal(rel) {
		return rel
	}
	return path
}
