package launch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"ralph/dag"
	"ralph/features"
	"ralph/internal/agents"
	"ralph/internal/budget"
	"ralph/internal/cli"
	"ralph/internal/cli/show"
	"ralph/internal/cli/wiring"
	"ralph/internal/git"
	"ralph/internal/human"
	"ralph/internal/seq"
	"ralph/internal/term"
	"ralph/loop"
	"ralph/strategy"
)

// adviseRun says before a run what a person would want to know before agents work:
// that there is no plan, that their own changes may be committed, that nothing limits
// the cost, and that a plan exists on this machine only.
func adviseRun(ctx context.Context, a *cli.App, s *cli.Session, output wiring.OutputOptions, opts loop.Options) error {
	if opts.Graph.Finished { // no agent begins anything
		return nil
	}
	var tally dag.Tally
	asks := false
	err := s.Store.View(ctx, func(g *dag.Graph) (err error) {
		if tally, err = g.Tasks.Tally(opts.Graph.Scope); err == nil {
			asks, err = asksModel(g, opts)
		}
		return err
	})
	switch {
	case errors.Is(err, dag.ErrNotFound): // the run says so in better words
		return nil
	case err != nil:
		return err
	case opts.Graph.Follow: // what comes is not known yet
	case tally.Total() == 0:
		a.Note("%s", show.NoPlan(a, s))
		return nil
	case tally.Open() == 0:
		return nil
	}
	if asks && opts.Landing.Here && !git.Own(s.Project.Root) {
		warnDirty(ctx, a, s, output)
	}
	if asks && opts.Host.Setup.Limits == budget.Unlimited {
		a.Note("hint: nothing limits what this run may spend; limit it with --max-cost, --limit or --max-duration, or [budget] in .ralph.toml")
	}
	if cli.InCI(a) || git.Top(s.Project.Root) == "" || git.Own(s.Project.Root) {
		return nil
	}
	return mentionExport(ctx, a, s, opts.Graph.Scope)
}

// presets are the agents that a run may start: its own, those that take turns with it or take over, and those that tasks name.
func presets(ctx context.Context, s *cli.Session, o *agents.Opener, scope dag.Scope) []agents.Preset {
	names := slices.Concat(s.Config.Agent.Rotate, s.Config.Agent.Fallback)
	_ = s.Store.View(ctx, func(g *dag.Graph) error { // a graph that cannot be read ends the run anyway
		own, _, err := g.Tasks.OwnAgents(scope)
		names = append(names, own...)
		return err
	})
	list := []agents.Preset{o.Chosen.Preset}
	for _, name := range names {
		if p, err := o.Preset(name); err == nil { // or it cannot be started
			list = append(list, p)
		}
	}
	return list
}

// refuseUnpriced refuses a run that only money limits if what its agent costs is not known: nothing would end it.
func refuseUnpriced(opts loop.Options, p agents.Preset) error {
	tokens := strings.Contains(p.Reports, "tokens")
	if opts.Limits.Budgets.Run.CostUSD == 0 || opts.Limits.Bounded(tokens) || p.Channel == agents.NoModel || strings.Contains(p.Reports, "USD") {
		return nil
	}
	ways := "limit something else, too: --limit, --max-duration or --until"
	if tokens {
		if priced(p, opts.Models.Model, opts.Agents.Prices) {
			return nil
		}
		ways += "; or name the price of its tokens: [prices] in .ralph.toml"
	}
	return cli.Hint(cli.Usagef("--max-cost would limit nothing: what the agent %s costs is not known", p.Name), "%s", ways)
}

// priced reports whether a model has a price, or, if none is named, one of each tier.
func priced(p agents.Preset, model string, prices budget.Prices) bool {
	if candidates, tier := p.Tiers[model]; tier {
		return slices.ContainsFunc(candidates, prices.Known)
	}
	if model != "" || len(p.Tiers) == 0 {
		return prices.Known(model)
	}
	for tier := range p.Tiers {
		if !priced(p, tier, prices) {
			return false
		}
	}
	return true
}

// asksModel says that an agent of the run may cost money and is prompted to commit:
// all are but those that only run a script.
func asksModel(g *dag.Graph, opts loop.Options) (bool, error) {
	if !opts.Agents.Modelless(opts.Host.Setup.Agent) {
		return true, nil
	}
	own, _, err := g.Tasks.OwnAgents(opts.Graph.Scope)
	return slices.ContainsFunc(own, func(agent string) bool { return !opts.Agents.Modelless(agent) }), err
}

// warnDirty warns of changes that an agent may take for its own when it commits.
func warnDirty(ctx context.Context, a *cli.App, s *cli.Session, output wiring.OutputOptions) {
	state := git.Look(ctx, s.Project.Root)
	own := wiring.OwnFiles(a, s, output)(nil)
	files := slices.DeleteFunc(state.Uncommitted, func(name string) bool { // ralph's own
		return strings.HasPrefix(name, ".ralph/") || name == filepath.Base(s.Project.Config()) || slices.Contains(own, name)
	})
	if len(files) == 0 {
		return
	}
	a.Note("warning: agents commit their work, and may commit what is uncommitted here: %s; commit or stash what is yours", human.List(files, 3))
}

