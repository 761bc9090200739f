package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/urfave/cli/v2"

	"ralph/event"
	"ralph/internal/db"
	"ralph/internal/project"
	"ralph/report"
)

func runCommand(a *app) command {
	return command{
		name: "run", args: "[TARGET]", short: "run the ready tasks with an agent until all are done or none can run",
		long: `TARGET is a feature or a task; a group stands for all tasks below it; without one, everything runs.
A feature that has no tasks in the database, as after a clone, is imported from its tasks.jsonl first.
The first Ctrl-C stops the agent, releases its task and, on a terminal, asks for guidance and
whether to go on. The second kills it at once. Without a terminal, each task has a line when it
starts and one when it ends; -v prints every step, and -q a heartbeat each minute. In GitHub Actions
the log is folded, and the step summary and an annotation for each failed task are always written.`,
		flags:   runFlags(project.Default()),
		example: "ralph run --feature login --limit 20\nralph run 1f0c --agent claude --model opus\nralph run --continue",
		exits:   "1 tasks failed, 2 blocked, 3 no task in scope, 4 a limit or stopped, 5 no usable agent,\n" + interrupted,
		run:     action(a, runRun),
	}
}

func runFlags(d project.Config) []cli.Flag {
	or := func(value any, key string) string { return fmt.Sprintf("%v, or %s", value, key) }
	return slices.Concat(
		flagGroup("Scope",
			&cli.StringFlag{Name: "feature", Usage: "run only tasks of `FEATURE`"},
			&cli.StringFlag{Name: "task", Usage: "run only `TASK` and the tasks below it"},
			boolFlag("continue", "continue an unfinished run with its target, flags and counters: the last one, the last one of TARGET, or the run whose ID is TARGET"),
			&cli.BoolFlag{Name: "keep-going", Aliases: []string{"k"}, Usage: "run the rest of a group in which a task failed", DefaultText: or(d.Run.KeepGoing, "run.keep_going")},
			boolFlag("fail-fast", "stop at the first failed task"),
			boolFlag("dry-run", "show what would run, with which model and prompt"),
		),
		flagGroup("Limits",
			&cli.IntFlag{Name: "limit", Usage: "run at most `N` iterations; 0 means no limit", DefaultText: or(d.Run.Limit, "run.limit")},
			boolFlag("once", "run one iteration: the same as --limit 1"),
			&cli.Float64Flag{Name: "max-cost", Usage: "spend at most `USD` in this run; 0 means no limit", DefaultText: or(d.Budget.MaxCostUSD, "budget.max_cost_usd")},
			&cli.Int64Flag{Name: "max-tokens", Usage: "use at most `N` tokens, in and out, in this run; 0 means no limit", DefaultText: or(d.Budget.MaxTokens, "budget.max_tokens")},
			&cli.StringFlag{Name: "max-duration", Usage: "work for at most `DURATION`, such as 8h or 2d12h, not counting waits for rate limits; 0s means no limit", DefaultText: or(d.Budget.MaxDuration, "budget.max_duration")},
			&cli.StringFlag{Name: "until", Usage: "stop at the next `HH:MM`", DefaultText: or("never", "budget.until")},
			&cli.IntFlag{Name: "max-failures", Usage: "stop after `N` tasks failed in a row; 0 means no limit", DefaultText: or(d.Budget.MaxFailures, "budget.max_failures")},
			&cli.IntFlag{Name: "max-retries", Usage: "retry rejected work at most `N` times, whatever a task allows", DefaultText: or(fmt.Sprintf("the task's own, else %d", d.Run.MaxRetries), "run.max_retries")},
			&cli.StringFlag{Name: "wait", Usage: "wait for a rate limit to end: `DURATION` at most, auto or never", DefaultText: or(d.Run.Wait, "run.wait")},
		),
		flagGroup("Agent",
			&cli.StringFlag{Name: "agent", Usage: "use the agent called `NAME`, or the command that starts one"},
			&cli.StringFlag{Name: "model", Usage: "use `MODEL`: a name, or a tier: opus, sonnet, haiku"},
			&cli.StringFlag{Name: "model-strategy", Usage: "choose models by `STRATEGY`: fixed, cost-optimized, escalate or plan-then-execute", DefaultText: or(d.Run.ModelStrategy, "run.model_strategy") + "; fixed with --model"},
			&cli.IntFlag{Name: "jobs", Usage: "run `N` agents at once, in the same folder: unsafe unless their tasks touch different files", Value: 1},
			&cli.StringFlag{Name: "sandbox", Usage: "confine agents and gates: `MODE` is auto (as well as possible), require (or do not run) or off", DefaultText: or(d.Sandbox.Mode, "sandbox.mode")},
			&cli.StringFlag{Name: "idle-timeout", Usage: "stop an agent that is silent for `DURATION`", DefaultText: or(d.Run.IdleTimeout, "run.idle_timeout")},
			&cli.StringFlag{Name: "turn-timeout", Usage: "stop a turn that takes longer than `DURATION`", DefaultText: or("no limit", "run.turn_timeout")},
		),
		flagGroup("Verification",
			boolFlag("no-verify", "believe the agent: run no gates, ask for no evidence and no second opinion"),
		),
		flagGroup("Output",
			&cli.StringFlag{Name: "events", Usage: "write every event to `FILE` as a line of JSON; - for stdout"},
			&cli.StringFlag{Name: "junit", Usage: "write a JUnit report to `FILE`, even if the run fails: a task is a test case"},
			&cli.StringFlag{Name: "summary", Usage: "write a Markdown summary to `FILE`, even if the run fails: what failed, why, and what to type next"},
			&cli.StringFlag{Name: "log-file", Usage: "append a structured log to `FILE`"},
			&cli.StringFlag{Name: "log-format", Usage: "write the log in `FORMAT` text or json; without --log-file, replaces the live output", DefaultText: "text"},
			&cli.StringFlag{Name: "metrics", Usage: "keep Prometheus metrics in `FILE`", DefaultText: or("none", "telemetry.prometheus")},
			jsonFlag(),
		),
	)
}

