package main

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/rs/zerolog"

	"ralph/internal/agents"
	"ralph/internal/atomicfile"
	"ralph/internal/notify"
	"ralph/internal/outbox"
	"ralph/internal/render"
	"ralph/internal/telemetry"
)

// observers are all that follow a run: its own file, a person, and those that flags, the
// environment and the configuration name.
func (x *execution) observers() (render.Sink, error) {
	a := x.app
	list := []render.Sink{render.NewRunFile(x.opts.Place.Runs), x.live()}
	switch x.output.Events {
	case "":
	case "-":
		list = append(list, leavable{render.NewAsync(render.NewJSON(a.stdout))})
	default:
		f, err := openOutput(x.output.Events, os.O_TRUNC)
		if err != nil {
			return nil, usagef("--events: %v", err)
		}
		list = append(list, closing{render.NewAsync(render.NewJSON(f)), f.Close}) // it may be a pipe that nobody reads
	}
	if x.session == nil {
		return render.Multi(list...), nil
	}
	if a.logFile != "" {
		f, err := openOutput(absolute(a, a.logFile), os.O_APPEND)
		if err != nil {
			return nil, usagef("--log-file: %v", err)
		}
		list = append(list, closing{render.NewAsync(runLog(a, f)), f.Close})
	}
	if path, named := metricsFile(a, x.session, x.output); path != "" {
		if err := atomicfile.Prepare(path); err != nil {
			return nil, usagef("%s: %v", named, err)
		}
		metrics := telemetry.NewMetrics(func(data []byte) error { return atomicfile.Replace(path, data) })
		list = append(list, render.NewAsync(metrics))
	}
	if tracer, err := newTracer(a); err != nil {
		a.note("warning: no traces are sent: %v", err)
	} else if tracer != nil {
		list = append(list, tracer)
	}
	if len(x.session.config.Notify) > 0 {
		list = append(list, newNotifier(a, x.session))
	}
	if set := x.opts.Host.Hooks; set != nil {
		list = append(list, set.Observe(a.signals))
	}
	return render.Multi(list...), nil
}

// live is what a person watches, or the log in its place.
func (x *execution) live() render.Sink {
	a := x.app
	if a.logsInstead() {
		return render.NewAsync(runLog(a, a.stderr))
	}
	ticker := time.NewTicker(time.Second)
	opts := render.Options{
		Out: a.stderr, Palette: a.stderrPalette(), Width: a.errWidth, Quiet: a.quiet, Verbose: a.verbose,
		Now: a.now, Ticks: ticker.C, Fold: x.reports.fold(), Scratch: x.opts.Host.Setup.Folder == "",
	}
	var async *render.Async
	if a.errIsTerm {
		async = render.NewAsync(render.NewTerminal(opts))
		x.flush = async.Flush
	} else {
		async = render.NewAsync(render.NewPlain(opts))
	}
	return closing{async, func() error { ticker.Stop(); return nil }}
}

// closing closes what a sink writes to after the sink.
type closing struct {
	render.Sink
	then func() error
}

func (s closing) Close() error { return errors.Join(s.Sink.Close(), s.then()) }

// leavable is a sink whose reader may go away when it has seen enough.
type leavable struct{ render.Sink }

func (s leavable) Close() error { return unwritten(s.Sink.Close()) }

// openOutput opens a file for writing without waiting: a pipe that nobody reads is refused.
func openOutput(name string, how int) (*os.File, error) {
	return os.OpenFile(name, os.O_CREATE|os.O_WRONLY|how|syscall.O_NONBLOCK, 0o600)
}

// logsInstead says that the log takes the place of what people watch.
func (a *app) logsInstead() bool { return a.logFormat != "" && a.logFile == "" }

// runLog writes the log of a run.
func runLog(a *app, to io.Writer) render.Sink {
	level := zerolog.InfoLevel
	switch {
	case a.quiet && a.logsInstead(): // a file disturbs nobody
		level = zerolog.WarnLevel
	case a.verbose:
		level = zerolog.DebugLevel
	}
	return telemetry.NewLog(telemetry.LogOptions{Out: to, JSON: a.logFormat == "json", Level: level, Hide: a.redact.Text})
}

// newTracer is nil if nobody asked for traces.
func newTracer(a *app) (*telemetry.Tracer, error) {
	opts, asked, err := telemetry.FromEnvironment(a.getenv)
	if err != nil || !asked {
		return nil, err
	}
	opts.Web, opts.Version = outbox.Web{Getenv: a.getenv, Now: a.now}, a.version().Version
	return telemetry.NewTracer(opts, a.redact.Text)
}

// metricsFile is where metrics are kept, and what named it; empty is nowhere.
func metricsFile(a *app, s *session, output runOutput) (path, named string) {
	path, named = s.config.Telemetry.Prometheus, "telemetry.prometheus"
	switch {
	case output.Metrics != nil:
		path, named = absolute(a, *output.Metrics), "--metrics"
	case path != "" && !filepath.IsAbs(path):
		path = filepath.Join(s.project.Root, path)
	}
	return path, named
}

// newNotifier notifies those that the configuration names. What cannot be used is warned
// about and left out: nobody loses a run because of it.
func newNotifier(a *app, s *session) render.Sink {
	var targets []notify.Target
	for i, entry := range s.config.Notify {
		t := notify.Target{On: entry.On, Command: entry.Command, Desktop: entry.Desktop, Bell: entry.Bell, Title: entry.Title}
		address, err := agents.Expand(entry.Webhook, a.environ(), a.redact)
		if err == nil && address != "" {
			err = outbox.CheckAddress(address)
		}
		switch {
		case err != nil:
			a.note("warning: notify.%d: webhook: %v: nothing is sent there", i+1, err)
		case address != "":
			t.Webhook = address
			a.redact.Add(address)
		}
		targets = append(targets, t)
	}
	opts := notify.Options{
		Targets: targets, Project: filepath.Base(s.project.Root), Dir: s.project.Root, Env: agents.WithoutCredentials(a.environ()),
		Web: outbox.Web{Getenv: a.getenv, Now: a.now}, Hide: a.redact.Text, Hurry: a.signals,
	}
	if a.errIsTerm {
		opts.Terminal = a.stderr
	}
	n := notify.New(opts)
	if err := n.Missing(); err != nil {
		a.note("warning: %v", err)
	}
	return n
}
