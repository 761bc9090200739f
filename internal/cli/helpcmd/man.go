package helpcmd

import (
	"context"
	"fmt"

	"ralph/internal/cli"
)

// Man is the command "ralph man".
var Man = cli.Command{
	Name: "man", Short: "print the manual page",
	Long:    `man: ralph man > /usr/local/share/man/man1/ralph.1`,
	Example: "ralph man | man -l -",
	Run: cli.Action(func(_ context.Context, a *cli.App, _ cli.PlainOptions) error {
		return cli.Written(fmt.Fprint(a.Stdout, a.Manual()))
	}),
}
