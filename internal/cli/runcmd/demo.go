// Package runcmd has the commands about runs besides run itself.
package runcmd

import (
	"bytes"
	"context"
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"ralph/dag"
	"ralph/internal/cli"
	"ralph/internal/cli/launch"
	"ralph/internal/cli/show"
	"ralph/internal/project"
	"ralph/internal/render/draw"
	"ralph/internal/sandbox"
	"ralph/internal/taskfile"
	"ralph/internal/term"
)

//go:embed demo.yaml
var demoPlan []byte

// Demo is the command "ralph demo".
var Demo = cli.Command{
	Name: "demo", Short: "watch a whole run in a scratch project; needs no key and no network",
	Flags:   []cli.Flag{cli.Bool("keep", "keep the scratch project and print where it is")},
	Example: "ralph demo", Exits: "1 to 5 as for run: something is wrong with this machine", Run: cli.Action(runDemo),
}

func runDemo(ctx context.Context, a *cli.App, o cli.PlainOptions) (err error) {
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
		defer func() { fmt.Fprintf(a.Stdout, "\nkept: %s\n", dir) }()
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
	a.Dir = dir
	a.Log = a.Logger()
	// What this machine or user has configured must not change a demonstration.
	getenv := a.Getenv
	a.Getenv = func(name string) string {
		switch {
		case name == "XDG_STATE_HOME":
			return state
		case strings.HasPrefix(name, "RALPH_"), name == "HOME", name == "XDG_CONFIG_HOME":
			return ""
		}
		return getenv(name)
	}
	s, err := a.Open(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	specs, err := taskfile.Parse(bytes.TrimSpace(demoPlan), taskfile.YAML)
	if err != nil {
		return err
	}
	err = s.Store.Update(ctx, func(g *dag.Graph) error { _, err := g.Plan.Import(specs); return err })
	if err != nil {
		return err
	}
	return playDemo(ctx, a, s, o.Keep)
}

// playDemo draws the graph, runs it, and draws it again.
func playDemo(ctx context.Context, a *cli.App, s *cli.Session, keep bool) error {
	p := a.Palette()
	for _, part := range term.Wrap("The plan: a group, a diamond, a task that needs a second try, and a done that is not done", a.Width, "  ") {
		fmt.Fprintln(a.Stdout, p.Bold(part))
	}
	fmt.Fprintln(a.Stdout)
	if err := drawAll(ctx, a, s); err != nil {
		return err
	}
	fmt.Fprintln(a.Stdout)
	opts, err := launch.Demonstration(ctx, a, s, keep)
	if err != nil {
		return err
	}
	err = launch.Execute(ctx, a, opts)
	fmt.Fprintf(a.Stdout, "\n%s\n\n", p.Bold("The plan afterwards"))
	if derr := drawAll(ctx, a, s); err == nil {
		err = derr
	}
	if err != nil {
		return err
	}
	return cli.Written(fmt.Fprintf(a.Stdout, "\n%s\n%s", p.Bold("Next, in a project of your own"), afterDemo))
}

// afterDemo are the three steps from a demonstration to work.
const afterDemo = `  ralph init              choose the agent, and the commands that check its work
  ralph task add "TITLE"  say what is to be done; -d adds a description
  ralph run --max-cost 2  have it done; ralph watch shows it live
`

func drawAll(ctx context.Context, a *cli.App, s *cli.Session) error {
	return s.Store.View(ctx, func(g *dag.Graph) error {
		nodes, err := draw.Linked(g, a.Now(), func(add func(dag.Task) error) error { return g.Tasks.Each(dag.Filter{}, add) })
		if err != nil {
			return err
		}
		return show.DrawLinked(a, nodes)
	})
}
