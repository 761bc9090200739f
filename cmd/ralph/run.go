package main

import (
	"context"
	"fmt"
	"slices"

	"ralph/internal/db"
	"ralph/internal/event"
	"ralph/internal/project"
	"ralph/internal/report"
)

var runCommand = command{
	name: "run", args: "[TARGET]", short: "run the ready tasks with an agent until all are done or none can run",
	long: `TARGET is a feature or a task; a group stands for all tasks below it; without one, everything runs.
A feature that has no tasks in the database, as after a clone, is imported from its tasks.jsonl first.
The first Ctrl-C stops the agent, releases its task and, on a terminal, asks for guidance and
whether to go on. The second kills it at once. Without a terminal, each task has a line when it
starts and one when it ends; -v prints every step, and -q a heartbeat each minute. In GitHub Actions
the log is folded, and the step summary and an annotation for each failed task are always written.`,
	flags:   runFlags(project.Default()),
	example: "ralph run --feature login --limit 20\nralph run 1f0c --agent claude --model opus\nralph run --continue\nralph run --follow --max-cost 20",
	exits:   "1 tasks failed, 2 blocked, 3 no task in scope, 4 a limit or stopped, 5 no usable agent,\n6 what landed was not pushed, " + interrupted,
	late:    true, run: action(runRun),
}

