package main

import (
	"fmt"
	"math"
	"time"

	"github.com/urfave/cli/v2"

	"ralph/dag"
	"ralph/internal/project"
	"ralph/journal"
)

func (a *app) gcCommand() command {
	return command{
		name: "gc", short: "forget old journal entries, and give the space back; failures are kept three times as long",
		flags: []cli.Flag{
			&cli.StringFlag{Name: "older-than", Usage: "forget what is older than `DUR`: 720h, or 30d"},
			jsonFlag(),
		},
		example: "ralph gc --older-than 90d",
		run:     a.runGC,
	}
}

type gcJSON struct {
	Entries  int `json:"journal_entries"`
	Failures int `json:"journal_failures"`
}

func (a *app) runGC(c *cli.Context) error {
	if err := none(c); err != nil {
		return err
	}
	if c.String("older-than") == "" {
		return usagef("--older-than is missing: nothing is forgotten by accident")
	}
	keep, err := parseAge(c.String("older-than"))
	if err != nil {
		return usagef("--older-than: %v", err)
	}
	s, err := a.open(c)
	if err != nil {
		return err
	}
	defer s.Close()
	var pruned journal.Pruned
	err = s.store.Update(c.Context, func(g *dag.Graph) (err error) {
		pruned, err = journal.Prune(g.Tx(), journal.Retention{Now: a.now(), Keep: keep})
		return err
	})
	if err == nil {
		err = s.db.Vacuum(c.Context)
	}
	if err != nil {
		return fmt.Errorf("gc: %w", err)
	}
	if c.Bool("json") {
		return a.printJSON(gcJSON{Entries: pruned.Entries, Failures: pruned.Failures})
	}
	a.note(c, "%d journal entries forgotten, %d of them failures", pruned.Entries, pruned.Failures)
	return nil
}

// parseAge reads a duration, and days, which durations do not know.
func parseAge(text string) (time.Duration, error) {
	var days int
	if n, err := fmt.Sscanf(text, "%dd", &days); err == nil && n == 1 && fmt.Sprintf("%dd", days) == text && days >= 0 {
		if days > int(math.MaxInt64/(24*time.Hour)) {
			return 0, fmt.Errorf("%q is longer than anything can be kept", text)
		}
		return time.Duration(days) * 24 * time.Hour, nil
	}
	var d project.Duration
	err := d.UnmarshalText([]byte(text))
	return d.Std(), err
}
