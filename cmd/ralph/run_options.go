package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"ralph/budget"
	"ralph/dag"
	"ralph/event"
	"ralph/internal/agents"
	"ralph/internal/drift"
	"ralph/internal/proc"
	"ralph/internal/project"
	"ralph/internal/sandbox"
	"ralph/loop"
	"ralph/loop/policy"
	"ralph/strategy"
	"ralph/verify"
	"ralph/verify/tamper"
)

// loopOptions turns flags and configuration into what a run works with.
func loopOptions(ctx context.Context, a *app, s *session, given runOptions, continues *dag.Run) (loop.Options, error) {
	run, check := s.config.Run, s.config.Verify
	opts := loop.Options{
		Graph:   loop.Graph{KeepGoing: given.keepsGoing(s.config)},
		Workers: loop.Workers{Jobs: or(given.jobs, 1), FailFast: given.failFast, Breaker: run.Breaker},
		Limits:  loop.Limits{Iterations: run.Limit},
		Rules: loop.Rules{MaxRetries: run.MaxRetries, Rules: policy.Rules{
			MaxAttempts: run.MaxAttempts, RetryFailed: run.RetryFailed, RepairRounds: check.Repairs, Backoff: run.Backoff.Std(),
		}},
		Agents: loop.Agents{ResumeSession: s.config.Recovery.ResumeSession, Verifier: check.Agent},
		Verify: loop.Verify{
			Skip: given.skipVerify, Gates: check.Commands, AgentVerdict: check.Enabled, Reruns: check.Reruns, Protect: check.Protect,
			GateRunner: verify.Gates{Timeout: check.Timeout.Std()},
		},
		Prompt:   promptOptions(s),
		Place:    loop.Place{Dir: s.project.Root, Runs: filepath.Join(s.project.State(), "runs"), Objects: s.project.Objects()},
		Recovery: loop.Recovery{Rules: recoveryRules(s), Life: life, Sweep: sandbox.Sweep(s.project.Root)},
		Host:     loop.Host{Now: a.now, Jitter: jitter, Redact: a.redact, Gone: s.db.Gone, Check: s.db.Guard(ctx, s.project.Root, a.now)},
	}
	opts.Place.OwnFiles = ownFiles(a, s, given.output)
	opts.Graph.Store = s.store.KeepingGoing(opts.Graph.KeepGoing)
	var err error
	if opts.Graph.Settings, err = storedSettings(given.settings, opts.Place.OwnFiles(nil)); err != nil {
		return opts, err
	}
	if continues != nil {
		opts.Graph.Scope, opts.Graph.Continues = continues.Scope, continues
	} else if opts.Graph.Scope, err = findScope(ctx, a, s, given.target); err != nil {
		return opts, err
	}
	if err := overrideLimits(given, &opts); err != nil {
		return opts, err
	}
	if err := setLimits(given, s.config, a.now(), &opts); err != nil {
		return opts, err
	}
	if opts.Models.Strategy, opts.Models.Model, err = chooseStrategy(given, s.config); err != nil {
		return opts, err
	}
	id, err := proc.Self()
	if err != nil {
		return opts, fmt.Errorf("look at this process: %w", err)
	}
	opts.Graph.Process = dag.Process{PID: int64(id.Pid), Start: int64(id.Start), BootID: id.BootID, Namespace: id.PIDNS}
	if given.badAgent != nil {
		return opts, given.badAgent
	}
	o, err := newOpener(a, given.agent, s)
	if err != nil {
		return opts, err
	}
	o.Chosen, err = o.Choose(given.agent.agent)
	if errors.Is(err, agents.ErrUnavailable) && (given.dryRun && !errors.As(err, new(*agents.UnknownError)) || !needsAgent(ctx, s, opts.Graph.Scope)) {
		o.Chosen, err = agents.Agent{Preset: agents.Preset{Name: absent(o.Chosen)}}, nil
	}
	if err != nil {
		return opts, err
	}
	if o.Sandbox, err = a.confiner(sandbox.Options{Mode: cmp.Or(given.agent.sandbox, s.config.Sandbox.Mode), Project: s.project}, s.config.Sandbox); err != nil {
		return opts, err
	}
	a.sandbox, o.History = o.Sandbox, s.project.ConfigHistory()
	notePlanted(a, o.Sandbox, s.project)
	noteConfigChanges(a, o.History)
	if !given.dryRun {
		if err := o.History.Begin(); err != nil {
			a.note("warning: changes of %s since this run cannot be shown to the next: %v", project.ConfigName, err)
		}
	}
	opts.Agents.Open = openAttempt(o)
	var unusable []error
	opts.Agents.Fallback, unusable = o.Fallbacks(o.Chosen.Name)
	for _, err := range unusable {
		a.note("warning: agent.fallback: %v", err)
	}
	opts.Verify.GateRunner.Env, opts.Verify.Withheld = agents.GateEnviron(s.config.Verify.EnvAllow, a.environ())
	for _, glob := range opts.Verify.Protect {
		if err := tamper.ValidGlob(glob); err != nil {
			return opts, fmt.Errorf("%w: verify.protect: %w", project.ErrConfig, err)
		}
	}
	opts.Agents.Modelless = o.Modelless
	opts.Verify.Opened = o.OpenedFolders()
	opts.Host.Setup = setup(opts, o.Chosen.Preset, o.Sandbox)
	opts.Host.Setup.Credential = o.Credential(o.Chosen.Preset)
	return opts, nil
}

