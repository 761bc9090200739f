package main

import (
	"context"

	"github.com/urfave/cli/v2"

	"ralph/event"
	"ralph/internal/db"
	"ralph/report"
)

func runCommand(a *app) command {
	return command{
		name: "run", args: "[TARGET]", short: "work through the graph with an agent, until it is done or nothing can run",
		long: `TARGET is a feature or a task; a group means all that lies below it; none means everything.
A feature that has no tasks in the database, as after a clone, is imported from its tasks.jsonl first.
The first Ctrl-C ends the agent, gives its task back and, on a terminal, asks for guidance and
whether to go on. The second kills at once. Off a terminal a task has a line when it starts and one
when it ends; -v prints every step, and -q a sign of life each minute. In GitHub Actions the steps are
folded, and the step summary and an annotation for each failed task are written without being asked.`,
		flags: []cli.Flag{
			&cli.StringFlag{Name: "feature", Usage: "only tasks of feature `F`"},
			&cli.StringFlag{Name: "task", Usage: "only task `ID` and what lies below it"},
			&cli.IntFlag{Name: "limit", Usage: "at most `N` iterations; 0 means no limit", DefaultText: "as configured"},
			&cli.BoolFlag{DisableDefaultText: true, Name: "once", Usage: "one iteration: the same as --limit 1"},
			&cli.Float64Flag{Name: "max-cost", Usage: "spend at most `USD` in this run; 0 means no limit", DefaultText: "as configured"},
			&cli.Int64Flag{Name: "max-tokens", Usage: "use at most `N` tokens, in and out, in this run; 0 means no limit", DefaultText: "as configured"},
			&cli.StringFlag{Name: "max-duration", Usage: "work for at most `DUR`, such as 8h or 2d12h, without waiting for limits; 0s means no limit", DefaultText: "as configured"},
			&cli.StringFlag{Name: "until", Usage: "end at `HH:MM`, the next time it is that late", DefaultText: "as configured"},
			&cli.IntFlag{Name: "max-failures", Usage: "end after `N` tasks failed in a row; 0 means no limit", DefaultText: "as configured"},
			&cli.StringFlag{Name: "wait", Usage: "for a limit of the agent's provider: `auto`, never, or at most so long", DefaultText: "as configured"},
			&cli.StringFlag{Name: "agent", Usage: "`NAME` of an agent, or the command that starts one"},
			&cli.StringFlag{Name: "model", Usage: "`M`: a model's name, or a tier: opus, sonnet, haiku"},
			&cli.StringFlag{Name: "model-strategy", Usage: "`S`: fixed, cost-optimized, escalate or plan-then-execute", DefaultText: "as configured; fixed with --model"},
			&cli.IntFlag{Name: "max-retries", Usage: "retry at most `N` times after work was not accepted, whatever a task says", DefaultText: "the task's own, else as configured"},
			&cli.BoolFlag{DisableDefaultText: true, Name: "no-verify", Usage: "take the agent's word: no gates, no evidence, no second look"},
			&cli.BoolFlag{Name: "keep-going", Aliases: []string{"k"}, Usage: "run the rest of a group in which a task failed", DefaultText: "as configured"},
			&cli.BoolFlag{DisableDefaultText: true, Name: "fail-fast", Usage: "end at the first failed task"},
			&cli.IntFlag{Name: "jobs", Usage: "run `N` agents at once, in the same folder: unsafe unless their tasks touch different files", Value: 1},
			&cli.BoolFlag{DisableDefaultText: true, Name: "continue", Usage: "continue an unfinished run with its target, flags and counters: the last one, the last one of TARGET, or the run whose ID is TARGET"},
			&cli.BoolFlag{DisableDefaultText: true, Name: "dry-run", Usage: "show what would run, with which model and prompt"},
			&cli.StringFlag{Name: "sandbox", Usage: "confine agents and gates: `MODE` is auto (as well as can be), require (or do not run) or off", DefaultText: "as configured"},
			&cli.StringFlag{Name: "idle-timeout", Usage: "end an agent that is silent for `DUR`", DefaultText: "as configured"},
			&cli.StringFlag{Name: "turn-timeout", Usage: "end a turn that takes longer than `DUR`", DefaultText: "as configured"},
			&cli.StringFlag{Name: "events", Usage: "also write every event to `FILE`, a JSON line each; - for stdout"},
			&cli.StringFlag{Name: "junit", Usage: "at the end, whatever it is, write `FILE` for machines that know tests: a task is a test case"},
			&cli.StringFlag{Name: "summary", Usage: "at the end, whatever it is, write `FILE`: what failed, why and what to type next, as Markdown"},
			&cli.StringFlag{Name: "log-file", Usage: "also append a structured log to `FILE`"},
			&cli.StringFlag{Name: "log-format", Usage: "`F` of the log: text or json; without --log-file the log takes the place of what is shown", DefaultText: "text"},
			&cli.StringFlag{Name: "metrics", Usage: "keep numbers in `FILE`, as Prometheus reads them", DefaultText: "as configured"},
			jsonFlag(),
		},
		example: "ralph run --feature login --limit 20\nralph run 1f0c --agent claude --model opus\nralph run --continue",
		exits:   "1 tasks failed, 2 blocked, 3 no task in scope, 4 a limit or stopped, 5 no usable agent,\n" + interrupted,
		run:     action(a, parseRun, runRun),
	}
}

func runRun(ctx context.Context, a *app, o runOptions) error {
	if err := checkOutput(a, o.output); err != nil {
		return err
	}
	reports, err := prepareReports(a, o)
	if err != nil {
		return err
	}
	err = runOpened(ctx, a, o, reports)
	if err != nil && !reports.written && !o.dryRun {
		if rerr := reports.notStarted(a, o.target.typedScope(), err); rerr != nil {
			a.note("warning: %v", rerr)
		}
	}
	return err
}

func runOpened(ctx context.Context, a *app, o runOptions, reports *reports) error {
	a.log = a.logger()
	s, err := a.openFor(ctx, db.Options{Conns: 2 + min(max(or(o.jobs, 1), 1), 16), Walk: true})
	if err != nil {
		return err
	}
	defer s.Close()
	if err := a.importFeature(ctx, s, o.target); err != nil {
		return err
	}
	o, continues, err := continueRun(ctx, a, s, o)
	if err != nil {
		return err
	}
	if !o.dryRun {
		if err := refusePaused(ctx, a, s); err != nil {
			return err
		}
	}
	opts, err := a.loopOptions(ctx, s, o, continues)
	if err != nil {
		outcome := notStartedOutcome(err)
		if o.json && outcome != event.OutcomeNotStarted {
			if perr := unwritten(report.Result(a.stdout, event.Result{Outcome: outcome, Reason: err.Error()})); perr != nil {
				a.note("warning: %v", perr)
			}
		}
		return err
	}
	if o.dryRun {
		return dryRun(ctx, a, opts)
	}
	if err := adviseRun(ctx, a, s, o.output, opts); err != nil {
		return err
	}
	x := &execution{app: a, opts: opts, json: o.json, output: o.output, session: s, reports: reports, grace: s.config.Run.Grace.Std(), flush: func() {}}
	err = x.do(ctx)
	collectAfter(ctx, a, s, err)
	return err
}
