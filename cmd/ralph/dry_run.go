package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"ralph/dag"
	"ralph/internal/term"
	"ralph/loop"
	"ralph/prompt"
	"ralph/strategy"
)

// dryRun shows what a run would do first.
func dryRun(ctx context.Context, a *app, opts loop.Options) error {
	var ready []dag.Task
	err := opts.Graph.Store.View(ctx, func(g *dag.Graph) (err error) { ready, err = g.ReadyIn(opts.Graph.Scope); return err })
	if err != nil {
		return err
	}
	f, err := loop.Preview(ctx, opts, ready)
	if err != nil {
		return err
	}
	fmt.Fprintf(a.stdout, "scope    %s: %s\nagent    %s\nlimits   %s\nverify   %s\n\n", opts.Host.Setup.Scope, cmp.Or(summary(f.Tally), "no task"), opts.Host.Setup.Agent, opts.Host.Setup.Limits, opts.Host.Setup.Verify)
	nothing := ""
	switch {
	case f.End != "":
		nothing = "would begin nothing: " + term.Line(f.End)
	case f.Tally.Total() == 0:
		nothing = "there is no task in scope; a run would end with status 3"
	case len(f.Tasks) == 0:
		nothing = "nothing is ready; see what waits with: ralph status"
	}
	if nothing != "" {
		return written(fmt.Fprintln(a.stdout, nothing))
	}
	printReady(a, opts, f.Tasks)
	first := slices.IndexFunc(f.Tasks, loop.PlannedTask.Worked)
	if first < 0 {
		return nil
	}
	in, err := loop.Gather(ctx, opts, "", f.Tasks[first].Task)
	if err != nil {
		return err
	}
	return written(fmt.Fprintf(a.stdout, "\nthe first prompt:\n\n%s", prompt.Build(in)))
}

// printReady lists what would run, and then what would not although it is ready.
func printReady(a *app, opts loop.Options, tasks []loop.PlannedTask) {
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
		fmt.Fprint(a.stdout, "would run, in this order, before anything else becomes ready:\n"+run)
	}
	if skipped != "" {
		fmt.Fprint(a.stdout, "would be left alone, though ready:\n"+skipped)
	}
}

// modelFor is which model a task would be given in that iteration.
func modelFor(opts loop.Options, t dag.Task, iteration int) string {
	choice := strategy.Next(strategy.Input{Kind: opts.Models.Strategy, Model: opts.Models.Model, Pinned: t.Model, Iteration: iteration, Task: t.ID, Retries: t.Retries})
	if opts.Agents.Modelless(cmp.Or(t.Agent, opts.Host.Setup.Agent)) {
		return "no model"
	}
	return cmp.Or(choice.Model, "the agent's own model")
}