func runFlags(d project.Config) []flagSpec {
	or := func(value any, key string) string { return fmt.Sprintf("%v, or %s", value, key) }
	return slices.Concat(
		flagGroup("Scope",
			flagSpec{name: "feature", usage: "run only tasks of `FEATURE`"},
			flagSpec{name: "task", usage: "run only `TASK` and the tasks below it"},
			flagSpec{name: "tag", usage: "run only tasks tagged `TAG` and those below them"},
			boolFlag("continue", "continue an unfinished run with its target, flags and, unless a limit ended it, counters: the last one, the last one of TARGET, or the run whose ID is TARGET"),
			flagSpec{name: "keep-going", short: "k", value: false, usage: "run the rest of a group in which a task failed", shown: or(d.Run.KeepGoing, "run.keep_going")},
			boolFlag("fail-fast", "stop at the first failed task"),
			boolFlag("follow", "when nothing can run, wait for tasks that are added, until ralph stop, a signal or a limit"),
			boolFlag("dry-run", "show what would run, with which model and prompt, and what to expect of it"),
		),
		flagGroup("Limits",
			flagSpec{name: "limit", value: 0, usage: "run at most `N` iterations; 0 means no limit", shown: or(d.Run.Limit, "run.limit")},
			boolFlag("once", "run one iteration: the same as --limit 1"),
			flagSpec{name: "max-cost", value: 0.0, usage: "spend at most `USD` in this run; 0 means no limit", shown: or(d.Budget.MaxCostUSD, "budget.max_cost_usd")},
			flagSpec{name: "max-tokens", value: int64(0), usage: "use at most `N` tokens, in and out, in this run; 0 means no limit", shown: or(d.Budget.MaxTokens, "budget.max_tokens")},
			flagSpec{name: "max-duration", usage: "work for at most `DURATION`, such as 8h or 2d12h, not counting waits for rate limits; 0s means no limit", shown: or(d.Budget.MaxDuration, "budget.max_duration")},
			flagSpec{name: "until", usage: "stop at the next `HH:MM`", shown: or("never", "budget.until")},
			flagSpec{name: "max-failures", value: 0, usage: "stop after `N` tasks failed in a row; 0 means no limit", shown: or(d.Budget.MaxFailures, "budget.max_failures")},
			flagSpec{name: "max-retries", value: 0, usage: "retry rejected work at most `N` times, whatever a task allows", shown: or(fmt.Sprintf("the task's own, else %d", d.Run.MaxRetries), "run.max_retries")},
			flagSpec{name: "wait", usage: "wait for a rate limit to end: `DURATION` at most, auto or never", shown: or(d.Run.Wait, "run.wait")},
		),
		flagGroup("Agent",
			flagSpec{name: "agent", usage: "use the agent called `NAME`, or the command that starts one"},
			flagSpec{name: "model", usage: "use `MODEL`: a name, or a tier: opus, sonnet, haiku"},
			flagSpec{name: "model-strategy", usage: "choose models by `STRATEGY`: fixed, cost-optimized, escalate or plan-then-execute", shown: or(d.Run.ModelStrategy, "run.model_strategy") + "; fixed with --model"},
			flagSpec{name: "effort", usage: "how long models may think: `LEVEL` low, medium or high; a task's own wins", shown: or("the model's own", "agent.effort")},
			flagSpec{name: "jobs", usage: "run `N` agents at once, each in a slot, a copy of the project; finished work lands as one commit per task", value: 1, shown: or(d.Parallel.Jobs, "parallel.jobs")},
			flagSpec{name: "target", usage: "land finished work on `BRANCH`, which is made if it does not exist", shown: "the branch that is checked out"},
			boolFlag("with-changes", "commit what is uncommitted first, on the branch that is checked out: agents in slots begin with a commit"),
			boolFlag("in-place", "let one agent work in this folder and not in a slot; its work is judged in a room, and lands here"),
			boolFlag("review", "hold work that passes its gates until a person accepts it: ralph review"),
			flagSpec{name: "push", usage: "after the run, push what landed to `REMOTE`, or as REMOTE:BRANCH to another branch there; --push alone means the remote that git would push to", alone: ownRemote, shown: or("nothing is pushed", "merge.push")},
			flagSpec{name: "sandbox", usage: "confine agents and gates: `MODE` is auto (as well as possible), require (or do not run) or off", shown: or(d.Sandbox.Mode, "sandbox.mode")},
			flagSpec{name: "idle-timeout", usage: "stop an agent that is silent for `DURATION`", shown: or(d.Run.IdleTimeout, "run.idle_timeout")},
			flagSpec{name: "turn-timeout", usage: "stop a turn that takes longer than `DURATION`", shown: or("no limit", "run.turn_timeout")},
		),
		flagGroup("Verification",
			boolFlag("allow-failing", "begin although gates fail: what fails now is excused until it passes once"),
			boolFlag("require-proof", "fail with status 1 while a success criterion of the specification is not proven, or only in part: ralph feature proof"),
			boolFlag("no-verify", "believe the agent: run no gates, ask for no evidence and no second opinion"),
		),
		flagGroup("Output",
			flagSpec{name: "events", usage: "write every event to `FILE` as a line of JSON; - for stdout"},
			flagSpec{name: "junit", usage: "write a JUnit report to `FILE`, even if the run fails: a task is a test case"},
			flagSpec{name: "summary", usage: "write a Markdown summary to `FILE`, even if the run fails: what failed, why, and what to type next"},
			flagSpec{name: "log-file", usage: "append a structured log to `FILE`"},
			flagSpec{name: "log-format", usage: "write the log in `FORMAT` text or json; without --log-file, replaces the live output", shown: "text"},
			flagSpec{name: "metrics", usage: "keep Prometheus metrics in `FILE`", shown: or("none", "telemetry.prometheus")},
			jsonFlag,
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

// runConns is how many connections the agents of a run share: each has one for milliseconds, and only one writes.
const runConns = 8

func runOpened(ctx context.Context, a *app, o runOptions, reports *reports) error {
	a.log = a.logger()
	s, err := a.openFor(ctx, db.Options{Conns: runConns, Walk: true})
	if err != nil {
		return err
	}
	defer s.Close()
	if err := s.refuseUnsynced(); err != nil {
		return err
	}
	if err := importFeature(ctx, s, o.runTarget); err != nil {
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
	if !o.finished { // which begins nothing
		if err := reportLost(ctx, a, s, o.DryRun); err != nil {
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
	if err := refuseEmpty(ctx, a, s, o, opts); err != nil {
		return err
	}
	if err := adviseRun(ctx, a, s, o.runOutput, opts); err != nil {
		return err
	}
	push, err := prepareLanding(ctx, a, s, o, opts.Landing)
	if err != nil {
		return err
	}
	x := &execution{
		app: a, opts: opts, json: o.JSON, output: o.runOutput, session: s, reports: reports,
		grace: s.config.Run.Grace.Std(), flush: func() {}, push: push,
	}
	err = x.do(ctx)
	savePlans(ctx, a, s)
	sweepCredentials(context.WithoutCancel(ctx), a, s)
	collectAfter(ctx, a, s, err)
	return err
}
