package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"ralph/dag"
)

// takeUp finds the run that --continue means, and sets the flags that it was given
// and that are not given anew. Nil means that none is continued.
func (a *app) takeUp(c *cli.Context, s *session) (*dag.Run, error) {
	if !c.Bool("continue") {
		return nil, nil
	}
	run, err := a.unfinished(c, s)
	if err != nil {
		return nil, fmt.Errorf("continue: %w", err)
	}
	var given map[string]string
	if err := json.Unmarshal([]byte(run.Settings), &given); err != nil {
		return nil, fmt.Errorf("continue %s: its settings: %w", run.ID, err)
	}
	for name, value := range given {
		if c.IsSet(name) || !hasFlag(c, name) || c.Bool(opposite[name]) {
			continue
		}
		if err := c.Set(name, value); err != nil {
			return nil, fmt.Errorf("continue %s: --%s: %w", run.ID, name, err)
		}
	}
	return &run, nil
}

// unfinished is the run that was named, or the last one of the same target.
func (a *app) unfinished(c *cli.Context, s *session) (run dag.Run, err error) {
	named := false
	if c.NArg() == 1 && strings.HasPrefix(c.Args().First(), "r-") {
		if c.IsSet("feature") || c.IsSet("task") {
			return run, usagef("%s has its own target: it does not go with --feature or --task", c.Args().First())
		}
		err = s.store.View(c.Context, func(g *dag.Graph) error { run, err = g.ResolveRun(c.Args().First()); return err })
		named = true
	} else {
		scope, serr := a.scope(c, s)
		if serr != nil {
			return run, serr
		}
		err = s.store.View(c.Context, func(g *dag.Graph) error { run, err = g.LastRun(scope); return err })
	}
	switch {
	case err != nil && !named:
		return run, hint(err, "take up another one by its ID, from: ralph runs list; or begin one with: ralph run")
	case err != nil:
		return run, hint(err, "see the IDs with: ralph runs list")
	case run.EndedAt.IsZero() && life(run.Process) == dag.Alive:
		return run, fmt.Errorf("%w: %s is still running", dag.ErrRefused, run.ID)
	case slices.Contains([]string{"complete", "no_plan"}, run.Outcome) && named:
		return run, fmt.Errorf("%w: %s is finished: %s", dag.ErrRefused, run.ID, run.Outcome)
	case slices.Contains([]string{"complete", "no_plan"}, run.Outcome):
		return run, hint(fmt.Errorf("an unfinished run: %w: the last one, %s, is finished: %s", dag.ErrNotFound, run.ID, run.Outcome),
			"begin a new one with: ralph run")
	}
	return run, nil
}

// opposite are flags that contradict each other.
var opposite = map[string]string{"keep-going": "fail-fast", "fail-fast": "keep-going"}

// passing are flags that belong to one start, not to the run.
var passing = []string{"continue", "once", "dry-run", "events", "json", "junit", "summary", "log-file", "log-format", "metrics", "feature", "task", "help"}

// settings are the flags that a run was given, for the run that continues it.
func settings(c *cli.Context) (string, error) {
	given := map[string]string{}
	for _, f := range c.Command.Flags {
		name := f.Names()[0]
		if !c.IsSet(name) || slices.Contains(passing, name) {
			continue
		}
		switch v := c.Value(name).(type) {
		case bool, int, int64, float64, string:
			given[name] = fmt.Sprint(v)
		}
	}
	b, err := json.Marshal(given)
	return string(b), err
}

// hasFlag says that there is such a flag: an older ralph may have had others.
func hasFlag(c *cli.Context, name string) bool {
	return slices.ContainsFunc(c.Command.Flags, func(f cli.Flag) bool { return f.Names()[0] == name })
}
