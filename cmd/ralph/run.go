package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"ralph/dag"
	"ralph/internal/agents"
	"ralph/internal/db"
	"ralph/internal/proc"
	"ralph/internal/project"
	"ralph/internal/show"
	"ralph/knowledge"
	"ralph/loop"
	"ralph/strategy"
	"ralph/verify"
)

func (a *app) runCommand() command {
	return command{
		name: "run", args: "[TARGET]", short: "work through the graph with an agent, until it is done or nothing can run",
		long: `TARGET is a feature or a task; a group means all that lies below it; none means everything.
A feature that has no tasks in the database, as after a clone, is imported from its tasks.jsonl first.
The first Ctrl-C ends the agent, gives its task back and, on a terminal, asks for guidance and
whether to go on. The second kills at once. In GitHub Actions the step summary and an annotation for
each failed task are written without being asked.`,
		flags: []cli.Flag{
			&cli.StringFlag{Name: "feature", Usage: "only tasks of feature `F`"},
			&cli.StringFlag{Name: "task", Usage: "only task `ID` and what lies below it"},
			&cli.IntFlag{Name: "limit", Usage: "at most `N` iterations; 0 means no limit", DefaultText: "as configured"},
			&cli.BoolFlag{DisableDefaultText: true, Name: "once", Usage: "one iteration: the same as --limit 1"},
			&cli.Float64Flag{Name: "max-cost", Usage: "spend at most `USD` in this run; 0 means no limit", DefaultText: "as configured"},
			&cli.Int64Flag{Name: "max-tokens", Usage: "use at most `N` tokens, in and out, in this run; 0 means no limit", DefaultText: "as configured"},
			&cli.StringFlag{Name: "max-duration", Usage: "work for at most `DUR`, without waiting for limits; 0s means no limit", DefaultText: "as configured"},
			&cli.StringFlag{Name: "until", Usage: "end at `HH:MM`, the next time it is that late", DefaultText: "as configured"},
			&cli.IntFlag{Name: "max-failures", Usage: "end after `N` tasks failed in a row; 0 means no limit", DefaultText: "as configured"},
			&cli.StringFlag{Name: "wait", Usage: "for a limit of the agent's provider: `auto`, never, or at most so long", DefaultText: "as configured"},
			&cli.StringFlag{Name: "agent", Usage: "`NAME` of an agent, or the command that starts one"},
			&cli.StringFlag{Name: "model", Usage: "`M`: a model's name, or a tier: opus, sonnet, haiku"},
			&cli.StringFlag{Name: "model-strategy", Usage: "`S`: fixed, cost-optimized, escalate or plan-then-execute", DefaultText: "as configured; fixed with --model"},
			&cli.IntFlag{Name: "max-retries", Usage: "retry at most `N` times after work was not accepted, whatever a task says", DefaultText: "the task's own, else as configured"},
			&cli.BoolFlag{DisableDefaultText: true, Name: "no-verify", Usage: "take the agent's word: no gates, no evidence, no second look"},
			&cli.BoolFlag{DisableDefaultText: true, Name: "keep-going", Aliases: []string{"k"}, Usage: "also run what lies below a failed group"},
			&cli.BoolFlag{DisableDefaultText: true, Name: "fail-fast", Usage: "end at the first failed task"},
			&cli.IntFlag{Name: "jobs", Usage: "run `N` agents at once, in the same folder: unsafe unless their tasks touch different files", Value: 1},
			&cli.BoolFlag{DisableDefaultText: true, Name: "continue", Usage: "take up the last unfinished run of the same target, or the run that TARGET names, with its flags and counters"},
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
		exits: `1 tasks failed, 2 blocked, 3 no task in scope, 4 a limit or stopped, 5 no usable agent,
130 and 143 interrupted`,
		run: a.runRun,
	}
}

// runOutcome carries an outcome to the exit status.
type runOutcome struct{ loop.Outcome }

func (o runOutcome) Error() string { return string(o.Kind) }

func (o runOutcome) status() int {
	switch o.Kind {
	case loop.OutcomeComplete:
		if o.Counts.Failed > 0 {
			return 1
		}
		return 0
	case loop.OutcomeFailure:
		return 1
	case loop.OutcomeBlocked:
		return 2
	case loop.OutcomeNoPlan:
		return 3
	case loop.OutcomeLimit, loop.OutcomeStopped:
		return 4
	case loop.OutcomeUnavailable:
		return 5
	default:
		return exitBug
	}
}

func (a *app) runRun(c *cli.Context) error {
	if c.Bool("dry-run") && c.Bool("json") {
		return usagef("--dry-run prints text: it does not go with --json")
	}
	after, err := a.afterwards(c)
	if err != nil {
		return err
	}
	a.after = after
	err = a.runTold(c)
	if err != nil && !after.told && !c.Bool("dry-run") {
		if terr := after.unbegun(a, err); terr != nil {
			a.note(c, "warning: %v", terr)
		}
	}
	return err
}

func (a *app) runTold(c *cli.Context) error {
	a.log = a.logger(c)
	s, err := a.openFor(c, db.Options{Conns: 2 + min(max(c.Int("jobs"), 1), 16)})
	if err != nil {
		return err
	}
	defer s.Close()
	if err := a.takeIn(c, s); err != nil {
		return err
	}
	continues, err := a.takeUp(c, s)
	if err != nil {
		return err
	}
	if !c.Bool("dry-run") {
		if err := a.refusePaused(c, s); err != nil {
			return err
		}
	}
	opts, err := a.runOptions(c, s, continues)
	if c.Bool("json") && errors.Is(err, errUnavailable) {
		return errors.Join(err, a.printOutcome(loop.Outcome{Kind: loop.OutcomeUnavailable, Reason: err.Error()}))
	}
	if c.Bool("json") && errors.Is(err, dag.ErrNotFound) {
		return errors.Join(err, a.printOutcome(loop.Outcome{Kind: loop.OutcomeNoPlan, Reason: err.Error()}))
	}
	if err != nil {
		return err
	}
	if c.Bool("dry-run") {
		return a.dryRun(c, s, opts)
	}
	a.others = func() ([]show.Sink, error) { return a.observers(c, s) }
	return a.execute(c, opts)
}

// runOptions turns flags and configuration into what a run works with.
func (a *app) runOptions(c *cli.Context, s *session, continues *dag.Run) (loop.Options, error) {
	opts := loop.Options{
		Store: s.store, KeepGoing: c.Bool("keep-going"), FailFast: c.Bool("fail-fast"), Jobs: c.Int("jobs"),
		Limit: s.config.Run.Limit, MaxRetries: s.config.Run.MaxRetries, MaxAttempts: s.config.Run.MaxAttempts, RetryFailed: s.config.Run.RetryFailed,
		Breaker: s.config.Run.Breaker, Backoff: s.config.Run.Backoff.Std(), Skip: c.Bool("no-verify"),
		Gates: s.config.Verify.Commands, Dir: s.project.Root, Folder: filepath.Join(s.project.State(), "runs"),
		Life: life, Sweep: proc.Sweep, Recovery: recoveryRules(s), Now: a.now, Jitter: jitter,
		Check: a.checkDatabase(c, s), Context: a.promptContext(s), Recall: recallOptions(s.config),
		Known: knowledge.Open(s.project.Root), Tokens: orNone(s.config.Knowledge.Tokens),
		Resume: s.config.Recovery.ResumeSession,
	}
	var err error
	if opts.Settings, err = settings(c); err != nil {
		return opts, err
	}
	if continues != nil {
		opts.Scope, opts.Continues = continues.Scope, continues
	} else if opts.Scope, err = a.scope(c, s); err != nil {
		return opts, err
	}
	if err := overrideLimits(c, &opts); err != nil {
		return opts, err
	}
	if err := a.spending(c, s.config, &opts); err != nil {
		return opts, err
	}
	if opts.Strategy, opts.Model, err = chooseStrategy(c, s.config); err != nil {
		return opts, err
	}
	id, err := proc.Self()
	if err != nil {
		return opts, fmt.Errorf("look at this process: %w", err)
	}
	opts.Process = dag.Process{PID: int64(id.Pid), Start: int64(id.Start), BootID: id.BootID, Namespace: id.PIDNS}
	o, err := a.opener(c, s)
	if errors.Is(err, errUnavailable) && (c.Bool("dry-run") || !a.needed(c, s, opts.Scope)) {
		o, err = a.openerFor(c, s, agent{preset: agents.Preset{Name: "none"}})
	}
	if err != nil {
		return opts, err
	}
	if c.IsSet("sandbox") && !slices.Contains(project.SandboxModes(), c.String("sandbox")) {
		return opts, usagef("--sandbox is %s, not %q", strings.Join(project.SandboxModes(), ", "), c.String("sandbox"))
	}
	if o.sandbox, err = a.confiner(cmp.Or(c.String("sandbox"), s.config.Sandbox.Mode), s, opts.Jobs); err != nil {
		return opts, err
	}
	a.sandbox = o.sandbox
	opts.Open = o.Open
	opts.Fallback = a.fallback(c, s.config, o.chosen)
	opts.Judge = verify.Gates{
		Dir: s.project.Root, Env: agents.WithoutCredentials(a.environ()), Timeout: s.config.Verify.Timeout.Std(),
	}
	opts.Verdicts, opts.OwnJudge, opts.JudgeAgent = s.config.Verify.Enabled, s.config.Verify.Agent != "", s.config.Verify.Agent
	opts.RepairRounds, opts.Reruns, opts.Protect = s.config.Verify.Repairs, s.config.Verify.Reruns, s.config.Verify.Protect
	for _, glob := range opts.Protect {
		if err := verify.Valid(glob); err != nil {
			return opts, fmt.Errorf("%w: verify.protect: %w", project.ErrConfig, err)
		}
	}
	opts.Own = a.ownFiles(c, s.project.Root)
	opts.Objects = objects(s)
	opts.Setup = setup(opts, o.chosen, o.sandbox)
	opts.Setup.Credential = o.credential(o.chosen)
	return opts, nil
}

// maxJobs is far more agents than any machine runs well.
const maxJobs = 256

func overrideLimits(c *cli.Context, opts *loop.Options) error {
	if c.IsSet("limit") {
		opts.Limit = c.Int("limit")
	}
	if c.Bool("once") {
		opts.Limit = 1
		if opts.Continues != nil {
			opts.Limit += opts.Continues.Iterations
		}
	}
	if c.IsSet("max-retries") {
		n := c.Int("max-retries")
		opts.Retries = &n
	}
	switch {
	case opts.Jobs > maxJobs:
		return usagef("--jobs is at most %d", maxJobs)
	case opts.Limit < 0, opts.Retries != nil && *opts.Retries < 0:
		return usagef("--limit and --max-retries cannot be negative")
	case c.IsSet("jobs") && opts.Jobs < 1:
		return usagef("--jobs is at least 1")
	}
	return nil
}

// chooseStrategy lets --model alone mean that very model.
func chooseStrategy(c *cli.Context, config project.Loaded) (strategy.Kind, string, error) {
	model := c.String("model")
	switch {
	case c.IsSet("model-strategy"):
		kind, err := strategy.ParseKind(c.String("model-strategy"))
		if err != nil {
			return "", "", usagef("--model-strategy: %v", err)
		}
		if kind != strategy.Fixed && model != "" {
			return "", "", usagef("--model names the one model to use: it goes with --model-strategy fixed only")
		}
		if kind == strategy.Fixed && model == "" {
			return "", "", hint(usagef("--model-strategy fixed needs a model"), "name it with --model")
		}
		return kind, model, nil
	case model != "":
		return strategy.Fixed, model, nil
	default:
		kind, err := strategy.ParseKind(config.Run.ModelStrategy)
		return kind, "", err
	}
}

func (a *app) opener(c *cli.Context, s *session) (*opener, error) {
	chosen, err := a.chooseAgent(s.config, c.String("agent"))
	if err != nil {
		return nil, err
	}
	return a.openerFor(c, s, chosen)
}

func (a *app) openerFor(c *cli.Context, s *session, chosen agent) (*opener, error) {
	servers, err := a.mcpServers(s.config)
	if err != nil {
		return nil, err
	}
	o := &opener{
		servers: servers,
		app:     a, root: s.project.Root, config: s.config, chosen: chosen, version: buildVersion().Version, launch: a.launcher, asked: c.String("model") != "",
		idle: s.config.Run.IdleTimeout, turn: s.config.Run.TurnTimeout, models: map[string]string{},
	}
	for flag, into := range map[string]*project.Duration{"idle-timeout": &o.idle, "turn-timeout": &o.turn} {
		if text := c.String(flag); text != "" {
			if err := into.UnmarshalText([]byte(text)); err != nil {
				return nil, usagef("--%s: %v", flag, err)
			}
		}
	}
	return o, nil
}

// needed says whether any task that is still to be done would be given to the
// agent of the run: only then is it a fault that there is none.
func (a *app) needed(c *cli.Context, s *session, scope dag.Scope) bool {
	needed := false
	err := s.store.View(c.Context, func(g *dag.Graph) error {
		var tasks []dag.Task
		var err error
		if scope.Task != "" {
			root, rerr := g.Task(scope.Task)
			if rerr != nil {
				return rerr
			}
			tasks, err = below(g, root)
		} else {
			tasks, err = g.List(dag.Filter{Feature: scope.Feature})
		}
		for _, t := range tasks {
			needed = needed || (t.Agent == "" && t.Children == 0 && t.Status != dag.Done && t.Status != dag.Failed)
		}
		return err
	})
	return needed || err != nil
}

// scope finds what TARGET, --feature or --task mean.
func (a *app) scope(c *cli.Context, s *session) (dag.Scope, error) {
	given := 0
	for _, set := range []bool{c.NArg() > 0, c.IsSet("feature"), c.IsSet("task")} {
		if set {
			given++
		}
	}
	if given > 1 || c.NArg() > 1 {
		return dag.Scope{}, usagef("one target: TARGET, --feature or --task")
	}
	if c.NArg() == 1 && c.Args().First() == "" {
		return dag.Scope{}, usagef("TARGET is empty")
	}
	var scope dag.Scope
	err := s.store.View(c.Context, func(g *dag.Graph) error {
		if typed := c.String("task"); typed != "" {
			t, err := g.Resolve(typed)
			scope.Task = t.ID
			return lookUpHint(err)
		}
		typed := c.String("feature")
		if typed == "" {
			typed = c.Args().First()
		}
		if typed == "" {
			return nil
		}
		f, err := g.Feature(typed)
		if err == nil {
			scope.Feature = f.Name
			return nil
		}
		if c.IsSet("feature") || !errors.Is(err, dag.ErrNotFound) {
			return hint(err, "see the names with: ralph feature list")
		}
		t, err := g.Resolve(typed)
		if errors.Is(err, dag.ErrNotFound) {
			return hint(fmt.Errorf("%q: %w: neither a feature nor a task", typed, dag.ErrNotFound), "see them with: ralph status")
		}
		scope.Task = t.ID
		return err
	})
	return scope, err
}

// setup is what the header tells.
func setup(opts loop.Options, chosen agent, sandbox *confiner) loop.Setup {
	s := loop.Setup{
		Scope: "everything", Agent: chosen.preset.Name, Model: opts.Model, Jobs: opts.Jobs, MaxIters: opts.Limit,
		Sandbox: sandbox.String(), Folder: opts.Folder,
	}
	switch {
	case opts.Scope.Feature != "":
		s.Scope = "feature " + opts.Scope.Feature
	case opts.Scope.Task != "":
		s.Scope = "task " + opts.Scope.Task
	}
	if opts.Continues != nil {
		s.Scope += ", continuing " + opts.Continues.ID
	}
	if s.Model == "" {
		s.Model = string(opts.Strategy)
	}
	s.Limits = describeLimits(opts)
	switch {
	case opts.Skip:
		s.Verify = "off: the agent's word counts"
	default:
		parts := append([]string(nil), opts.Gates...)
		if len(parts) == 0 {
			parts = append(parts, "gates of the tasks")
		}
		if opts.Verdicts && (opts.OwnJudge || !chosen.preset.ExitStatus) {
			parts = append(parts, "an agent with fresh eyes")
		}
		s.Verify = strings.Join(parts, "; ")
	}
	return s
}

func jitter(d time.Duration) time.Duration {
	return d - d/5 + time.Duration(rand.Int64N(int64(2*d/5)+1))
}

// checkDatabase notices when an agent deleted or replaced the database, which a
// cleaning command may do, and saves what is still known.
func (a *app) checkDatabase(c *cli.Context, s *session) func() error {
	return func() error {
		if s.db.Intact() {
			return nil
		}
		saved := filepath.Join(s.project.Root, fmt.Sprintf("ralph-rescued-%d.db", a.now().Unix()))
		if err := s.db.Rescue(context.WithoutCancel(c.Context), saved); err != nil {
			return fmt.Errorf("%s was deleted or replaced while the run worked, and could not be saved: %w", s.project.DB(), err)
		}
		return fmt.Errorf("%s was deleted or replaced while the run worked; what was known is saved in %s: move it back", s.project.DB(), saved)
	}
}
