// Package launch is the command run, and how other commands start one: options and configuration become loop.Options, which are
// carried out and reported.
package launch

import (
	"context"
	"fmt"
	"slices"
	"time"

	"ralph/dag"
	"ralph/internal/agents"
	"ralph/internal/cli"
	"ralph/internal/cli/wiring"
	"ralph/internal/db"
	"ralph/internal/event"
	"ralph/internal/project"
	"ralph/internal/report"
	"ralph/loop"
)

// Command is the command "ralph run".
var Command = cli.Command{
	Name: "run", Args: "[TARGET]", Short: "run the ready tasks with an agent until all are done or none can run",
	Long: `TARGET is a feature or a task; a group stands for all tasks below it; without one, everything runs.
A feature that has no tasks in the database, as after a clone, is imported from its tasks.jsonl first.
The first Ctrl-C stops the agent, releases its task and, on a terminal, asks for guidance and
whether to go on. The second kills it at once. Without a terminal, each task has a line when it
starts and one when it ends; -v prints every step, and -q a heartbeat each minute. In GitHub Actions
the log is folded, and the step summary and an annotation for each failed task are always written.`,
	Flags:   RunFlags(project.Default()),
	Example: "ralph run --feature login --limit 20\nralph run 1f0c --agent claude --model opus\nralph run --continue\nralph run --follow --max-cost 20",
	Exits:   "1 tasks failed, 2 blocked, 3 no task in scope, 4 a limit or stopped, 5 no usable agent,\n6 what landed was not pushed, " + cli.Interrupted,
	Late:    true, Run: cli.Action(Run),
}