// refuseEmpty ends a run of a project in which nothing was planned yet, and says in two lines what to do. What machines read, and
// plans that were made elsewhere, are the business of the run.
func refuseEmpty(ctx context.Context, a *cli.App, s *cli.Session, o Options, opts loop.Options) error {
	if o.JSON || o.Events != "" || len(o.Files()) > 0 || a.LogFormat != "" || opts.Graph.Scope != (dag.Scope{}) || opts.Graph.Follow || show.NoPlan(a, s) != show.NothingPlanned {
		return nil
	}
	first, err := cli.Read(ctx, s, func(g *dag.Graph) ([]dag.Task, error) { return g.Tasks.List(dag.Filter{Limit: 1}) }) // counts may be wrong
	if err != nil || len(first) > 0 {
		return err
	}
	if opts.Host.Setup.Agent == wiring.Absent(agents.Agent{}) {
		return cli.Hint(show.NothingToRun("there is no task yet, and no agent"), `add a task with: ralph task add "TITLE"; find an agent with: ralph agents`)
	}
	return cli.Hint(show.NothingToRun("there is no task yet"), `add one with: ralph task add "TITLE"; or many with: ralph task import FILE`)
}

// mentionExport says of the features of a run that a clone would not have all of their
// tasks.
func mentionExport(ctx context.Context, a *cli.App, s *cli.Session, scope dag.Scope) error {
	list, err := cli.Read(ctx, s, func(g *dag.Graph) ([]features.Unexported, error) {
		return features.FindUnexported(g, scope, s.Project.Feature)
	})
	for _, f := range list {
		command := "ralph task export --feature " + f.Feature + " --save"
		if f.Missing == 0 {
			a.Note("feature %s is not exported, so a clone of this repository has none of its tasks; export it with: %s", f.Feature, command)
		} else {
			a.Note("the export of feature %s lacks %s; refresh it with: %s", f.Feature, human.Count(f.Missing, "task"), command)
		}
	}
	return err
}

// dryRun shows what a run would do first.
func dryRun(ctx context.Context, a *cli.App, opts loop.Options) error {
	var ready []dag.Task
	err := opts.Graph.Store.View(ctx, func(g *dag.Graph) (err error) { ready, err = g.Tasks.ReadyIn(opts.Graph.Scope); return err })
	if err != nil {
		return err
	}
	f, err := loop.Preview(ctx, opts, ready)
	if err != nil {
		return err
	}
	setup := opts.Host.Setup
	fmt.Fprintf(a.Stdout, "scope    %s: %s\nagent    %s\nlimits   %s\nverify   %s\n\n",
		setup.Scope, cmp.Or(show.Summary(f.Tally), "no task"), setup.Agent, setup.Limits, setup.Verify)
	nothing := ""
	switch {
	case f.End != "":
		nothing = "would start nothing: " + term.Line(f.End)
	case f.Tally.Total() == 0:
		nothing = "there is no task in scope; a run would end with status 3"
	case len(f.Tasks)+len(f.Looks) == 0:
		nothing = "nothing is ready; see what waits with: ralph status"
	}
	if nothing != "" {
		return cli.Written(fmt.Fprintln(a.Stdout, nothing))
	}
	if outlook, err := Foresee(ctx, opts); err == nil { // or there are too many tasks
		fmt.Fprint(a.Stdout, "what to expect:\n"+a.FieldLines(outlook.Fields()...)+"\n")
	}
	printReady(a, opts, f.Tasks)
	if len(f.Looks) > 0 {
		fmt.Fprintf(a.Stdout, "would be added, because all tasks of their features have ended:\n%s", strings.Join(seq.Map(f.Looks, func(title string) string { return "  " + term.Line(title) + "\n" }), ""))
	}
	first := slices.IndexFunc(f.Tasks, loop.PlannedTask.Worked)
	if first < 0 {
		return nil
	}
	_, text, err := loop.PromptOf(ctx, opts, f.Tasks[first].Task)
	if err != nil {
		return err
	}
	return cli.Written(fmt.Fprintf(a.Stdout, "\nthe first prompt:\n\n%s", text))
}

// printReady lists what would run, and then what would not although it is ready.
func printReady(a *cli.App, opts loop.Options, tasks []loop.PlannedTask) {
	var run, skipped string
	n := 0
	if from := opts.Graph.Continues; from != nil {
		n = from.Iterations
	}
	for _, t := range tasks {
		if t.Skipped != "" {
			skipped += fmt.Sprintf("  %s  %s  %s\n", t.ID, term.Line(t.Skipped), term.Line(t.Title))
			continue
		}
		n++
		how := modelFor(opts, t.Task, n)
		switch {
		case t.Fails != "":
			how = "would fail at once: " + term.Line(t.Fails)
		case t.Unverified != "":
			how = "only its verdict: the work is finished"
		}
		run += fmt.Sprintf("  %s  %s  %s\n", t.ID, how, term.Line(t.Title))
	}
	if run != "" {
		fmt.Fprint(a.Stdout, "would run, in this order, before anything else becomes ready:\n"+run)
	}
	if skipped != "" {
		fmt.Fprint(a.Stdout, "would be left alone, though ready:\n"+skipped)
	}
}

// modelFor is which model a task would be given in that iteration.
func modelFor(opts loop.Options, t dag.Task, iteration int) string {
	choice := strategy.Next(strategy.Input{
		Kind: opts.Models.Strategy, Model: opts.Models.Model, Pinned: t.Model, Iteration: iteration, Task: t.ID, Retries: t.Retries,
	})
	if opts.Agents.Modelless(cmp.Or(t.Agent, opts.Host.Setup.Agent)) {
		return "no model"
	}
	return cmp.Or(choice.Model, "the agent's own model")
}
