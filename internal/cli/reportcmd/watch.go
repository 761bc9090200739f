package reportcmd

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/term"

	"ralph/dag"
	"ralph/internal/cli"
	"ralph/internal/cli/wiring"
	"ralph/internal/watch"
)

// Watch is the command "ralph watch".
var Watch = cli.Command{
	Name: "watch", Args: "[RUN]", Short: "watch a run live, and steer it",
	Long: `Shows the graph, the running attempts and the output of the selected one until you press q; the run
itself continues. It works from any terminal, for a run that is running or over. RUN is an ID; without
one, the current run is shown, or the last. Press d to see what the selected one changes, i to answer what agents ask, and ? for
all keys: pause, stop, end, skip, retry, guide.`,
	Example: "ralph watch\nralph watch r-31aa8faf", Exits: "3 no such run", Run: cli.InProject(runWatch),
}

func runWatch(ctx context.Context, a *cli.App, s *cli.Session, o cli.PlainOptions) error {
	in, out, err := bothEnds(a)
	if err != nil {
		return cli.Hint(err, "without one: ralph status, ralph logs -f")
	}
	run, err := cli.Read(ctx, s, func(g *dag.Graph) (string, error) { return cli.RunID(g, strings.Join(o.Args, "")) })
	if err != nil {
		return err
	}
	command := func(ctx context.Context, stdin string, args ...string) (string, error) {
		_, notes, err := cli.CarryOut(ctx, a, s, stdin, args...)
		if err != nil {
			notes, _, _ = strings.Cut(err.Error(), "\nhint: ") // about commands
			err = errors.New(strings.ReplaceAll(notes, "\n", "; "))
		}
		return strings.ReplaceAll(notes, "\n", "; "), err
	}
	return watch.Run(ctx, watch.Options{
		Store: s.Store, Command: command, Version: s.DB.Version, Intact: s.DB.Intact, Life: cli.Life, Folder: s.Project.Runs(), Name: filepath.Base(s.Project.Root), Run: run,
		Diff: wiring.NewDiffs(a).Of(s), Palette: a.Palette(), Now: a.Now, In: in, Out: out, Environ: a.Environ(), Redact: a.Redact.Text,
	})
}

// bothEnds are the streams of a terminal that can be drawn on.
func bothEnds(a *cli.App) (in, out *os.File, err error) {
	in, _ = a.Stdin.(*os.File)
	out, _ = a.Raw.(*os.File)
	if in == nil || out == nil || !term.IsTerminal(int(in.Fd())) || !term.IsTerminal(int(out.Fd())) {
		return nil, nil, cli.Usagef("watch needs a terminal")
	}
	if name := a.Getenv("TERM"); name == "dumb" || name == "" {
		return nil, nil, cli.Usagef("watch needs a terminal that can be drawn on, and TERM is %q", name)
	}
	return in, out, nil
}
