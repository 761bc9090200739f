package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"ralph/dag"
	"ralph/event"
	"ralph/loop"
)

// execute does the run, from the first event to the exit status.
func (a *app) execute(ctx context.Context, o runOptions, opts loop.Options) error {
	defer a.launcher.Close()
	gates, err := a.sandbox.ForGates(opts.Judge.Env)
	if err != nil {
		return err
	}
	defer func() { _ = gates.Close() }() // what is left goes with the sandbox
	opts.Judge.Confine, opts.Judge.Env = gates.Spec, append(slices.Clone(opts.Judge.Env), gates.Env...)
	sinks, err := a.sinks(o.output, opts)
	if err != nil {
		return err
	}
	a.after.begin(a)
	a.takeSignals()
	// A reader of the progress that goes away must not end hours of work. Unlike
	// ignoring the signal, catching it is not inherited by agents.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	opts.Observe = sinks.Event
	runner, err := loop.Start(ctx, opts)
	if err != nil {
		return err
	}
	recorded := a.sandbox.RecordProcesses(runner.Owner())
	defer recorded()
	out, caught, err := a.rounds(ctx, runner, opts)
	if ferr := runner.Finish(ctx, out); err == nil {
		err = ferr
	}
	if cerr := sinks.Close(); cerr != nil {
		for line := range strings.Lines(cerr.Error()) { // each sink has its own
			a.note("warning: %s", strings.TrimSpace(line))
		}
	}
	var terr error
	if o.json {
		terr = unwritten(a.printOutcome(out))
	}
	if aerr := a.after.ended(ctx, a, opts, out); terr == nil {
		terr = aerr
	} else if aerr != nil {
		a.note("warning: %v", aerr)
	}
	if terr != nil && (err != nil || caught != nil || (runOutcome{out}).status() != exitOK) {
		a.note("warning: %v", terr)
		terr = nil // how the run ended says more
	}
	if err != nil {
		return midRun{fmt.Errorf("run %s: %w", runner.ID(), err)}
	}
	if caught != nil {
		return caughtSignal{caught}
	}
	if (runOutcome{out}).status() == exitOK {
		return hint(terr, "the run itself is over and kept: ralph report")
	}
	return runOutcome{out}
}

// rounds runs until the run is over, or a person has had enough.
func (a *app) rounds(ctx context.Context, runner *loop.Runner, opts loop.Options) (event.Result, os.Signal, error) {
	for {
		round, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
		watch := a.watch(cancel, runner)
		out, err := runner.Run(round)
		caught := watch()
		cancel(nil)
		if err != nil || out.Outcome != event.OutcomeInterrupted {
			return out, nil, err
		}
		if caught == syscall.SIGINT && a.asks && a.goOn(ctx, runner, opts) {
			continue
		}
		return out, caught, nil
	}
}

// watch turns the first signal into an interruption and the second into a kill. What
// runs when SIGTERM comes may finish within the grace. The function it returns ends it
// and says which signal came first.
func (a *app) watch(cancel context.CancelCauseFunc, runner *loop.Runner) func() os.Signal {
	done, ended := make(chan struct{}), make(chan os.Signal, 1)
	go func() {
		var first os.Signal
		var over <-chan time.Time // the grace
		for {
			select {
			case <-done:
				ended <- first
				return
			case <-over:
				cancel(caughtSignal{first})
			case s := <-a.signals:
				if first == nil {
					first = s
					if s == syscall.SIGTERM && a.grace > 0 {
						over = time.After(a.grace)
						a.note("caught SIGTERM: what runs has %s to finish, and no task begins; another signal ends it at once", a.grace)
						runner.Drain(caughtSignal{s})
						continue
					}
					cancel(caughtSignal{s})
					if s == syscall.SIGINT && a.asks && !a.quiet { // an agent may take seconds to end
						fmt.Fprintln(a.stderr, "\nstopping what runs; Ctrl-C again kills it")
					}
					continue
				}
				cancel(caughtSignal{first})
				_ = runner.Kill() // what survives is told when its session closes
			}
		}
	}()
	return func() os.Signal {
		close(done)
		return <-ended
	}
}

// goOn asks for guidance and whether to go on. What is typed becomes part of the
// next prompt of the tasks that were interrupted.
func (a *app) goOn(ctx context.Context, runner *loop.Runner, opts loop.Options) bool {
	a.flush() // a question stands below what led to it
	lines := a.lines()
	ask := func(question string) (string, bool) {
		fmt.Fprint(a.stderr, question)
		select {
		case text, ok := <-lines:
			return strings.TrimSpace(text), ok
		case <-a.signals: // a second Ctrl-C is an answer, too
			fmt.Fprintln(a.stderr)
			return "", false
		}
	}
	tasks := runner.Interrupted()
	guidance := ""
	if len(tasks) > 0 {
		var ok bool
		if guidance, ok = ask(fmt.Sprintf("\nGuidance for %s (Enter for none): ", strings.Join(tasks, ", "))); !ok {
			return false
		}
	}
	if guidance != "" {
		err := opts.Store.Update(ctx, func(g *dag.Graph) error {
			for _, id := range tasks {
				if err := g.Log(id, dag.LogUser, guidance); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			a.note("warning: the guidance could not be kept: %v", err)
		}
	}
	answer, ok := ask("Go on? [y/N] ")
	answer = strings.ToLower(answer)
	return ok && (answer == "y" || answer == "yes")
}

// lines reads what a person types, so that waiting for it can be given up.
func (a *app) lines() <-chan string {
	if a.typed == nil {
		typed := make(chan string)
		a.typed = typed
		go func() {
			defer close(typed)
			in := bufio.NewScanner(a.stdin)
			for in.Scan() {
				typed <- in.Text()
			}
		}()
	}
	return a.typed
}

type outcomeJSON struct {
	Outcome    string  `json:"outcome"`
	Reason     *string `json:"reason"`
	Run        string  `json:"run"`
	Iterations int     `json:"iterations"`
	Done       int     `json:"done"`
	Failed     int     `json:"failed"`
	Remaining  int     `json:"remaining"`
	spentJSON
	DurationMS int64            `json:"duration_ms"`
	Together   *togetherJSON    `json:"together"`
	Tasks      []event.Resolved `json:"tasks"`
}

// togetherJSON is what a run came to with those that it continues.
type togetherJSON struct {
	Continues  string `json:"continues"`
	Iterations int    `json:"iterations"`
	spentJSON
	DurationMS int64 `json:"duration_ms"`
}

// printOutcome prints one object on one line, the last of stdout.
func (a *app) printOutcome(out event.Result) error {
	j := outcomeJSON{
		Outcome: string(out.Outcome), Reason: orNil(out.Reason), Run: out.Run, Iterations: out.Iterations, Done: out.Counts.Done,
		Failed: out.Counts.Failed, Remaining: out.Counts.Remaining, spentJSON: spentJSON{out.Usage.CostUSD, out.Usage.Estimated, out.Usage.Unknown},
		DurationMS: out.Duration.Milliseconds(), Tasks: out.Tasks,
	}
	if t := out.Together; t != nil {
		j.Together = &togetherJSON{t.Continues, t.Iterations, spentJSON{t.Usage.CostUSD, t.Usage.Estimated, t.Usage.Unknown}, t.Duration}
	}
	if j.Tasks == nil {
		j.Tasks = []event.Resolved{}
	}
	enc := json.NewEncoder(a.stdout)
	enc.SetEscapeHTML(false)
	return enc.Encode(j)
}