// keepsGoing says whether the others of a group run when one of it has failed. Who
// ends at the first failure begins nothing below an earlier one.
func (o runOptions) keepsGoing(config project.Loaded) bool {
	return !o.failFast && or(o.keepGoing, config.Run.KeepGoing)
}

// maxJobs is far more agents than any machine runs well.
const maxJobs = 256

func overrideLimits(o runOptions, opts *loop.Options) error {
	opts.Limits.Iterations = or(o.limit, opts.Limits.Iterations)
	if o.once {
		if o.limit != nil {
			return usagef("--once is --limit 1: it does not go with --limit")
		}
		opts.Limits.Iterations = 1
		if opts.Graph.Continues != nil {
			opts.Limits.Iterations += opts.Graph.Continues.Iterations
		}
	}
	opts.Rules.Retries = o.maxRetries
	switch {
	case opts.Workers.Jobs > maxJobs:
		return usagef("--jobs is at most %d", maxJobs)
	case opts.Limits.Iterations < 0, opts.Rules.Retries != nil && *opts.Rules.Retries < 0:
		return usagef("--limit and --max-retries cannot be negative")
	case opts.Workers.Jobs < 1:
		return usagef("--jobs is at least 1")
	case or(o.keepGoing, false) && opts.Workers.FailFast:
		return usagef("--keep-going and --fail-fast contradict each other: one goes on below what failed, the other ends there")
	}
	return nil
}

