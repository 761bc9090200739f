// Package watch is the live view of a project on a terminal: the graph, what agents
// are doing, and keys to steer them. It reads the database and the files of runs as
// any other program would; it never makes a run wait, and writes only when a key asks.
package watch

import (
	"context"
	"io"
	"time"

	tea "charm.land/bubbletea/v2"

	"ralph/dag"
	"ralph/internal/term"
)

// Options are what a view takes from the outside world.
type Options struct {
	Store   *dag.Store
	Version func(context.Context) (int64, error) // changes when somebody else changes the database
	Intact  func() bool                          // the database is still where it was
	Life    func(dag.Process) dag.Life
	Folder  string // that has a folder for each run
	Name    string // of the project
	Run     string // the full ID of the run to look at; "" means the current or last one

	Palette term.Palette
	Now     func() time.Time // nil means time.Now
	In      io.Reader        // both ends of a terminal
	Out     io.Writer
	Environ []string
	Redact  func(string) string // removes secrets from what is drawn; nil removes nothing
}

// Run shows the view until a person quits it or ctx ends.
func Run(ctx context.Context, opts Options) error {
	if opts.Now == nil {
		opts.Now = time.Now
	}
	ctx, cancel := context.WithCancel(ctx) // nothing is read any more when it is over
	defer cancel()
	src := &source{opts: opts}
	m := newModel(opts.Name, opts.Palette, opts.Now())
	m.redact = opts.Redact
	m.poll = func(w wish) tea.Msg { return src.poll(ctx, w) }
	m.act = func(d deed) tea.Msg { return act(ctx, opts, d) }
	environ := opts.Environ
	if !opts.Palette.On {
		environ = append(environ, "NO_COLOR=1")
	}
	// Signals end ctx: the program deals with them in one place.
	_, err := tea.NewProgram(m, tea.WithContext(ctx), tea.WithInput(opts.In), tea.WithOutput(opts.Out),
		tea.WithEnvironment(environ), tea.WithoutSignalHandler(), tea.WithFPS(30)).Run()
	if ctx.Err() != nil { // from outside
		return context.Cause(ctx)
	}
	return err
}
