package launch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"ralph/dag"
	"ralph/internal/cli"
	"ralph/internal/cli/show"
	"ralph/internal/cli/wiring"
	"ralph/internal/event"
	"ralph/internal/web"
)

// typedScope is the target as it was typed, for a run that ended before anybody
// knew whether there is such a target.
func (t TargetOptions) typedScope() dag.Scope {
	scope := dag.Scope{Feature: cli.Or(t.Feature, ""), Task: cli.Or(t.Task, ""), Tag: cli.Or(t.Tag, "")}
	switch target := t.arg(); {
	case strings.HasPrefix(target, "t-"):
		scope.Task = target
	case target != "" && scope == (dag.Scope{}):
		scope.Feature = target
	}
	return scope
}

// Check refuses more than one target, and an empty one.
func (t TargetOptions) Check() error {
	given := len(t.Args)
	for _, flag := range []*string{t.Feature, t.Task, t.Tag} {
		if flag != nil {
			given++
		}
	}
	switch {
	case given > 1:
		return cli.Usagef("one target: TARGET, --feature, --task or --tag")
	case len(t.Args) == 1 && t.arg() == "":
		return cli.Usagef("TARGET is empty")
	}
	return nil
}

// FindScope finds what TARGET, --feature or --task mean.
func FindScope(ctx context.Context, a *cli.App, s *cli.Session, t TargetOptions) (scope dag.Scope, err error) {
	if err := t.Check(); err != nil {
		return scope, err
	}
	err = s.Store.View(ctx, func(g *dag.Graph) (err error) {
		switch {
		case cli.Or(t.Task, "") != "":
			task, err := g.Tasks.Resolve(*t.Task)
			scope.Task = task.ID
			return err
		case cli.Or(t.Feature, "") != "":
			f, ferr := g.Plan.Feature(*t.Feature)
			scope.Feature, err = f.Name, ferr
		case cli.Or(t.Tag, "") != "":
			scope.Tag = *t.Tag
			tally, terr := g.Tasks.Tally(scope)
			if err = terr; err == nil && tally.Total() == 0 {
				err = cli.Hint(fmt.Errorf("tag %q: %w: no task has it", scope.Tag, dag.ErrNotFound), "see tasks with their tags: ralph task list --json; add one with: ralph task update ID --tag %s", scope.Tag)
			}
		case t.arg() != "":
			scope, err = g.Tasks.ResolveScope(t.arg())
		}
		if errors.Is(err, dag.ErrNotFound) && cli.InCI(a) {
			if tally, terr := g.Tasks.Tally(dag.Scope{}); terr == nil && tally.Total() == 0 { // a clone without a plan
				return cli.Hint(err, "%s", show.NoPlan(a, s))
			}
		}
		return err
	})
	return scope, err
}

// needsAgent says whether any open task would be given to the agent of the run: only then
// is it a fault that there is none.
func needsAgent(ctx context.Context, s *cli.Session, scope dag.Scope) (needed bool) {
	err := s.Store.View(ctx, func(g *dag.Graph) (err error) { _, needed, err = g.Tasks.OwnAgents(scope); return err })
	return needed || err != nil
}

// ImportFeature imports the graph of the feature that a run is for, if git brought it and
// the database has none of its tasks: so that plan, commit, clone, run works.
func ImportFeature(ctx context.Context, s *cli.Session, t TargetOptions) error {
	typed := cli.Or(t.Feature, "")
	if typed == "" && t.Task == nil && t.Tag == nil && len(t.Args) == 1 {
		typed = t.arg()
	}
	if typed == "" {
		return nil
	}
	name := typed
	err := s.Store.View(ctx, func(g *dag.Graph) error {
		f, err := g.Plan.Feature(typed)
		if err == nil {
			name = f.Name
		}
		return err
	})
	if err != nil && (!errors.Is(err, dag.ErrNotFound) || dag.CheckFeatureName(name) != nil) {
		return nil //nolint:nilerr // whoever looks for the target words that better
	}
	_, err = s.Plans.Load(ctx, name)
	return err
}

