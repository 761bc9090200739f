package launch

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
	"ralph/internal/cli"
	"ralph/internal/cli/wiring"
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
	app     *cli.App
	opts    loop.Options
	json    bool
	output  wiring.OutputOptions
	session *cli.Session // nil if only the person who watches it follows it
	reports *reports     // nil if there are none
	grace   time.Duration
	push    Destination // of what landed
	flush   func()      // shows what was reported so far
	left    bool        // a question was left with a signal: no other is asked
}

// do does the run, from the first event to the exit status.
func (x *execution) do(ctx context.Context) error {
	a, opts := x.app, &x.opts
	gates, err := a.Sandbox.ForWork(sandbox.Process{Env: opts.Verify.GateRunner.Env})
	if err != nil {
		return err
	}
	defer func() { _ = gates.Close() }() // what is left goes with the sandbox
	opts.Verify.GateRunner.Confine, opts.Verify.GateRunner.Env = gates.Spec, append(slices.Clone(opts.Verify.GateRunner.Env), gates.Env...)
	observers, err := x.observers()
	if err != nil {
		return err
	}
	x.reports.begin(a.Stderr)
	a.TakeSignals()
	// A reader of the progress that goes away must not end hours of work. Unlike
	// ignoring the signal, catching it is not inherited by agents.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	opts.Host.Observe = observers.Event
	if a.Asks && !x.json && !a.Quiet {
		opts.Verify.MayFail = x.askToBegin
	}
	runner, err := loop.Start(ctx, *opts)
	var apart *dag.ApartError
	if errors.As(err, &apart) && apart.Run.Process.Remote != "" {
		return cli.Hint(err, "go on with it, which also lets you stop it: ralph-temporal run; if those machines are gone for good: ralph recover --take-back")
	}
	if err != nil {
		return err
	}
	defer a.Sandbox.RecordProcesses(runner.Owner())()
	forecast := x.keepForecast(ctx, runner.ID())
	out, caught, err := x.rounds(ctx, runner)
	forecast()
	if ferr := runner.Finish(ctx, out); err == nil {
		err = ferr
	}
	if cerr := observers.Close(); cerr != nil {
		for line := range strings.Lines(cerr.Error()) { // each observer has its own
			a.Note("warning: %s", strings.TrimSpace(line))
		}
	}
	var unreported []error
	if caught == nil {
		unreported = append(unreported, x.pushLanded(ctx))
	}
	if x.json {
		unreported = append(unreported, cli.Unwritten(report.Result(a.Stdout, out)))
	}
	unreported = append(unreported, x.reports.ended(ctx, a, *opts, out))
	if err == nil && caught == nil && cli.OutcomeStatus(out) == cli.ExitOK {
		err := errors.Join(unreported...)
		if errors.As(err, new(cli.Unpushed)) {
			return err
		}
		return cli.Hint(err, "the run itself is over and kept: ralph report")
	}
	for _, uerr := range unreported { // how the run ended says more
		if uerr != nil {
			a.Note("warning: %v", uerr)
		}
	}
	switch {
	case err != nil:
		return cli.MidRun{Err: fmt.Errorf("run %s: %w", runner.ID(), err)}
	case caught != nil:
		return cli.CaughtSignal{Signal: caught}
	}
	return cli.RunEnded{Result: out}
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
		if caught != syscall.SIGINT || again || x.left || !x.app.Asks || !x.askToGoOn(ctx, runner) {
			return out, caught, nil
		}
		x.app.GoesOn()
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
				cancel(cli.CaughtSignal{Signal: first})
			case s := <-a.Signals:
				switch {
				case first != nil:
					again = true
					cancel(cli.CaughtSignal{Signal: first})
					_ = runner.Kill() // what survives is reported when its session closes
				case s == syscall.SIGTERM && x.grace > 0:
					first, over = s, time.After(x.grace)
					a.Note("caught SIGTERM: running tasks have %s to finish, and no new one starts; another signal stops them at once", x.grace)
					runner.Drain(cli.CaughtSignal{Signal: s})
				default:
					first = s
					cancel(cli.CaughtSignal{Signal: s})
					if s == syscall.SIGINT && a.Asks && !a.Quiet { // an agent may take seconds to end
						fmt.Fprintln(a.Stderr, "\nstopping the running tasks; Ctrl-C again kills them")
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
	fmt.Fprintf(x.app.Stderr, "\n%s\n", term.Line(attempt.FailingWords(failing)))
	may, err := cli.Yes(ctx, x.app, "Begin all the same? What fails now is excused until it passes once")
	x.left = ctx.Err() != nil
	return may, err
}

// askToGoOn asks for guidance and whether to go on. What is typed becomes part of the
// next prompt of the tasks that were interrupted.
func (x *execution) askToGoOn(ctx context.Context, runner *loop.Runner) bool {
	a := x.app
	x.flush() // a question stands below what led to it
	ask := func(question string) (string, bool) {
		fmt.Fprint(a.Stderr, question)
		ctx, stop := cli.Interruptible(ctx, a, nil, 0) // a second Ctrl-C is an answer, too
		defer stop()
		text, end, err := cli.ReadLine(ctx, a)
		if ctx.Err() != nil {
			fmt.Fprintln(a.Stderr)
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
			a.Note("warning: the guidance could not be kept: %v", err)
		}
	}
	answer, ok := ask("Go on? [y/N] ")
	return ok && slices.Contains([]string{"y", "yes"}, strings.ToLower(answer))
}
