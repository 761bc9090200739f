package inboxcmd

import (
	"context"
	"errors"
	"fmt"
	"time"

	"ralph/dag"
	"ralph/internal/cli"
	"ralph/internal/cli/decide"
	"ralph/internal/cli/wiring"
	"ralph/internal/inbox"
)

// Stop is the command "ralph stop".
var Stop = cli.Command{
	Name: "stop", Args: "[TASK]", Short: "stop the runs of this project after their current task; or the work on one task",
	Long: `Works from any shell. Every running run of this project is asked to stop, also on another machine that
uses this database. It stops within a second or two, or when its current task is finished, with
exit status 4. With --now its agents are stopped and their tasks released, as by Ctrl-C.

With TASK, only the agents at work on that task and on the tasks below it are stopped, at once; runs
continue with the rest. Their attempts are not charged, and what they did so far is kept. The task is
paused: it continues after ralph resume TASK.`,
	Flags:   []cli.Flag{cli.Bool("now", "do not wait for the current task"), {Name: "run", Usage: "only run `RUN`", Shown: "all runs"}},
	Example: "ralph stop\nralph stop --now\nralph stop 1f0c", Exits: "1 refused (a task that has ended), 3 not found", Run: cli.Action(runStop),
}

func runStop(ctx context.Context, a *cli.App, o cli.PlainOptions) error {
	if len(o.Args) > 0 {
		if o.Run != "" {
			return cli.Usagef("a task is stopped whichever run has it: --run does not go with TASK")
		}
		return stopTask(ctx, a, o.Args[0])
	}
	how, when := dag.StopAfterTask, "after its current task"
	if o.Now {
		how, when = dag.StopNow, "now"
	}
	var asked []dag.Run
	err := a.Record(ctx, func(_ *cli.Session, g *dag.Graph) (err error) {
		run, err := cli.RunID(g, o.Run)
		if err == nil {
			asked, err = g.Queue.StopRuns(run, how, cli.Life)
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("stop: %w", err)
	}
	if len(asked) == 0 {
		a.Note("nothing is running")
	}
	for _, run := range asked {
		a.Note("%s ends %s", run.ID, when)
	}
	return nil
}

// stopTask pauses a task and has its agents stopped.
func stopTask(ctx context.Context, a *cli.App, typed string) error {
	var stopped []dag.Attempt
	err := changeTask(ctx, a, typed, "stop", "stopped and paused", func(g *dag.Graph, t dag.Task) (err error) {
		if err := g.Tasks.Pause(t.ID); err != nil {
			return err
		}
		stopped, err = inbox.Interrupt(g, t.ID)
		return err
	})
	if err == nil && len(stopped) == 0 {
		a.Note("no agent was at work on it")
	}
	return err
}

// Pause is the command "ralph pause".
var Pause = cli.Command{
	Name: "pause", Args: "[TASK]", Short: "pause the project, or one task, until ralph resume",
	Long: `Running tasks finish; then a running run waits, and says so. A run that is started meanwhile waits on
a terminal, and is refused without one. With TASK, only that task and the tasks below it are paused;
runs continue with the rest.`,
	Example: "ralph pause\nralph pause 1f0c", Exits: "1 refused (a task that has ended), 3 not found",
	Run: cli.Action(runPause),
}

func runPause(ctx context.Context, a *cli.App, o cli.PlainOptions) error {
	if len(o.Args) > 0 {
		return changeTask(ctx, a, o.Args[0], "pause", "paused", func(g *dag.Graph, t dag.Task) error { return g.Tasks.Pause(t.ID) })
	}
	changed := false
	err := a.Record(ctx, func(_ *cli.Session, g *dag.Graph) (err error) { changed, err = g.Queue.PauseAll(); return err })
	switch {
	case err != nil:
		return fmt.Errorf("pause: %w", err)
	case !changed:
		a.Note("paused already; continue with: ralph resume")
	default:
		a.Note("paused: no task starts until: ralph resume")
	}
	return nil
}

// Resume is the command "ralph resume".
var Resume = cli.Command{
	Name: "resume", Args: "[TASK]", Short: "resume after ralph pause, or before a rate limit ends",
	Long: `Without TASK, the project is resumed; tasks that were paused one by one stay paused. Agents that are
rate-limited are tried again at once instead of when the limit ends.`,
	Example: "ralph resume\nralph resume 1f0c", Exits: "1 refused (a task that is not paused), 3 not found",
	Run: cli.Action(runResume),
}

func runResume(ctx context.Context, a *cli.App, o cli.PlainOptions) error {
	if len(o.Args) > 0 {
		return changeTask(ctx, a, o.Args[0], "resume", "resumed", func(g *dag.Graph, t dag.Task) error {
			return hintPaused(g, t.ID, g.Tasks.Resume(t.ID))
		})
	}
	text := ""
	err := a.Record(ctx, func(s *cli.Session, g *dag.Graph) error {
		changed, err := g.Queue.ResumeAll()
		limits, lerr := g.Queue.AgentLimits()
		if err := errors.Join(err, lerr); err != nil {
			return err
		}
		text = "it was not paused"
		if changed {
			text = "resumed"
		}
		for _, l := range limits {
			text += fmt.Sprintf("; %s is tried again, although it is rate-limited until %s", l.Agent, l.Until.Local().Format(time.DateTime))
		}
		return errors.Join(g.Queue.LiftLimit(""), wiring.AccountsOf(a, s.Config).Lift())
	})
	if err != nil {
		return fmt.Errorf("resume: %w", err)
	}
	a.Note("%s", text)
	return nil
}

// changeTask does something to the task that was typed that is no part of the plan. An empty TASK, such as "$ID" in a script, is one that does
// not exist: it must not stand for the project.
func changeTask(ctx context.Context, a *cli.App, typed, name, word string, do func(*dag.Graph, dag.Task) error) error {
	if typed == "" {
		return &dag.MissingError{Kind: "task"}
	}
	return decide.ChangeTasks(ctx, a, a.Record, []string{typed}, name, word, do)
}

// hintPaused says what else may hold a task that is not paused itself.
func hintPaused(g *dag.Graph, id string, err error) error {
	if err == nil {
		return nil
	}
	if control, cerr := g.Queue.Control(""); cerr == nil && !control.PausedAt.IsZero() {
		return cli.Hint(err, "the whole project is paused; continue with: ralph resume")
	}
	return cli.Hint(err, "see what it waits for with: ralph task why %s", id)
}
