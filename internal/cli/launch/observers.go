package launch

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
	"ralph/internal/cli"
	"ralph/internal/cli/wiring"
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
		list = append(list, leavable{render.NewAsync(render.NewJSON(a.Stdout))})
	default:
		f, err := openOutput(x.output.Events, os.O_TRUNC)
		if err != nil {
			return nil, cli.Usagef("--events: %v", err)
		}
		list = append(list, closing{render.NewAsync(render.NewJSON(f)), f.Close}) // it may be a pipe that nobody reads
	}
	if x.session == nil {
		return render.Multi(list...), nil
	}
	if a.LogFile != "" {
		f, err := openOutput(cli.Absolute(a, a.LogFile), os.O_APPEND)
		if err != nil {
			return nil, cli.Usagef("--log-file: %v", err)
		}
		list = append(list, closing{render.NewAsync(runLog(a, f)), f.Close})
	}
	if path, named := wiring.MetricsFile(a, x.session, x.output); path != "" {
		if err := atomicfile.Prepare(path); err != nil {
			return nil, cli.Usagef("%s: %v", named, err)
		}
		metrics := telemetry.NewMetrics(func(data []byte) error { return atomicfile.Replace(path, data) })
		list = append(list, render.NewAsync(metrics))
	}
	if tracer, err := newTracer(a); err != nil {
		a.Note("warning: no traces are sent: %v", err)
	} else if tracer != nil {
		list = append(list, tracer)
	}
	if len(x.session.Config.Notify) > 0 {
		n := newNotifier(a, x.session)
		x.opts.Host.Notify, list = n.Send, append(list, n)
	}
	if set := x.opts.Host.Hooks; set != nil {
		list = append(list, set.Observe(a.Signals))
	}
	return render.Multi(list...), nil
}

// live is what a person watches, or the log in its place.
func (x *execution) live() render.Sink {
	a := x.app
	if a.LogsInstead() {
		return render.NewAsync(runLog(a, a.Stderr))
	}
	ticker := time.NewTicker(time.Second)
	opts := render.Options{
		Out: a.Stderr, Palette: a.StderrPalette(), Width: a.ErrWidth, Quiet: a.Quiet, Verbose: a.Verbose,
		Now: a.Now, Ticks: ticker.C, Fold: x.reports.fold(), Scratch: x.opts.Host.Setup.Folder == "",
	}
	var async *render.Async
	if a.ErrIsTerm {
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

func (s leavable) Close() error { return cli.Unwritten(s.Sink.Close()) }

// openOutput opens a file for writing without waiting: a pipe that nobody reads is refused.
func openOutput(name string, how int) (*os.File, error) {
	return os.OpenFile(name, os.O_CREATE|os.O_WRONLY|how|syscall.O_NONBLOCK, 0o600)
}

// runLog writes the log of a run.
func runLog(a *cli.App, to io.Writer) render.Sink {
	level := zerolog.InfoLevel
	switch {
	case a.Quiet && a.LogsInstead(): // a file disturbs nobody
		level = zerolog.WarnLevel
	case a.Verbose:
		level = zerolog.DebugLevel
	}
	return telemetry.NewLog(telemetry.LogOptions{Out: to, JSON: a.LogFormat == "json", Level: level, Hide: a.Redact.Text})
}

// newTracer is nil if nobody asked for traces.
func newTracer(a *cli.App) (*telemetry.Tracer, error) {
	opts, asked, err := telemetry.FromEnvironment(a.Getenv)
	if err != nil || !asked {
		return nil, err
	}
	opts.Web, opts.Version = outbox.Web{Getenv: a.Getenv, Now: a.Now}, a.Version().Version
	return telemetry.NewTracer(opts, a.Redact.Text)
}

// newNotifier notifies those that the configuration names. What cannot be used is warned
// about and left out: nobody loses a run because of it.
func newNotifier(a *cli.App, s *cli.Session) *notify.Notifier {
	var targets []notify.Target
	for i, entry := range s.Config.Notify {
		t := notify.Target{On: entry.On, Command: entry.Command, Desktop: entry.Desktop, Bell: entry.Bell, Title: entry.Title}
		address, err := agents.Expand(entry.Webhook, a.Environ(), a.Redact)
		if err == nil && address != "" {
			err = outbox.CheckAddress(address)
		}
		switch {
		case err != nil:
			a.Note("warning: notify.%d: webhook: %v: nothing is sent there", i+1, err)
		case address != "":
			t.Webhook = address
			a.Redact.Add(address)
		}
		targets = append(targets, t)
	}
	opts := notify.Options{
		Targets: targets, Project: filepath.Base(s.Project.Root), Dir: s.Project.Root, Env: agents.WithoutCredentials(a.Environ()),
		Web: outbox.Web{Getenv: a.Getenv, Now: a.Now}, Hide: a.Redact.Text, Hurry: a.Signals,
	}
	if a.ErrIsTerm {
		opts.Terminal = a.Stderr
	}
	n := notify.New(opts)
	if err := n.Missing(); err != nil {
		a.Note("warning: %v", err)
	}
	return n
}
