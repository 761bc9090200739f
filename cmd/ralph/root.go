package main

import (
	"slices"

	"ralph/internal/cli"
	"ralph/internal/cli/agentcmd"
	"ralph/internal/cli/configcmd"
	"ralph/internal/cli/doctorcmd"
	"ralph/internal/cli/featurecmd"
	"ralph/internal/cli/helpcmd"
	"ralph/internal/cli/inboxcmd"
	"ralph/internal/cli/launch"
	"ralph/internal/cli/prcmd"
	"ralph/internal/cli/reportcmd"
	"ralph/internal/cli/reviewcmd"
	"ralph/internal/cli/runcmd"
	"ralph/internal/cli/servecmd"
	"ralph/internal/cli/taskcmd"
)

func newApp(sys cli.System) *cli.App {
	return cli.New(sys, cli.Command{
		Short: "run AI coding agents through a dependency graph of tasks", Flags: cli.GlobalFlags, Sub: commands, Exits: "1 refused, 3 not found",
		Example: "ralph init\nralph task add \"Write the parser\"\nralph run\nralph status",
	})
}

// commands are all that there are, in the order of the help.
var commands = cli.WithBare(slices.Concat(
	cli.Grouped("Plan", configcmd.Init, taskcmd.Task, featurecmd.Feature, taskcmd.Template, runcmd.Forecast),
	cli.Grouped("Run", launch.Command, servecmd.Schedule, inboxcmd.Inbox, inboxcmd.Send, inboxcmd.Query, inboxcmd.Attach, reviewcmd.Review, reviewcmd.Merge, reviewcmd.Undo, prcmd.Command, runcmd.Demo, inboxcmd.Stop, inboxcmd.Pause, inboxcmd.Resume, doctorcmd.Recover, taskcmd.Prompt),
	cli.Grouped("Inspect", reportcmd.Status, reportcmd.Watch, servecmd.Serve, reportcmd.Report, reportcmd.Runs, reportcmd.Logs, reportcmd.Cost, reportcmd.Stats, reportcmd.Journal, reportcmd.Knowledge, configcmd.Permissions, reportcmd.Audit),
	cli.Grouped("Maintain", agentcmd.Agents, agentcmd.Agent, configcmd.Config, doctorcmd.Doctor, doctorcmd.Slots, doctorcmd.GC, agentcmd.MCP, taskcmd.MergeDriver, helpcmd.Completion, helpcmd.Man, helpcmd.Version),
	[]cli.Command{helpcmd.Complete, agentcmd.Shell, runcmd.Dispatch, runcmd.Attempt},
))

// run is the whole program: it returns the exit status.
func run(args []string, sys cli.System) int { return newApp(sys).Run(args) }
