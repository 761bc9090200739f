package main

import (
	"fmt"

	"github.com/urfave/cli/v2"

	"ralph/internal/human"
	"ralph/internal/project"
)

func (a *app) gcCommand() command {
	return command{
		name: "gc", short: "remove what is old, and give the space back; failures are kept three times as long",
		long: `It forgets old journal entries, and removes the files of old runs (what the database knows of a
run stays, its cost too), planning that was begun and never ended, trees that no work is compared
with any more, and what killed processes have left. A run that goes on, that "ralph run --continue"
would take up, or whose work is still to be verified keeps its files.`,
		flags: []cli.Flag{
			&cli.StringFlag{Name: "older-than", Usage: "remove what is older than `DUR`: 720h, or 30d"},
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
}

func (a *app) runGC(c *cli.Context) error {
	if err := none(c); err != nil {
		return err
	}
	if c.String("older-than") == "" {
		return usagef("--older-than is missing: nothing is removed by accident")
	}
	var keep project.Duration
	if err := keep.UnmarshalText([]byte(c.String("older-than"))); err != nil {
		return usagef("--older-than: %v", err)
	}
	s, err := a.open(c)
	if err != nil {
		return err
	}
	defer s.Close()
	done, err := a.collect(c.Context, s, keep.Std())
	if err != nil {
		return fmt.Errorf("gc: %w", err)
	}
	if c.Bool("json") {
		return a.printJSON(done)
	}
	a.note(c, "%s forgotten, %s among them", human.Count(done.Entries, "journal entry"), human.Count(done.Failures, "failure"))
	a.note(c, "removed: the files of %s, %s of planning, %s", human.Count(len(done.Runs), "run"), human.Count(len(done.Planning), "step"), human.Count(done.Temps, "temporary file"))
	a.note(c, "%s freed", human.Bytes(done.Freed))
	return nil
}
