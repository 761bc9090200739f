package taskcmd

import (
	"context"

	"ralph/internal/cli"
	"ralph/internal/cli/decide"
)

// Accept is the command "ralph task accept".
var Accept = cli.Command{
	Name: "accept", Args: "ID...", Short: "accept work that was rejected, that waits for review, or that landed; no agent works on it",
	Long: `Gates check the work once more; what else was found in it is excused. Work of a slot lands with ralph merge, or
with a run on its branch: at once, if one is active and has a slot free. Work in this folder is checked at once and
done; if a gate fails, the task stays what it was. Of work that has landed, it is noted who looked at it, and
ralph review --morning does not list it any more.`,
	Flags: []cli.Flag{
		{Name: "message", Short: "m", Usage: "`TEXT`, @FILE, or - for stdin, that says why"},
	},
	Example: "ralph task accept 1f0c -m \"the task asks for that\"\nralph merge",
	Exits:   "1 refused (there is no such work) or a gate failed, 3 not found, " + cli.Interrupted,
	Run:     cli.Action(runTaskAccept),
}

func runTaskAccept(ctx context.Context, a *cli.App, o decide.TaskStateOptions) error {
	why, err := cli.ReadText(a, o.Message)
	if err != nil {
		return err
	}
	return decide.AcceptTasks(ctx, a, o.Args, why)
}
