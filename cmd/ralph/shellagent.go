package main

import (
	"github.com/urfave/cli/v2"

	"ralph/internal/shellagent"
)

// shellAgentCommand is the built-in agent: ralph starts itself with this name.
func shellAgentCommand(a *app) command {
	return command{
		name: "shell-agent", hidden: true, short: "speak the Agent Client Protocol on stdin and stdout",
		example: "ralph run --agent shell",
		run: func(c *cli.Context) error {
			return shellagent.Serve(c.Context, a.stdin, a.rawOut(), shellagent.Options{Version: buildVersion().Version})
		},
	}
}
