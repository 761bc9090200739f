// Package taskcmd has the commands about tasks, templates and prompts.
package taskcmd

import (
	"slices"

	"ralph/internal/cli"
)

// Task is the command "ralph task".
var Task = cli.Command{
	Name: "task", Short: "plan: add, look at and change tasks",
	Example: `ralph task add "Write the parser"`, Exits: "1 refused, 3 not found",
	Sub: slices.Concat([]cli.Command{
		taskAddCommand, taskCreateCommand, taskImportCommand, taskExportCommand, taskListCommand, taskShowCommand, taskTreeCommand,
		taskLogCommand, taskWhyCommand, taskGraphCommand, taskUpdateCommand, taskDepsCommand, taskRelateCommand, taskUnrelateCommand,
	}, taskStateCommands),
}
