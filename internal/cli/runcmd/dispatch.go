package runcmd

import (
	"context"
	"fmt"
	"net"

	"ralph/internal/cli"
	"ralph/internal/cli/launch"
	"ralph/internal/project"
)

// Dispatch is ralph run for a program that has the attempts made on other machines, such as ralph-temporal.
var Dispatch = cli.Command{
	Name: "dispatch", Hidden: true, Args: "[TARGET]", Short: "run the ready tasks on other machines",
	Long: `The same as "ralph run", but the program that listens on the socket has the attempts made: package
internal/dispatch says what both tell each other. ralph-temporal is such a program.`,
	Flags: append(launch.RunFlags(project.Default()),
		cli.Flag{Name: "socket", Usage: "speak with the program that listens on `SOCKET`"},
		cli.Flag{Name: "name", Usage: "go on with the run that was begun under the same `NAME`, if it has not ended"},
	),
	Example: "ralph-temporal run", Exits: "as of ralph run", Late: true, Run: cli.Action(runDispatch),
}

type dispatchOptions struct {
	launch.Options
	Socket, Name string
}

func runDispatch(ctx context.Context, a *cli.App, o dispatchOptions) error {
	if o.Socket == "" || o.Name == "" {
		return cli.Usagef("--socket and --name are needed: ralph-temporal run starts this command")
	}
	if o.DryRun || o.InPlace {
		return cli.Usagef("--dry-run and --in-place do not go with attempts on other machines")
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, "unix", o.Socket)
	if err != nil {
		return fmt.Errorf("reach the program that has attempts made: %w", err)
	}
	defer conn.Close()
	o.Workers = launch.NewRemoteWorkers(o.Name, a.Version().Build, conn, func(err error) {
		// Nobody can be told any more what comes of an attempt, so the run stays as it is for whoever goes on with it.
		a.Note("the program that has attempts made is gone: %v", err)
		a.Exit(cli.ExitBug)
	})
	return launch.Run(ctx, a, o.Options)
}
