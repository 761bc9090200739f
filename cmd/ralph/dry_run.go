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
	switch {
	case f.End != "":
		_, err := fmt.Fprintln(a.stdout, "would begin nothing: "+term.Line(f.End))
		return err
	case f.Tally.Total() == 0:
		_, err := fmt.Fprintln(a.stdout, "there is no task in scope; a run would end with status 3")
		return err
	case len(f.Tasks) == 0:
		_, err := fmt.Fprintln(a.stdout, "nothing is ready; see what waits with: ralph status")
		return err
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
	_, err = fmt.Fprintf(a.stdout, "\nthe first prompt:\n\n%s", prompt.Build(in))
	return err
}

// printReady lists what would run, and then what would not although it is ready.
func printReady(a *app, opts loop.Options, tasks []loop.PlannedTask) {
	left := func(t loop.PlannedTask) bool { return t.Skipped != "" }
	if slices.ContainsFunc(tasks, func(t loop.PlannedTask) bool { return !left(t) }) {
		fmt.Fprintln(a.stdout, "would run, in this order, before anything else becomes ready:")
	}
	n := 0
	if from := opts.Graph.Continues; from != nil {
		n = from.Iterations
	}
	for _, t := range tasks {
		if left(t) {
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
		fmt.Fprintf(a.stdout, "  %s  %s  %s\n", t.ID, how, term.Line(t.Title))
	}
	if slices.ContainsFunc(tasks, left) {
		fmt.Fprintln(a.stdout, "would be left alone, though ready:")
	}
	for _, t := range tasks {
		if left(t) {
			fmt.Fprintf(a.stdout, "  %s  %s  %s\n", t.ID, term.Line(t.Skipped), term.Line(t.Title))
		}
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
