package launch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"ralph/dag"
	"ralph/internal/agents"
	"ralph/internal/atomicfile"
	"ralph/internal/cli"
	"ralph/internal/cli/wiring"
	"ralph/internal/db"
	"ralph/internal/event"
	"ralph/internal/redact"
	"ralph/internal/report"
	"ralph/loop"
)

// reports are written when a run is over, even if it failed. A nil one is for a run
// that has none.
type reports struct {
	junit   string
	summary string
	github  *report.Workflow // nil outside of GitHub Actions
	step    string           // the file of its step summary, if there is one
	written bool
}

// prepareReports checks the files before anything runs: hours of work must not end with
// a report that cannot be written.
func prepareReports(a *cli.App, o Options) (*reports, error) {
	w := &reports{}
	if cli.InGitHubActions(a) {
		w.github, w.step = &report.Workflow{}, a.Getenv("GITHUB_STEP_SUMMARY")
	}
	for _, f := range []struct {
		flag string
		name *string
		into *string
	}{{"junit", o.JUnit, &w.junit}, {"summary", o.Summary, &w.summary}} {
		switch {
		case f.name == nil:
			continue
		case o.DryRun:
			return nil, cli.Usagef("--dry-run runs nothing: it does not go with --%s", f.flag)
		case *f.name == "-":
			return nil, cli.Usagef("--%s needs the name of a file; stdout is for the result", f.flag)
		}
		*f.into = atomicfile.Settle(cli.Absolute(a, *f.name))
		if w.github != nil && *f.into == w.step && f.flag == "summary" {
			w.summary = "" // it is written there anyway, after what stands in it
			continue
		}
		if err := atomicfile.Prepare(*f.into); err != nil {
			return nil, cli.Usagef("--%s: %v", f.flag, err)
		}
	}
	return w, nil
}

// begin is called before anything of a run is shown.
func (w *reports) begin(to io.Writer) {
	if w != nil && w.github != nil {
		_, _ = io.WriteString(to, w.github.Stop()) // who watches may have gone
	}
}

// fold is how the log of a pipeline is folded; nil if it is not.
func (w *reports) fold() func(title string) (begin, end string) {
	if w == nil || w.github == nil {
		return nil
	}
	return w.github.Fold
}

// ended reports a run that has begun. Nothing here can lose what the run has stored.
func (w *reports) ended(ctx context.Context, a *cli.App, opts loop.Options, out event.Result) error {
	if w == nil || w.junit == "" && w.summary == "" && w.github == nil {
		return nil // a report of everything in scope costs much, and nobody would read it
	}
	ctx = context.WithoutCancel(ctx)
	r, err := report.Load(ctx, opts.Graph.Store, report.Options{
		Root: opts.Place.Dir, Runs: opts.Place.Runs, Run: out.Run, Life: cli.Life, Now: a.Now, Zone: time.Local, Kept: wiring.KeptWork(ctx, opts.Place.Dir),
	})
	if err != nil {
		r = report.Bare(out, opts.Graph.Scope, a.Now())
	}
	return w.write(a, r)
}

// notStarted reports a run that never began.
func (w *reports) notStarted(a *cli.App, scope dag.Scope, cause error) error {
	out := event.Result{Outcome: notStartedOutcome(cause), Reason: cause.Error()}
	if h := cli.HintFor(cause); h != "" {
		out.Reason += "; " + h
	}
	return w.write(a, report.Bare(out, scope, a.Now()))
}

// notStartedOutcome is the outcome of a run that never began.
func notStartedOutcome(cause error) event.RunOutcome {
	switch {
	case errors.As(cause, new(*db.Error)): // even if it is one of the below
		return event.OutcomeNotStarted
	case errors.Is(cause, agents.ErrUnavailable):
		return event.OutcomeUnavailable
	case errors.Is(cause, dag.ErrNotFound):
		return event.OutcomeNoPlan
	default:
		return event.OutcomeNotStarted
	}
}

func (w *reports) write(a *cli.App, r report.Run) error {
	w.written, r = true, redact.Deep(a.Redact, r)
	var errs []error
	write := func(flag, path string, text []byte, err error) {
		if path == "" {
			return
		}
		if err == nil {
			err = atomicfile.CheckSettled(path)
		}
		if err == nil {
			err = atomicfile.Replace(path, a.Redact.Bytes(text))
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", flag, err))
		}
	}
	var junit, summary bytes.Buffer
	err := report.JUnit(&junit, r)
	write("--junit", w.junit, junit.Bytes(), err)
	err = report.Summary(&summary, r)
	write("--summary", w.summary, summary.Bytes(), err)
	if w.github != nil {
		_, _ = io.WriteString(a.Stderr, w.github.End(r)) // who watches may have gone
	}
	if w.github != nil && w.step != "" {
		if err := appendFile(w.step, summary.String()+"\n"); err != nil { // other commands of the step may have written there
			errs = append(errs, fmt.Errorf("the step summary: %w", err))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return cli.OutputError{Text: fmt.Sprintf("report the run: %v", err)}
	}
	return nil
}

func appendFile(path, text string) error {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}