// RunFlags are the flags of a run, with the values of a configuration as those that the help shows.
func RunFlags(d project.Config) []cli.Flag {
	or := func(value any, key string) string { return fmt.Sprintf("%v, or %s", value, key) }
	return slices.Concat(
		cli.FlagGroup("Scope",
			cli.Flag{Name: "feature", Usage: "run only tasks of `FEATURE`"},
			cli.Flag{Name: "task", Usage: "run only `TASK` and the tasks below it"},
			cli.Flag{Name: "tag", Usage: "run only tasks tagged `TAG` and those below them"},
			cli.Bool("continue", "continue an unfinished run with its target, flags and, unless a limit ended it, counters: the last one, the last one of TARGET, or the run whose ID is TARGET"),
			cli.Flag{Name: "keep-going", Short: "k", Value: false, Usage: "run the rest of a group in which a task failed", Shown: or(d.Run.KeepGoing, "run.keep_going")},
			cli.Bool("fail-fast", "stop at the first failed task"),
			cli.Bool("follow", "when nothing can run, wait for tasks that are added, until ralph stop, a signal or a limit"),
			cli.Bool("dry-run", "show what would run, with which model and prompt, and what to expect of it"),
		),
		cli.FlagGroup("Limits",
			cli.Flag{Name: "limit", Value: 0, Usage: "run at most `N` iterations; 0 means no limit", Shown: or(d.Run.Limit, "run.limit")},
			cli.Bool("once", "run one iteration: the same as --limit 1"),
			cli.Flag{Name: "max-cost", Value: 0.0, Usage: "spend at most `USD` in this run; 0 means no limit", Shown: or(d.Budget.MaxCostUSD, "budget.max_cost_usd")},
			cli.Flag{Name: "max-tokens", Value: int64(0), Usage: "use at most `N` tokens, in and out, in this run; 0 means no limit", Shown: or(d.Budget.MaxTokens, "budget.max_tokens")},
			cli.Flag{Name: "max-duration", Usage: "work for at most `DURATION`, such as 8h or 2d12h, not counting waits for rate limits; 0s means no limit", Shown: or(d.Budget.MaxDuration, "budget.max_duration")},
			cli.Flag{Name: "until", Usage: "stop at the next `HH:MM`", Shown: or("never", "budget.until")},
			cli.Flag{Name: "max-failures", Value: 0, Usage: "stop after `N` tasks failed in a row; 0 means no limit", Shown: or(d.Budget.MaxFailures, "budget.max_failures")},
			cli.Flag{Name: "max-retries", Value: 0, Usage: "retry rejected work at most `N` times, whatever a task allows", Shown: or(fmt.Sprintf("the task's own, else %d", d.Run.MaxRetries), "run.max_retries")},
			cli.Flag{Name: "wait", Usage: "wait for a rate limit to end: `DURATION` at most, auto or never", Shown: or(d.Run.Wait, "run.wait")},
		),
		cli.FlagGroup("Agent",
			cli.Flag{Name: "agent", Usage: "use the agent called `NAME`, or the command that starts one"},
			cli.Flag{Name: "model", Usage: "use `MODEL`: a name, or a tier: opus, sonnet, haiku"},
			cli.Flag{Name: "model-strategy", Usage: "choose models by `STRATEGY`: fixed, cost-optimized, escalate or plan-then-execute", Shown: or(d.Run.ModelStrategy, "run.model_strategy") + "; fixed with --model"},
			cli.Flag{Name: "effort", Usage: "how long models may think: `LEVEL` low, medium or high; a task's own wins", Shown: or("the model's own", "agent.effort")},
			cli.Flag{Name: "jobs", Usage: "run `N` agents at once, each in a slot, a copy of the project; finished work lands as one commit per task", Value: 1, Shown: or(d.Parallel.Jobs, "parallel.jobs")},
			cli.Flag{Name: "target", Usage: "land finished work on `BRANCH`, which is made if it does not exist", Shown: "the branch that is checked out"},
			cli.Bool("with-changes", "commit what is uncommitted first, on the branch that is checked out: agents in slots begin with a commit"),
			cli.Bool("in-place", "let one agent work in this folder and not in a slot; its work is judged in a room, and lands here"),
			cli.Bool("review", "hold work that passes its gates until a person accepts it: ralph review"),
			cli.Flag{Name: "push", Usage: "after the run, push what landed to `REMOTE`, or as REMOTE:BRANCH to another branch there; --push alone means the remote that git would push to", Alone: OwnRemote, Shown: or("nothing is pushed", "merge.push")},
			cli.Flag{Name: "sandbox", Usage: "confine agents and gates: `MODE` is auto (as well as possible), require (or do not run) or off", Shown: or(d.Sandbox.Mode, "sandbox.mode")},
			cli.Flag{Name: "idle-timeout", Usage: "stop an agent that is silent for `DURATION`", Shown: or(d.Run.IdleTimeout, "run.idle_timeout")},
			cli.Flag{Name: "turn-timeout", Usage: "stop a turn that takes longer than `DURATION`", Shown: or("no limit", "run.turn_timeout")},
		),
		cli.FlagGroup("Verification",
			cli.Bool("allow-failing", "begin although gates fail: what fails now is excused until it passes once"),
			cli.Bool("require-proof", "fail with status 1 while a success criterion of the specification is not proven, or only in part: ralph feature proof"),
			cli.Bool("no-verify", "believe the agent: run no gates, ask for no evidence and no second opinion"),
		),
		cli.FlagGroup("Output",
			cli.Flag{Name: "events", Usage: "write every event to `FILE` as a line of JSON; - for stdout"},
			cli.Flag{Name: "junit", Usage: "write a JUnit report to `FILE`, even if the run fails: a task is a test case"},
			cli.Flag{Name: "summary", Usage: "write a Markdown summary to `FILE`, even if the run fails: what failed, why, and what to type next"},
			cli.Flag{Name: "log-file", Usage: "append a structured log to `FILE`"},
			cli.Flag{Name: "log-format", Usage: "write the log in `FORMAT` text or json; without --log-file, replaces the live output", Shown: "text"},
			cli.Flag{Name: "metrics", Usage: "keep Prometheus metrics in `FILE`", Shown: or("none", "telemetry.prometheus")},
			cli.JSONFlag,
		),
	)
}

// Run carries out "ralph run".
func Run(ctx context.Context, a *cli.App, o Options) error {
	if err := wiring.CheckOutput(a, o.OutputOptions); err != nil {
		return err
	}
	reports, err := prepareReports(a, o)
	if err != nil {
		return err
	}
	err = runOpened(ctx, a, o, reports)
	if err != nil && !reports.written && !o.DryRun {
		if rerr := reports.notStarted(a, o.typedScope(), err); rerr != nil {
			a.Note("warning: %v", rerr)
		}
	}
	return err
}

