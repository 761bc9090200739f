package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/term"

	"ralph/dag"
	"ralph/internal/watch"
)

var watchCommand = command{
	name: "watch", args: "[RUN]", short: "watch a run live, and steer it",
	long: `Shows the graph, the running attempts and the output of the selected one until you press q; the run
itself continues. It works from any terminal, for a run that is running or over. RUN is an ID; without
one, the current run is shown, or the last. Press d to see what the selected one changes, i to answer what agents ask, and ? for
all keys: pause, stop, end, skip, retry, guide.`,
	example: "ralph watch\nralph watch r-31aa8faf", exits: "3 no such run", run: inProject(runWatch),
}

func runWatch(ctx context.Context, a *app, s *session, o plainOptions) error {
	in, out, err := bothEnds(a)
	if err != nil {
		return hint(err, "without one: ralph status, ralph logs -f")
	}
	run, err := look(ctx, s, func(g *dag.Graph) (string, error) { return runID(g, strings.Join(o.Args, "")) })
	if err != nil {
		return err
	}
	command := func(ctx context.Context, stdin string, args ...string) (string, error) {
		_, notes, err := carryOut(ctx, a, s, stdin, args...)
		if err != nil {
			notes, _, _ = strings.Cut(err.Error(), "\nhint: ") // about commands
			err = errors.New(strings.ReplaceAll(notes, "\n", "; "))
		}
		return strings.ReplaceAll(notes, "\n", "; "), err
	}
	return watch.Run(ctx, watch.Options{
		Store: s.store, Command: command, Version: s.db.Version, Intact: s.db.Intact, Life: life, Folder: s.project.Runs(), Name: filepath.Base(s.project.Root), Run: run,
		Diff: newDiffs(a).of(s), Palette: a.palette(), Now: a.now, In: in, Out: out, Environ: a.environ(), Redact: a.redact.Text,
	})
}

// bothEnds are the streams of a terminal that can be drawn on.
func bothEnds(a *app) (in, out *os.File, err error) {
	in, _ = a.stdin.(*os.File)
	out, _ = a.raw.(*os.File)
	if in == nil || out == nil || !term.IsTerminal(int(in.Fd())) || !term.IsTerminal(int(out.Fd())) {
		return nil, nil, usagef("watch needs a terminal")
	}
	if name := a.getenv("TERM"); name == "dumb" || name == "" {
		return nil, nil, usagef("watch needs a terminal that can be drawn on, and TERM is %q", name)
	}
	return in, out, nil
}
