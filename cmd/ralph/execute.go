package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"ralph/dag"
	"ralph/internal/event"
	"ralph/internal/report"
	"ralph/internal/sandbox"
	"ralph/internal/term"
	"ralph/loop"
	"ralph/loop/attempt"
	"ralph/verify"
)

// execution is a run on its way from options to an exit status.
type execution struct {
	app     *app
	opts    loop.Options
	json    bool
	output  runOutput
	session *session // nil if only the person who watches it follows it
	reports *reports // nil if there are none
	grace   time.Duration
	push    destination // of what landed
	flush   func()      // shows what was reported so far
	left    bool        // a question was left with a signal: no other is asked
}

// do does the run, from the first event to the exit status.
func (x *execution) do(ctx context.Context) error {
	a, opts := x.app, &x.opts
	gates, err := a.sandbox.ForWork(sandbox.Process{Env: opts.Verify.GateRunner.Env})
	if err != nil {
		return err
	}
	defer func() { _ = gates.Close() }() // what is left goes with the sandbox
	opts.Verify.GateRunner.Confine, opts.Verify.GateRunner.Env = gates.Spec, append(slices.Clone(opts.Verify.GateRunner.Env), gates.Env...)
	observers, err := x.observers()
	if err != nil {
		return err
	}
	x.reports.begin(a.stderr)
	a.takeSignals()
	// A reader of the progress that goes away must not end hours of work. Unlike
	// ignoring the signal, catching it is not inherited by agents.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	opts.Host.Observe = observers.Event
	if a.asks && !x.json && !a.quiet {
		opts.Verify.MayFail = x.askToBegin
	}
	runner, err := loop.Start(ctx, *opts)
	var apart *dag.ApartError
	if errors.As(err, &apart) && apart.Run.Process.Remote != "" {
		return hint(err, "go on with it, which also lets you stop it: ralph-temporal run; if those machines are gone for good: ralph recover --take-back")
	}
	if err != nil {
		return err
	}
	defer a.sandbox.RecordProcesses(runner.Owner())()
	forecast := x.keepForecast(ctx, runner.ID())
	out, caught, err := x.rounds(ctx, runner)
	forecast()
	if ferr := runner.Finish(ctx, out); err == nil {
		err = ferr
	}
	if cerr := observers.Close(); cerr != nil {
		for line := range strings.Lines(cerr.Error()) { // each observer has its own
			a.note("warning: %s", strings.TrimSpace(line))
		}
	}
	var unreported []error
	if caught == nil {
		unreported = append(unreported, x.pushLanded(ctx))
	}
	if x.json {
		unreported = append(unreported, unwritten(report.Result(a.stdout, out)))
	}
	unreported = append(unreported, x.reports.ended(ctx, a, *opts, out))
	if err == nil && caught == nil && outcomeStatus(out) == exitOK {
		err := errors.Join(unreported...)
		if errors.As(err, new(unpushed)) {
			return err
		}
		return hint(err, "the run itself is over and kept: ralph report")
	}
	for _, uerr := range unreported { // how the run ended says more
		if uerr != nil {
			a.note("warning: %v", uerr)
		}
	}
	switch {
	case err != nil:
		return midRun{fmt.Errorf("run %s: %w", runner.ID(), err)}
	case caught != nil:
		return caughtSignal{caught}
	}
	return runEnded{out}
}

// rounds runs until the run is over, or a person has had enough.
func (x *execution) rounds(ctx context.Context, runner *loop.Runner) (event.Result, os.Signal, error) {
	for {
		round, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
		stop := x.watchSignals(cancel, runner)
		out, err := runner.Run(round)
		caught, again := stop()
		cancel(nil)
		if err != nil || out.Outcome != event.OutcomeInterrupted {
			return out, nil, err
		}
		if caught != syscall.SIGINT || again || x.left || !x.app.asks || !x.askToGoOn(ctx, runner) {
			return out, caught, nil
		}
		x.app.goesOn()
	}
}

// watchSignals turns the first signal into an interruption and the second into a kill.
// What runs when SIGTERM comes may finish within the grace. The function it returns ends
// it and says which signal came first, and whether another did.
func (x *execution) watchSignals(cancel context.CancelCauseFunc, runner *loop.Runner) func() (first os.Signal, again bool) {
	a, done, ended := x.app, make(chan struct{}), make(chan struct{})
	var first os.Signal
	var again bool
	go func() {
		defer close(ended)
		var over <-chan time.Time // the grace
		for {
			select {
			case <-done:
				return
			case <-over:
				cancel(caughtSignal{first})
			case s := <-a.signals:
				switch {
				case first != nil:
					again = true
					cancel(caughtSignal{first})
					_ = runner.Kill() // what survives is reported when its session closes
				case s == syscall.SIGTERM && x.grace > 0:
					first, over = s, time.After(x.grace)
					a.note("caught SIGTERM: running tasks have %s to finish, and no new one starts; another signal stops them at once", x.grace)
					runner.Drain(caughtSignal{s})
				default:
					first = s
					cancel(caughtSignal{s})
					if s == syscall.SIGINT && a.asks && !a.quiet { // an agent may take seconds to end
						fmt.Fprintln(a.stderr, "\nstopping the running tasks; Ctrl-C again kills them")
					}
				}
			}
		}
	}()
	return func() (os.Signal, bool) {
		close(done)
		<-ended
		return first, again
	}
}

// askToBegin asks whether a run may begin although gates fail.
func (x *execution) askToBegin(ctx context.Context, failing []verify.Result) (bool, error) {
	x.flush()
	fmt.Fprintf(x.app.stderr, "\n%s\n", term.Line(attempt.FailingWords(failing)))
	may, err := yes(ctx, x.app, "Begin all the same? What fails now is excused until it passes once")
	x.left = ctx.Err() != nil
	return may, err
}

// askToGoOn asks for guidance and whether to go on. What is typed becomes part of the
// next prompt of the tasks that were interrupted.
func (x *execution) askToGoOn(ctx context.Context, runner *loop.Runner) bool {
	a := x.app
	x.flush() // a question stands below what led to it
	ask := func(question string) (string, bool) {
		fmt.Fprint(a.stderr, question)
		ctx, stop := interruptible(ctx, a, nil, 0) // a second Ctrl-C is an answer, too
		defer stop()
		text, end, err := readLine(ctx, a)
		if ctx.Err() != nil {
			fmt.Fprintln(a.stderr)
		}
		return strings.TrimSpace(text), err == nil && (text != "" || !end)
	}
	if tasks := runner.Interrupted(); len(tasks) > 0 {
		guidance, ok := ask(fmt.Sprintf("\nGuidance for %s (Enter for none): ", strings.Join(tasks, ", ")))
		switch {
		case !ok:
			return false
		case guidance == "":
			tasks = nil
		}
		err := x.opts.Graph.Store.Update(ctx, func(g *dag.Graph) (err error) {
			for _, id := range tasks {
				err = errors.Join(err, g.Tasks.Log(id, dag.LogUser, guidance))
			}
			return err
		})
		if err != nil {
			a.note("warning: the guidance could not be kept: %v", err)
		}
	}
	answer, ok := ask("Go on? [y/N] ")
	return ok && slices.Contains([]string{"y", "yes"}, strings.ToLower(answer))
}