// continueRun finds the run that --continue means, and restores the flags that it had
// and that were not typed again. Nil means that none is continued.
func continueRun(ctx context.Context, a *cli.App, s *cli.Session, o Options) (Options, *dag.Run, error) {
	if !o.Continue {
		return o, nil, nil
	}
	run, err := unfinished(ctx, a, s, o.TargetOptions)
	if err != nil {
		return o, nil, fmt.Errorf("continue: %w", err)
	}
	var stored map[string]string
	if err := json.Unmarshal([]byte(run.Settings), &stored); err != nil {
		return o, nil, fmt.Errorf("continue %s: its settings: %w", run.ID, err)
	}
	if a.Getenv(cli.ServedVariable) != "" {
		line := web.Line{Name: "run --continue " + run.ID, Agent: stored["agent"]}
		for name, value := range stored {
			list := &line.Flags
			if value == "false" {
				list = &line.Off
			}
			*list = append(*list, name)
		}
		if err := cli.RefuseWeaker(a, line, s.Config.Serve.Allow); err != nil {
			return o, nil, err
		}
	}
	workers := o.Workers
	if o, err = o.restore(stored); err != nil {
		return o, nil, fmt.Errorf("continue %s: %w", run.ID, err)
	}
	o.Workers = workers
	if run.Outcome == event.OutcomeLimit {
		a.Note("continuing %s, which a limit ended: its counters start at 0; budgets of tasks, features and the day go on", run.ID)
	}
	return o, &run, nil
}

// joinRun gives the run that this process goes on with the target and the flags that it was begun with.
func joinRun(ctx context.Context, s *cli.Session, o Options) (Options, error) {
	if o.Workers == nil {
		return o, nil
	}
	open, err := cli.Read(ctx, s, func(g *dag.Graph) ([]dag.Run, error) { return g.History.OpenRuns() })
	i := slices.IndexFunc(open, func(r dag.Run) bool { return r.Process.Remote == o.Workers.name })
	if err != nil || i < 0 {
		return o, err
	}
	var stored map[string]string
	if err := json.Unmarshal([]byte(open[i].Settings), &stored); err != nil {
		return o, fmt.Errorf("go on with %s: its settings: %w", open[i].ID, err)
	}
	again, err := o.restore(stored)
	again.Workers, again.Continue = o.Workers, false
	return again, err
}

// unfinished is the run that was named, the last one of the target, or without a
// target the last one that left something to do.
func unfinished(ctx context.Context, a *cli.App, s *cli.Session, t TargetOptions) (run dag.Run, err error) {
	typed := ""
	if len(t.Args) == 1 && strings.HasPrefix(t.arg(), "r-") {
		typed = t.arg()
	}
	var scope *dag.Scope
	switch {
	case typed != "" && (t.Feature != nil || t.Task != nil || t.Tag != nil):
		return run, cli.Usagef("%s has its own target: it does not go with --feature, --task or --tag", typed)
	case typed == "" && t.given():
		found, err := FindScope(ctx, a, s, t)
		if err != nil {
			return run, err
		}
		scope = &found
	}
	run, err = cli.Read(ctx, s, func(g *dag.Graph) (dag.Run, error) { return g.History.RunToContinue(typed, scope, cli.Life) })
	switch {
	case errors.Is(err, dag.ErrRefused) && !errors.As(err, new(*dag.FinishedError)):
		return run, err
	case errors.Is(err, dag.ErrRefused):
		return run, cli.Hint(err, "let its failed tasks run again first: ralph task reset --failed; or start a new run: ralph run")
	case errors.As(err, new(*dag.FinishedError)):
		return run, cli.Hint(err, "start a new one with: ralph run")
	case typed != "":
		return run, cli.Hint(err, "see the IDs with: ralph runs list")
	}
	return run, cli.Hint(err, "start a new one with: ralph run; see the earlier ones with: ralph runs list")
}

// storedSettings are the flags that a run was given, for the run that continues it, and
// what it writes in the project, for every other run.
func storedSettings(given map[string]string, output []string) (string, error) {
	stored := map[string]string{}
	maps.Copy(stored, given)
	if len(output) > 0 {
		stored[wiring.OutputKey] = strings.Join(output, "\x00")
	}
	b, err := json.Marshal(stored)
	return string(b), err
}