// Demonstration is a run with the built-in agent, one task after the other.
func Demonstration(ctx context.Context, a *cli.App, s *cli.Session, keep bool) (loop.Options, error) {
	s.Config.Run.Backoff = 0 // nobody should wait for a demonstration
	opts, err := LoopOptions(ctx, a, s, Options{}, nil)
	if err != nil {
		return opts, err
	}
	opts.Workers.Jobs, opts.Models.Strategy = 1, "fixed"
	opts.Host.Setup = setup(opts, agents.Preset{ExitStatus: true}, a.Sandbox)
	opts.Host.Setup.Agent, opts.Host.Setup.Model = "shell, built in", "none needed"
	if !keep {
		opts.Host.Setup.Folder = "" // it will be gone
	}
	return opts, nil
}

// Execute carries a run out and reports it to the terminal alone.
func Execute(ctx context.Context, a *cli.App, opts loop.Options) error {
	return (&execution{app: a, opts: opts, flush: func() {}}).do(ctx)
}

// RunConns is how many connections the agents of a run share: each has one for milliseconds, and only one writes.
const RunConns = 8

func runOpened(ctx context.Context, a *cli.App, o Options, reports *reports) error {
	a.Log = a.Logger()
	s, err := a.OpenFor(ctx, db.Options{Conns: RunConns, Walk: true})
	if err != nil {
		return err
	}
	defer s.Close()
	if err := s.RefuseUnsynced(); err != nil {
		return err
	}
	if err := ImportFeature(ctx, s, o.TargetOptions); err != nil {
		return err
	}
	o, err = joinRun(ctx, s, o)
	if err != nil {
		return err
	}
	o, continues, err := continueRun(ctx, a, s, o)
	if err != nil {
		return err
	}
	if !o.DryRun {
		if err := refusePaused(ctx, a, s); err != nil {
			return err
		}
	}
	if !o.Finished { // which begins nothing
		if err := wiring.ReportLost(ctx, a, s, o.DryRun); err != nil {
			return err
		}
	}
	opts, err := LoopOptions(ctx, a, s, o, continues)
	if err != nil {
		outcome := notStartedOutcome(err)
		if o.JSON && outcome != event.OutcomeNotStarted {
			if perr := cli.Unwritten(report.Result(a.Stdout, event.Result{Outcome: outcome, Reason: err.Error()})); perr != nil {
				a.Note("warning: %v", perr)
			}
		}
		return err
	}
	if o.DryRun {
		return dryRun(ctx, a, opts)
	}
	if err := refuseEmpty(ctx, a, s, o, opts); err != nil {
		return err
	}
	if err := adviseRun(ctx, a, s, o.OutputOptions, opts); err != nil {
		return err
	}
	push, err := prepareLanding(ctx, a, s, o, opts.Landing)
	if err != nil {
		return err
	}
	x := &execution{
		app: a, opts: opts, json: o.JSON, output: o.OutputOptions, session: s, reports: reports,
		grace: s.Config.Run.Grace.Std(), flush: func() {}, push: push,
	}
	err = x.do(ctx)
	cli.SavePlans(ctx, a, s)
	wiring.SweepCredentials(context.WithoutCancel(ctx), a, s)
	wiring.CollectAfter(ctx, a, s, err)
	return err
}

// refusePaused refuses a run that nobody watches, as it would wait for ever.
func refusePaused(ctx context.Context, a *cli.App, s *cli.Session) error {
	if a.ErrIsTerm {
		return nil
	}
	return s.Store.View(ctx, func(g *dag.Graph) error {
		control, err := g.Queue.Control("")
		if err != nil || control.PausedAt.IsZero() {
			return err
		}
		return cli.Hint(fmt.Errorf("run: %w: the project is paused since %s", dag.ErrRefused, control.PausedAt.Local().Format(time.DateTime)),
			"continue with: ralph resume")
	})
}