func runRun(ctx context.Context, a *app, o runOptions) error {
	if err := checkOutput(a, o.runOutput); err != nil {
		return err
	}
	reports, err := prepareReports(a, o)
	if err != nil {
		return err
	}
	err = runOpened(ctx, a, o, reports)
	if err != nil && !reports.written && !o.DryRun {
		if rerr := reports.notStarted(a, o.typedScope(), err); rerr != nil {
			a.note("warning: %v", rerr)
		}
	}
	return err
}

func runOpened(ctx context.Context, a *app, o runOptions, reports *reports) error {
	a.log = a.logger()
	s, err := a.openFor(ctx, db.Options{Conns: 2 + min(max(or(o.Jobs, 1), 1), 16), Walk: true})
	if err != nil {
		return err
	}
	defer s.Close()
	if err := importFeature(ctx, a, s, o.runTarget); err != nil {
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
	opts, err := loopOptions(ctx, a, s, o, continues)
	if err != nil {
		outcome := notStartedOutcome(err)
		if o.JSON && outcome != event.OutcomeNotStarted {
			if perr := unwritten(report.Result(a.stdout, event.Result{Outcome: outcome, Reason: err.Error()})); perr != nil {
				a.note("warning: %v", perr)
			}
		}
		return err
	}
	if o.DryRun {
		return dryRun(ctx, a, opts)
	}
	if err := adviseRun(ctx, a, s, o.runOutput, opts); err != nil {
		return err
	}
	x := &execution{app: a, opts: opts, json: o.JSON, output: o.runOutput, session: s, reports: reports, grace: s.config.Run.Grace.Std(), flush: func() {}}
	err = x.do(ctx)
	collectAfter(ctx, a, s, err)
	return err
}
