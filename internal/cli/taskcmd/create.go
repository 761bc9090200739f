package taskcmd

import (
	"context"
	"errors"
	"fmt"

	"ralph/dag"
	"ralph/features"
	"ralph/internal/cli"
	"ralph/internal/cli/planning"
	"ralph/internal/jsonval"
)

var taskCreateCommand = cli.Command{
	Name: "create", Args: "[TEXT]", Short: "describe work in words; an agent turns it into tasks, shown before they are kept",
	Long: `For a handful of tasks that belong to no feature. What is wanted is TEXT, or the text of --from,
or what you type. The tasks are checked like those of "ralph feature build".`,
	Flags: append([]cli.Flag{
		cli.YesFlag("keep the tasks without asking"),
		{Name: "from", Usage: "read what is wanted from `FILE`; - for stdin"},
	}, planning.PlannerFlags()...),
	Example: "ralph task create \"Rename the flag --foo to --bar, with a warning for the old name\"",
	Exits:   "1 refused (nobody can be asked, no usable answer), 5 no usable agent, " + cli.Interrupted,
	Run:     planning.InPlanning(runTaskCreate),
}

func runTaskCreate(ctx context.Context, a *cli.App, _ *cli.Session, p *features.Planner, o planning.PlannerOptions) error {
	text := o.Idea
	if len(o.Args) > 0 {
		text, p.Name = o.Args[0], "" // the tasks belong to no feature
		switch {
		case o.From != "":
			return cli.Usagef("TEXT or --from, not both")
		case text == "":
			return cli.Usagef("TEXT is empty")
		}
	}
	var step features.Step
	err := planning.Attended(ctx, a, func(ctx context.Context) (err error) {
		if text == "" {
			text, err = p.AskForIdea(ctx, "What is to be done?")
		}
		if errors.Is(err, features.ErrNobody) {
			return cli.Hint(err, `say what is wanted: ralph task create "TEXT", or --from FILE`)
		}
		if err == nil {
			step, err = p.Build(ctx, features.Wish{Idea: text})
		}
		return planning.HintAgain(p, err, "ralph task create")
	})
	if err != nil {
		return err
	}
	kept := step.Did == features.DidApprove
	if o.JSON {
		if err := a.PrintJSON(CreatedJSON(step)); err != nil {
			return err
		}
	}
	if !kept {
		return cli.Hint(fmt.Errorf("%w: the tasks were not kept", dag.ErrRefused), "keep them after all with: ralph task import %s", step.Path)
	}
	return nil
}

// CreatedJSON names the file of tasks that were not kept.
func CreatedJSON(step features.Step) jsonval.Object {
	kept := step.Did == features.DidApprove
	if kept {
		step.Path = ""
	}
	return jsonval.Object{"kept", kept, "tasks", step.Tasks, "warnings", step.Warnings, "path", cli.Null(step.Path)}
}
