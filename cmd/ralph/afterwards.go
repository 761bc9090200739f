package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"ralph/dag"
	"ralph/event"
	"ralph/internal/agents"
	"ralph/internal/db"
	"ralph/internal/redact"
	"ralph/loop"
	"ralph/report"
)

// afterwards are the places in which a run is told when it is over, whatever came
// of it. A nil one is for whoever has none.
type afterwards struct {
	junit   string
	summary string
	github  *github // nil outside of GitHub Actions
	told    bool
}

// afterwards checks the places before anything runs: hours of work must not end
// with a report that cannot be written.
func (a *app) afterwards(o runOptions) (*afterwards, error) {
	w := &afterwards{github: a.githubActions()}
	for _, f := range []struct {
		flag string
		name *string
		into *string
	}{{"junit", o.output.junit, &w.junit}, {"summary", o.output.summary, &w.summary}} {
		switch {
		case f.name == nil:
			continue
		case o.dryRun:
			return nil, usagef("--dry-run runs nothing: it does not go with --%s", f.flag)
		case *f.name == "-":
			return nil, usagef("--%s needs the name of a file; stdout is for the result", f.flag)
		}
		*f.into = settled(absolute(a, *f.name))
	}
	if w.github != nil && w.summary == w.github.step {
		w.summary = "" // it is written there anyway, after what stands in it
	}
	for flag, path := range map[string]string{"junit": w.junit, "summary": w.summary} {
		if err := prepareOutput(path); err != nil {
			return nil, usagef("--%s: %v", flag, err)
		}
	}
	return w, nil
}

// settled is a path whose folder is taken as it is now: an agent may put a link in
// its place.
func settled(path string) string {
	folder, err := filepath.EvalSymlinks(filepath.Dir(path))
	if err != nil {
		return path
	}
	return filepath.Join(folder, filepath.Base(path))
}

// moved says that a folder is no longer where it was.
func moved(path string) error {
	if now := settled(path); now != path {
		return fmt.Errorf("%s leads to %s now: a link was put in the way", filepath.Dir(path), filepath.Dir(now))
	}
	return nil
}

// prepareOutput makes sure that a file can be written, and takes an older one away: should
// this run die, nobody must take the report of another one for its.
func prepareOutput(path string) error {
	if path == "" {
		return nil
	}
	info, err := os.Stat(path)
	switch {
	case err == nil && info.IsDir():
		return fmt.Errorf("%s is a folder", path)
	case err == nil && !info.Mode().IsRegular():
		return nil // a pipe, a device
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".ralph-report-*")
	if err != nil {
		return about(path, err)
	}
	if err := errors.Join(f.Close(), os.Remove(f.Name())); err != nil {
		return err
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// begin is called before the first word of a run is shown.
func (w *afterwards) begin(a *app) {
	if w != nil && w.github != nil {
		w.github.stopCommands(a.stderr)
	}
}

// ended tells a run that has begun. Nothing here can lose what the run has stored.
func (w *afterwards) ended(ctx context.Context, a *app, opts loop.Options, out event.Result) error {
	if w == nil {
		return nil
	}
	r, err := report.Load(context.WithoutCancel(ctx), opts.Store, report.Options{
		Root: opts.Dir, Runs: opts.Folder, Run: out.Run, Life: life, Now: a.now, Zone: time.Local,
	})
	if err != nil {
		r = report.Bare(out, opts.Scope, a.now())
	}
	return w.write(a, r)
}

// unbegun tells a run that never began.
func (w *afterwards) unbegun(a *app, scope dag.Scope, cause error) error {
	out := event.Result{Outcome: event.OutcomeNotStarted, Reason: cause.Error()}
	if kind, ok := unbegunKind(cause); ok {
		out.Outcome = kind
	}
	if h := hintFor(cause); h != "" {
		out.Reason += "; " + h
	}
	return w.write(a, report.Bare(out, scope, a.now()))
}

// unbegunKind is the outcome of a run that never began, if it has one.
func unbegunKind(cause error) (event.RunOutcome, bool) {
	switch {
	case errors.As(cause, new(*db.Error)): // whatever else it is
		return "", false
	case errors.Is(cause, agents.ErrUnavailable):
		return event.OutcomeUnavailable, true
	case errors.Is(cause, dag.ErrNotFound):
		return event.OutcomeNoPlan, true
	default:
		return "", false
	}
}

func (w *afterwards) write(a *app, r report.Run) error {
	w.told, r = true, redact.Deep(a.redact, r)
	var errs []error
	if w.junit != "" {
		var b bytes.Buffer
		err := report.JUnit(&b, r)
		if err == nil {
			if err = moved(w.junit); err == nil {
				err = replaceFile(w.junit, a.redact.Bytes(b.Bytes()))
			}
		}
		errs = append(errs, wrapped("--junit", err))
	}
	if w.summary != "" {
		err := moved(w.summary)
		if err == nil {
			err = replaceFile(w.summary, a.redact.Bytes([]byte(report.Summary(r))))
		}
		errs = append(errs, wrapped("--summary", err))
	}
	if w.github != nil {
		errs = append(errs, w.github.tell(a.stderr, r))
	}
	if err := errors.Join(errs...); err != nil {
		return outputError{text: fmt.Sprintf("tell what came of the run: %v", err)}
	}
	return nil
}

func wrapped(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", what, err)
}
