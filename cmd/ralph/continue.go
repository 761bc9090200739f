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

// unfinished is the run that was named, the last one of the target, or without a
// target the last one that left something to do.
func (a *app) unfinished(c *cli.Context, s *session) (run dag.Run, err error) {
	typed := c.Args().First()
	named := c.NArg() == 1 && strings.HasPrefix(typed, "r-")
	find := func(g *dag.Graph) (dag.Run, error) { return g.LastUnfinished() }
	switch targeted := c.NArg() > 0 || c.IsSet("feature") || c.IsSet("task"); {
	case named && (c.IsSet("feature") || c.IsSet("task")):
		return run, usagef("%s has its own target: it does not go with --feature or --task", typed)
	case named:
		find = func(g *dag.Graph) (dag.Run, error) { return g.ResolveRun(typed) }
	case targeted:
		scope, err := a.scope(c, s)
		if err != nil {
			return run, err
		}
		find = func(g *dag.Graph) (dag.Run, error) { return g.LastRun(scope) }
	}
	left := false
	err = s.store.View(c.Context, func(g *dag.Graph) (err error) {
		if run, err = find(g); err == nil {
			left, err = g.LeftToDo(run.Scope)
		}
		return err
	})
	over := slices.Contains([]string{"complete", "no_plan"}, run.Outcome) && !left
	switch {
	case err != nil && named:
		return run, hint(err, "see the IDs with: ralph runs list")
	case err != nil:
		return run, hint(err, "begin a new one with: ralph run; see the earlier ones with: ralph runs list")
	case run.EndedAt.IsZero() && life(run.Process) == dag.Alive:
		return run, fmt.Errorf("%w: %s is still running", dag.ErrRefused, run.ID)
	case over && named:
		return run, hint(fmt.Errorf("%w: %s is finished: %s", dag.ErrRefused, run.ID, run.Outcome),
			"let its failed tasks run again first: ralph task reset --failed; or begin a new run: ralph run")
	case over:
		return run, hint(fmt.Errorf("an unfinished run: %w: the last one, %s, is finished: %s", dag.ErrNotFound, run.ID, run.Outcome),
			"begin a new one with: ralph run")
	}
	return run, nil
}

// opposite are flags that contradict each other.
var opposite = map[string]string{"keep-going": "fail-fast", "fail-fast": "keep-going"}

// passing are flags that belong to one start, not to the run.
var passing = []string{"continue", "once", "dry-run", "events", "json", "junit", "summary", "log-file", "log-format", "metrics", "feature", "task", "help"}

// settings are the flags that a run was given, for the run that continues it, and what
// it writes in the project, for every other run.
func settings(c *cli.Context, output []string) (string, error) {
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
	if len(output) > 0 {
		given[outputKey] = strings.Join(output, "\x00")
	}
	b, err := json.Marshal(given)
	return string(b), err
}

// hasFlag says that there is such a flag: an older ralph may have had others.
func hasFlag(c *cli.Context, name string) bool {
	return slices.ContainsFunc(c.Command.Flags, func(f cli.Flag) bool { return f.Names()[0] == name })
}
