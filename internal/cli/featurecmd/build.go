package featurecmd

import (
	"context"

	"ralph/features"
	"ralph/internal/cli"
	"ralph/internal/cli/planning"
)

var featureBuildCommand = cli.Command{
	Name: "build", Args: "NAME", Short: "turn plan.md into a graph of tasks, and show it before it counts",
	Long: `The agent answers with a task file, or adds tasks by commands in a scratch project. They are
checked without any model: cycles, missing acceptance criteria, vague or oversized tasks, orphan
dependencies, files that do not exist, no gate, a long chain where parallel work is possible.
Errors go back to the agent up to three times; warnings are for you. Nothing is in the graph
until you say yes, here or with "ralph feature approve"; then all tasks are added at once, and
the feature's tasks.jsonl is written, which you can commit.

A template makes the tasks instead, if --template names one or the plan has a line such as
"Template: go-feature; parts = form, session".`,
	Flags: append([]cli.Flag{
		cli.YesFlag("keep the tasks without asking"),
		replaceFlag("build again; the new tasks replace those of the feature once you keep them"),
		cli.Bool("append", "add to the tasks that the feature has"),
		{Name: "template", Usage: "take the tasks of the template `NAME`, and ask no agent; see ralph template"},
		planning.VarFlag(),
	}, planning.PlannerFlags()...),
	Example: "ralph feature build login\nralph feature build login --yes\nralph feature build login --template go-feature --var parts=form,session",
	Exits:   "1 refused (no plan, it has tasks, no usable answer), 3 no such feature, 5 no usable agent, " + cli.Interrupted,
	Run:     planning.PlanStep(buildTasks),
}

func buildTasks(ctx context.Context, p *features.Planner, o planning.PlannerOptions) (features.Step, error) {
	mode := features.Fresh
	switch {
	case o.Replace:
		mode = features.Replace
	case o.Append:
		mode = features.Append
	}
	return p.Build(ctx, features.Wish{Mode: mode, Template: features.Template{Name: o.Template, Vars: o.Var}})
}

var featureApproveCommand = cli.Command{
	Name: "approve", Args: "NAME", Short: "keep the tasks that build proposed", Flags: []cli.Flag{cli.JSONFlag},
	Example: "ralph feature approve login", Exits: "1 refused (nothing is proposed), 3 no such feature",
	Run: planning.PlanStep(func(ctx context.Context, p *features.Planner, _ planning.PlannerOptions) (features.Step, error) {
		return p.Approve(ctx)
	}),
}
