package main

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"ralph/event"
	"ralph/internal/show"
	"ralph/internal/term"
	"ralph/loop"
)

// sinks are all that want to know about a run: its own file, a person, and
// whoever asked with --events.
func (a *app) sinks(output runOutput, opts loop.Options) (show.Sink, error) {
	list := []show.Sink{&runFile{folder: opts.Folder}}
	people := show.Options{
		Out: a.stderr, Palette: a.stderrPalette(), Width: a.errWidth,
		Quiet: a.quiet, Verbose: a.verbose, Now: a.now,
	}
	ticker := time.NewTicker(time.Second)
	people.Ticks = ticker.C
	closers := []io.Closer{closeFunc(func() error { ticker.Stop(); return nil })}
	if a.after != nil && a.after.github != nil {
		people.Fold = a.after.github.fold
	}
	switch {
	case a.logsInstead():
		list = append(list, show.NewAsync(a.runLog(a.stderr), show.AsyncOptions{}))
	case a.errIsTerm:
		live := show.NewAsync(show.NewTerminal(people), show.AsyncOptions{})
		a.flush = live.Flush
		list = append(list, live)
	default:
		list = append(list, show.NewAsync(show.NewPlain(people), show.AsyncOptions{}))
	}
	switch name := output.events; name {
	case "":
	case "-":
		list = append(list, leavable{show.NewAsync(show.NewJSON(a.stdout), show.AsyncOptions{})})
	default:
		// Without waiting: a pipe that nobody reads is refused instead of waited for.
		f, err := os.OpenFile(name, os.O_CREATE|os.O_WRONLY|os.O_TRUNC|syscall.O_NONBLOCK, 0o600)
		if err != nil {
			return nil, usagef("--events: %v", err)
		}
		closers = append(closers, f)
		list = append(list, show.NewAsync(show.NewJSON(f), show.AsyncOptions{})) // it may be a pipe that nobody reads
	}
	if a.others != nil {
		others, err := a.others()
		if err != nil {
			return nil, err
		}
		list = append(list, others...)
	}
	return &closing{Sink: show.Multi(list...), closers: closers}, nil
}

// stderrPalette decides about colour for what people watch.
func (a *app) stderrPalette() term.Palette {
	p := a.palette()
	if a.color == "auto" {
		p.On = a.errIsTerm && a.getenv("NO_COLOR") == "" && a.getenv("TERM") != "dumb"
	}
	return p
}

// closing closes what a sink writes to after the sink.
type closing struct {
	show.Sink
	closers []io.Closer
}

func (s *closing) Close() error {
	errs := []error{s.Sink.Close()}
	for _, c := range s.closers {
		errs = append(errs, c.Close())
	}
	return errors.Join(errs...)
}

// leavable is a sink whose reader may go away when it has seen enough.
type leavable struct{ show.Sink }

func (s leavable) Close() error { return unwritten(s.Sink.Close()) }

type closeFunc func() error

func (f closeFunc) Close() error { return f() }

// runFile is events.jsonl in the folder of the run, which has no name before the
// first event.
type runFile struct {
	folder string
	file   *os.File
	json   *show.JSON
	err    error
}

func (r *runFile) Event(e event.Event) {
	if r.json == nil && r.err == nil {
		r.open(e.Run)
	}
	if r.json != nil {
		r.json.Event(e)
	}
}

func (r *runFile) open(run string) {
	dir := filepath.Join(r.folder, run)
	if r.err = os.MkdirAll(dir, 0o700); r.err != nil {
		return
	}
	if r.file, r.err = os.OpenFile(filepath.Join(dir, "events.jsonl"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600); r.err == nil {
		r.json = show.NewJSON(r.file)
	}
}

func (r *runFile) Close() error {
	if r.json == nil {
		return r.err
	}
	return errors.Join(r.json.Close(), r.file.Close())
}