// chooseStrategy lets --model alone mean that very model.
func chooseStrategy(o runOptions, config project.Loaded) (strategy.Kind, string, error) {
	model := o.agent.model
	switch {
	case o.strategy != nil:
		kind, err := strategy.ParseKind(*o.strategy)
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

// openerOptions choose an agent and how it is started.
type openerOptions struct {
	agent, model, sandbox    string
	idleTimeout, turnTimeout *project.Duration // nil is as configured
}

// parseOpener reads the flags that run and planning share.
func parseOpener(c *cli.Context) (openerOptions, error) {
	o := openerOptions{agent: c.String("agent"), model: c.String("model"), sandbox: c.String("sandbox")}
	if modes := project.SandboxModes(); c.IsSet("sandbox") && !slices.Contains(modes, o.sandbox) {
		return o, usagef("--sandbox is %s, not %q", strings.Join(modes, ", "), o.sandbox)
	}
	for _, flag := range []string{"agent", "model"} {
		if c.IsSet(flag) && c.String(flag) == "" {
			return o, usagef("--%s is empty", flag)
		}
	}
	for flag, into := range map[string]**project.Duration{"idle-timeout": &o.idleTimeout, "turn-timeout": &o.turnTimeout} {
		if text := c.String(flag); text != "" {
			*into = new(project.Duration)
			if err := (*into).UnmarshalText([]byte(text)); err != nil {
				return o, usagef("--%s: %v", flag, err)
			}
		}
	}
	return o, nil
}

func newOpener(a *app, given openerOptions, s *session) (*agents.Opener, error) {
	o, err := a.opener(s)
	if err != nil {
		return nil, err
	}
	o.ModelNamed = given.model != ""
	o.IdleTimeout = cmp.Or(given.idleTimeout, &s.config.Run.IdleTimeout).Std()
	o.TurnTimeout = cmp.Or(given.turnTimeout, &s.config.Run.TurnTimeout).Std()
	return o, nil
}

// absent is how an agent is shown that a run does without.
func absent(ag agents.Agent) string {
	if ag.Name == "" {
		return "none"
	}
	return ag.Name + ", which cannot be started here"
}

// setLimits turns flags and configuration into what may be spent, for how long is
// waited, and what counts as getting nowhere.
func setLimits(o runOptions, config project.Loaded, now time.Time, opts *loop.Options) error {
	b, d := config.Budget, config.Drift
	run := budget.Limits{
		CostUSD: or(o.maxCost, b.MaxCostUSD), Tokens: or(o.maxTokens, b.MaxTokens), Failures: or(o.maxFailures, b.MaxFailures), Duration: b.MaxDuration.Std(),
	}
	if o.maxDuration != nil {
		var most project.Duration
		if err := most.UnmarshalText([]byte(*o.maxDuration)); err != nil {
			return usagef("--max-duration: %v", err)
		}
		run.Duration = most.Std()
	}
	switch {
	case math.IsNaN(run.CostUSD) || math.IsInf(run.CostUSD, 0):
		return usagef("--max-cost is an amount")
	case run.CostUSD < 0, run.Tokens < 0, run.Failures < 0:
		return usagef("--max-cost, --max-tokens and --max-failures cannot be negative")
	}
	var err error
	if run.Until, err = project.ParseUntil(or(o.until, b.Until), now); err != nil {
		return usagef("--until: %v", err)
	}
	patience, err := project.ParseWait(or(o.wait, config.Run.Wait))
	if err != nil {
		return usagef("--wait: %v", err)
	}
	opts.Limits.Wait = loop.WaitRule(patience)
	opts.Limits.Budgets = loop.Budgets{
		Run: run,
		Task: budget.Limits{
			CostUSD: b.Task.MaxCostUSD, Tokens: b.Task.MaxTokens, Iterations: b.Task.MaxIterations, Duration: b.Task.MaxDuration.Std(),
		},
		Feature: shared(b.Feature),
		Day:     shared(b.Day),
	}
	opts.Agents.Drift = drift.Thresholds{
		Iterations: d.Iterations, Tokens: d.Tokens, ToolFailures: d.ToolFailures, Repeats: d.Repeats,
		Unchanged: d.Unchanged, NoProgress: d.NoProgress.Std(),
	}
	opts.Agents.Prices = prices(config)
	return nil
}

func prices(config project.Loaded) budget.Prices {
	table := budget.Prices{}
	for pattern, p := range config.Prices {
		table[pattern] = budget.Price(p)
	}
	return table
}

// shared is a budget of a feature, or of a day.
func shared(b project.SharedBudget) budget.Limits {
	return budget.Limits{
		CostUSD: b.MaxCostUSD, Tokens: b.MaxTokens, Iterations: b.MaxIterations, Duration: b.MaxDuration.Std(), Failures: b.MaxFailures,
	}
}

// setup describes a run for its header.
func setup(opts loop.Options, chosen agents.Preset, sandbox *sandbox.Confiner) event.Setup {
	s := event.Setup{
		Scope: opts.Graph.Scope.String(), Agent: chosen.Name, Model: opts.Models.Model, Jobs: opts.Workers.Jobs, MaxIters: opts.Limits.Iterations,
		Sandbox: sandbox.String(), Folder: opts.Place.Runs,
	}
	if opts.Graph.Continues != nil {
		s.Scope += ", continuing " + opts.Graph.Continues.ID
	}
	switch {
	case chosen.Channel == agents.NoModel:
		s.Model = "none needed"
	case s.Model == "":
		s.Model = string(opts.Models.Strategy)
	}
	b := opts.Limits.Budgets
	s.Limits = budget.Describe(opts.Limits.Iterations, b.Run, b.Task, b.Feature, b.Day)
	if opts.Verify.Skip {
		s.Verify = "off: the agent's word counts"
		return s
	}
	parts := slices.Clone(opts.Verify.Gates)
	if len(parts) == 0 {
		parts = append(parts, "gates of the tasks")
	}
	if opts.Verify.AgentVerdict && (opts.Agents.Verifier != "" || !chosen.ExitStatus) {
		parts = append(parts, "the verifier agent")
	}
	s.Verify = strings.Join(parts, "; ")
	return s
}

func jitter(d time.Duration) time.Duration {
	return d - d/5 + time.Duration(rand.Int64N(int64(2*d/5)+1))
}
