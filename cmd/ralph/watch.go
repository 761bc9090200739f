package main

import (
	"os"
	"path/filepath"

	"github.com/urfave/cli/v2"
	"golang.org/x/term"

	"ralph/dag"
	"ralph/internal/watch"
)

func (a *app) watchCommand() command {
	return command{
		name: "watch", args: "[RUN]", short: "look at a run as it goes on, and steer it",
		long: `Shows the graph, the attempts under way, and what the selected one says, until q is typed; the
run goes on. It works from any terminal, for a run that goes on or is over; RUN is an ID, none
means the current run, or the last. Press ? for the keys: pause, stop, skip, retry, guide.`,
		example: "ralph watch\nralph watch r-31aa8faf",
		exits:   "3 no such run",
		run:     a.runWatch,
	}
}

func (a *app) runWatch(c *cli.Context) error {
	if c.NArg() > 1 {
		return usagef("at most one RUN")
	}
	in, out, err := a.bothEnds()
	if err != nil {
		return hint(err, "without one: ralph status, ralph logs -f")
	}
	s, err := a.open(c.Context)
	if err != nil {
		return err
	}
	defer s.Close()
	id := ""
	if typed := c.Args().First(); typed != "" {
		err := s.store.View(c.Context, func(g *dag.Graph) error {
			run, err := findRun(g, typed)
			id = run.ID
			return err
		})
		if err != nil {
			return err
		}
	}
	return watch.Run(c.Context, watch.Options{
		Store: s.store, Version: s.db.Version, Intact: s.db.Intact, Life: life, Folder: s.project.Runs(), Name: filepath.Base(s.project.Root), Run: id,
		Palette: a.palette(), Now: a.now, In: in, Out: out, Environ: a.environ(), Redact: a.redact.Text,
	})
}

// bothEnds are the streams of a terminal that can be drawn on.
func (a *app) bothEnds() (in, out *os.File, err error) {
	in, _ = a.stdin.(*os.File)
	out, _ = a.rawOut().(*os.File)
	if in == nil || out == nil || !term.IsTerminal(int(in.Fd())) || !term.IsTerminal(int(out.Fd())) {
		return nil, nil, usagef("watch needs a terminal")
	}
	if name := a.getenv("TERM"); name == "dumb" || name == "" {
		return nil, nil, usagef("watch needs a terminal that can be drawn on, and TERM is %q", name)
	}
	return in, out, nil
}
