package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/rs/zerolog"

	"ralph/internal/outbox"
	"ralph/internal/show"
	"ralph/telemetry"
)

// checkPlaces refuses files that can never be written, before anything is opened.
func (a *app) checkPlaces(output runOutput) error {
	switch a.logFormat {
	case "", "text", "json":
	default:
		return usagef("--log-format is text or json, not %q", a.logFormat)
	}
	if err := a.checkApart(output); err != nil {
		return err
	}
	for _, f := range output.files() {
		flag, name := f.flag, f.name
		if flag == "junit" || flag == "summary" { // checked where they are prepared
			continue
		}
		path := absolute(a, name)
		if info, err := os.Stat(path); err == nil && info.IsDir() {
			return usagef("--%s: %s is a folder", flag, name)
		}
		if info, err := os.Stat(filepath.Dir(path)); err != nil || !info.IsDir() {
			return usagef("--%s: %s: there is no such folder", flag, filepath.Dir(name))
		}
	}
	return nil
}

// checkApart refuses one file for two things, because the later one would take the
// place of the other, and files that ralph itself needs.
func (a *app) checkApart(output runOutput) error {
	taken := map[string]string{}
	for _, f := range output.files() {
		flag, name := f.flag, f.name
		path := absolute(a, name)
		if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
			continue // what is a device, such as /dev/null, takes everything
		}
		path = settled(path)
		if other := taken[path]; other != "" {
			return usagef("--%s and --%s cannot be the same file: %s", other, flag, name)
		}
		if p, err := a.findProject(); err == nil && (path == settled(p.Config()) || strings.HasPrefix(path, settled(p.DB()))) {
			return usagef("--%s: %s is ralph's own", flag, name)
		}
		taken[path] = flag
	}
	return nil
}

// observers are those that a run tells besides its own file and whoever watches it.
func (a *app) observers(s *session, output runOutput) ([]show.Sink, error) {
	var list []show.Sink
	if name := a.logFile; name != "" {
		// Without waiting: a pipe that nobody reads is refused instead of waited for.
		f, err := os.OpenFile(absolute(a, name), os.O_CREATE|os.O_WRONLY|os.O_APPEND|syscall.O_NONBLOCK, 0o600)
		if err != nil {
			return nil, usagef("--log-file: %v", err)
		}
		log := show.NewAsync(a.runLog(f), show.AsyncOptions{})
		list = append(list, &closing{Sink: log, closers: []io.Closer{f}})
	}
	metrics, err := a.metrics(s, output)
	if err != nil {
		return nil, err
	}
	if metrics != nil {
		list = append(list, metrics)
	}
	if tracer, err := a.tracer(); err != nil {
		a.note("warning: no traces are sent: %v", err)
	} else if tracer != nil {
		list = append(list, tracer)
	}
	if n := a.notifier(s); n != nil {
		list = append(list, n)
	}
	return list, nil
}

// tracer is nil if nobody asked for traces.
func (a *app) tracer() (*telemetry.Tracer, error) {
	opts, asked, err := telemetry.FromEnvironment(a.getenv)
	if err != nil || !asked {
		return nil, err
	}
	opts.Web, opts.Version = outbox.Web{Getenv: a.getenv, Now: a.now}, buildVersion().Version
	return telemetry.NewTracer(opts, a.redact.Text)
}

// logsInstead says that the log takes the place of what people watch.
func (a *app) logsInstead() bool {
	return a.logFormat != "" && a.logFile == ""
}

// runLog writes the log of a run.
func (a *app) runLog(to io.Writer) show.Sink {
	level := zerolog.InfoLevel
	switch {
	case a.quiet && a.logsInstead(): // a file disturbs nobody
		level = zerolog.WarnLevel
	case a.verbose:
		level = zerolog.DebugLevel
	}
	return telemetry.NewLog(telemetry.LogOptions{Out: to, JSON: a.logFormat == "json", Level: level, Hide: a.redact.Text})
}

// metrics is nil if nobody asked for any.
func (a *app) metrics(s *session, output runOutput) (show.Sink, error) {
	path, flag := a.metricsFile(s, output)
	if path == "" {
		return nil, nil
	}
	if err := prepareOutput(path); err != nil {
		return nil, usagef("%s: %v", flag, err)
	}
	return show.NewAsync(telemetry.NewMetrics(func(data []byte) error { return replaceFile(path, data) }), show.AsyncOptions{}), nil
}

// metricsFile is where numbers are kept, and who said so; empty is nowhere.
func (a *app) metricsFile(s *session, output runOutput) (path, said string) {
	path, said = s.config.Telemetry.Prometheus, "telemetry.prometheus"
	switch {
	case output.metrics != nil:
		path, said = absolute(a, *output.metrics), "--metrics"
	case path != "" && !filepath.IsAbs(path):
		path = filepath.Join(s.project.Root, path)
	}
	return path, said
}
