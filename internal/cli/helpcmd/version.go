// Package helpcmd has the commands about the program itself.
package helpcmd

import (
	"context"
	"fmt"

	"ralph/internal/cli"
)

// Version is the command "ralph version".
var Version = cli.Command{
	Name: "version", Short: "print the version", Flags: []cli.Flag{cli.JSONFlag},
	Example: "ralph version --json", Run: cli.Action(runVersion),
}

func runVersion(_ context.Context, a *cli.App, o cli.PlainOptions) error {
	v := a.Version()
	if o.JSON {
		return a.PrintJSON(v)
	}
	return cli.Written(fmt.Fprintf(a.Stdout, "ralph %s (%s, %s/%s)\n", v.Version, v.Go, v.OS, v.Arch))
}
