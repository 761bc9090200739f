package main

import (
	"bytes"
	"context"
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"ralph/dag"
	"ralph/internal/agents"
	"ralph/internal/project"
	"ralph/internal/render/draw"
	"ralph/internal/sandbox"
	"ralph/internal/taskfile"
	"ralph/internal/term"
)

//go:embed demo.yaml
var demoPlan []byte

var demoCommand = command{
	name: "demo", short: "watch a whole run in a scratch project; needs no key and no network",
	flags:   []flagSpec{boolFlag("keep", "keep the scratch project and print where it is")},
	example: "ralph demo", exits: "1 to 5 as for run: something is wrong with this machine", run: action(runDemo),
}

func runDemo(ctx context.Context, a *app, o plainOptions) (err error) {
	top, err := sandbox.MkdirTemp("", "ralph-demo-")
	if err != nil {
		return err
	}
	if top, err = filepath.EvalSymlinks(top); err != nil {
		return err
	}
	dir, state, scratch := filepath.Join(top, "project"), filepath.Join(top, "state"), top
	if o.Keep {
		scratch = state
		defer func() { fmt.Fprintf(a.stdout, "\nkept: %s\n", dir) }()
	}
	defer func() {
		if rerr := os.RemoveAll(scratch); err == nil {
			err = rerr
		}
	}()
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	if _, _, err := project.Create(dir, project.Found{Agent: "shell"}); err != nil {
		return err
	}
	a.dir = dir
	a.log = a.logger()
	// What this machine or user has configured must not change a demonstration.
	getenv := a.getenv
	a.getenv = func(name string) string {
		switch {
		case name == "XDG_STATE_HOME":
			return state
		case strings.HasPrefix(name, "RALPH_"), name == "HOME", name == "XDG_CONFIG_HOME":
			return ""
		}
		return getenv(name)
	}
	s, err := a.open(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	specs, err := taskfile.Parse(bytes.TrimSpace(demoPlan), taskfile.YAML)
	if err != nil {
		return err
	}
	err = s.store.Update(ctx, func(g *dag.Graph) error { _, err := g.Plan.Import(specs); return err })
	if err != nil {
		return err
	}
	return playDemo(ctx, a, s, o.Keep)
}

// playDemo draws the graph, runs it, and draws it again.
func playDemo(ctx context.Context, a *app, s *session, keep bool) error {
	p := a.palette()
	for _, part := range term.Wrap("The plan: a group, a diamond, a task that needs a second try, and a done that is not done", a.width, "  ") {
		fmt.Fprintln(a.stdout, p.Bold(part))
	}
	fmt.Fprintln(a.stdout)
	if err := drawAll(ctx, a, s); err != nil {
		return err
	}
	fmt.Fprintln(a.stdout)
	s.config.Run.Backoff = 0 // nobody should wait for a demonstration
	opts, err := loopOptions(ctx, a, s, runOptions{}, nil)
	if err != nil {
		return err
	}
	opts.Workers.Jobs, opts.Models.Strategy = 1, "fixed"
	opts.Host.Setup = setup(opts, agents.Preset{ExitStatus: true}, a.sandbox)
	opts.Host.Setup.Agent, opts.Host.Setup.Model = "shell, built in", "none needed"
	if !keep {
		opts.Host.Setup.Folder = "" // it will be gone
	}
	err = (&execution{app: a, opts: opts, flush: func() {}}).do(ctx)
	fmt.Fprintf(a.stdout, "\n%s\n\n", p.Bold("The plan afterwards"))
	if derr := drawAll(ctx, a, s); err == nil {
		err = derr
	}
	if err != nil {
		return err
	}
	return written(fmt.Fprintf(a.stdout, "\n%s\n%s", p.Bold("Next, in a project of your own"), afterDemo))
}

// afterDemo are the three steps from a demonstration to work.
const afterDemo = `  ralph init              choose the agent, and the commands that check its work
  ralph task add "TITLE"  say what is to be done; -d adds a description
  ralph run --max-cost 2  have it done; ralph watch shows it live
`

func drawAll(ctx context.Context, a *app, s *session) error {
	return s.store.View(ctx, func(g *dag.Graph) error {
		nodes, err := draw.Linked(g, a.now(), func(add func(dag.Task) error) error { return g.Tasks.Each(dag.Filter{}, add) })
		if err != nil {
			return err
		}
		return drawLinked(a, nodes)
	})
}
