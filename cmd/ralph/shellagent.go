package main

import (
	"context"

	"github.com/urfave/cli/v2"

	"ralph/internal/shellagent"
)

// shellAgentCommand is the built-in agent: ralph starts itself with this name.
func shellAgentCommand(a *app) command {
	return command{
		name: "shell-agent", hidden: true, short: "speak the Agent Client Protocol on stdin and stdout",
		example: "ralph run --agent shell",
		run: action(a, parseNothing, func(ctx context.Context, a *app, _ struct{}) error {
			return shellagent.Serve(ctx, a.stdin, a.rawOut(), shellagent.Options{Version: buildVersion().Version})
		}),
	}
}

// parseNothing is for commands without flags.
func parseNothing(*cli.Context) (struct{}, error) { return struct{}{}, nil }
