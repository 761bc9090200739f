package main

import (
	"context"
	"errors"
	"fmt"

	"ralph/dag"
	"ralph/features"
	"ralph/internal/jsonval"
)

var taskCreateCommand = command{
	name: "create", args: "[TEXT]", short: "describe work in words; an agent turns it into tasks, shown before they are kept",
	long: `For a handful of tasks that belong to no feature. What is wanted is TEXT, or the text of --from,
or what you type. The tasks are checked like those of "ralph feature build".`,
	flags: append([]flagSpec{
		yesFlag("keep the tasks without asking"),
		{name: "from", usage: "read what is wanted from `FILE`; - for stdin"},
	}, plannerFlags()...),
	example: "ralph task create \"Rename the flag --foo to --bar, with a warning for the old name\"",
	exits:   "1 refused (nobody can be asked, no usable answer), 5 no usable agent, " + interrupted,
	run:     planning(runTaskCreate),
}

func runTaskCreate(ctx context.Context, a *app, _ *session, p *features.Planner, o plannerOptions) error {
	text := o.idea
	if len(o.Args) > 0 {
		text, p.Name = o.Args[0], "" // the tasks belong to no feature
		switch {
		case o.From != "":
			return usagef("TEXT or --from, not both")
		case text == "":
			return usagef("TEXT is empty")
		}
	}
	var step features.Step
	err := attended(ctx, a, func(ctx context.Context) (err error) {
		if text == "" {
			text, err = p.AskForIdea(ctx, "What is to be done?")
		}
		if errors.Is(err, features.ErrNobody) {
			return hint(err, `say what is wanted: ralph task create "TEXT", or --from FILE`)
		}
		if err == nil {
			step, err = p.Build(ctx, features.Wish{Idea: text})
		}
		return planningHint(p, err, "ralph task create")
	})
	if err != nil {
		return err
	}
	kept := step.Did == features.DidApprove
	if o.JSON {
		if err := a.printJSON(createdJSON(step)); err != nil {
			return err
		}
	}
	if !kept {
		return hint(fmt.Errorf("%w: the tasks were not kept", dag.ErrRefused), "keep them after all with: ralph task import %s", step.Path)
	}
	return nil
}

// createdJSON names the file of tasks that were not kept.
func createdJSON(step features.Step) jsonval.Object {
	kept := step.Did == features.DidApprove
	if kept {
		step.Path = ""
	}
	return jsonval.Object{"kept", kept, "tasks", step.Tasks, "warnings", step.Warnings, "path", null(step.Path)}
}
