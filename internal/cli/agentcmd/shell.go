package agentcmd

import (
	"context"

	"ralph/internal/cli"
	"ralph/internal/shellagent"
)

// Shell is the built-in agent: ralph starts itself with this name.
var Shell = cli.Command{
	Name: "shell-agent", Hidden: true, Short: "speak the Agent Client Protocol on stdin and stdout",
	Example: "ralph run --agent shell",
	Run: cli.Action(func(ctx context.Context, a *cli.App, _ cli.PlainOptions) error {
		return shellagent.Serve(ctx, a.Stdin, a.Raw, shellagent.Options{Version: a.Version().Version})
	}),
}
