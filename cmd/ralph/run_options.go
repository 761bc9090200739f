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

	"ralph/budget"
	"ralph/dag"
	"ralph/event"
	"ralph/features"
	"ralph/internal/agents"
	"ralph/internal/anomaly"
	"ralph/internal/drift"
	"ralph/internal/glob"
	"ralph/internal/hooks"
	"ralph/internal/proc"
	"ralph/internal/project"
	"ralph/internal/resource"
	"ralph/internal/sandbox"
	"ralph/loop"
	"ralph/loop/attempt"
	"ralph/loop/policy"
	"ralph/strategy"
	"ralph/verify"
	"ralph/verify/coverage"
)

// loopOptions turns flags and configuration into what a run works with.
func loopOptions(ctx context.Context, a *app, s *session, given runOptions, continues *dag.Run) (loop.Options, error) {
	run, check := s.config.Run, s.config.Verify
	sections, err := ownSections(a, s.project)
	if err != nil {
		return loop.Options{}, err
	}
	opts := loop.Options{
		Graph:   loop.Graph{KeepGoing: given.keepsGoing(s.config), Finished: given.finished, Follow: given.Follow},
		Workers: loop.Workers{Jobs: or(given.Jobs, s.config.Parallel.Jobs), FailFast: given.FailFast, Breaker: run.Breaker, Locks: s.config.Locks},
		Limits:  loop.Limits{Iterations: run.Limit},
		Rules: loop.Rules{MaxRetries: run.MaxRetries, Rules: policy.Rules{
			MaxAttempts: run.MaxAttempts, RetryFailed: run.RetryFailed, RepairRounds: check.Repairs, AskUncovered: check.Coverage == string(coverage.Ask), Backoff: run.Backoff.Std(),
		}},
		Agents: loop.Agents{ResumeSession: s.config.Recovery.ResumeSession, Verifier: check.Agent},
		Verify: loop.Verify{GateRunner: verify.Gates{Timeout: check.Timeout.Std()}, Verification: attempt.Verification{
			Skip: given.NoVerify, Gates: check.Commands, AgentVerdict: check.Enabled, Reruns: check.Reruns, Protect: check.Protect,
			AllowFailing: given.AllowFailing, Coverage: check.Coverage, CoverageFile: check.CoverageFile, Witness: check.Witness,
		}},
		Prompt:   loopPrompt(a, s, sections),
		Place:    loop.Place{Dir: s.project.Root, Runs: filepath.Join(s.project.State(), "runs")},
		Recovery: loop.Recovery{Rules: recoveryRules(s), Life: life, Sweep: sandbox.Sweep(s.project.Root), Parallel: findParallel(a, s), Calls: riskyCalls(a, s)},
		Host:     loop.Host{Now: a.now, Jitter: jitter, Redact: a.redact, Gone: s.db.Gone, Check: s.db.Guard(ctx, s.project.Root, a.now)},
	}
	if given.Follow {
		opts.Host.Plans = followPlans(a, s)
	}
	opts.Place.OwnFiles = ownFiles(a, s, given.runOutput)
	opts.Graph.Store = s.store.KeepingGoing(opts.Graph.KeepGoing)
	if opts.Graph.Settings, err = storedSettings(given.settings, opts.Place.OwnFiles(nil)); err != nil {
		return opts, err
	}
	if continues != nil {
		opts.Graph.Scope = continues.Scope
		if continues.Outcome != event.OutcomeLimit { // else the next run would end at once
			opts.Graph.Continues = continues
		}
	} else if opts.Graph.Scope, err = findScope(ctx, a, s, given.runTarget); err != nil {
		return opts, err
	}
	if err := overrideLimits(given, &opts); err != nil {
		return opts, err
	}
	opts.Inbox = a.inboxRules(s.config)
	if err := setLimits(given, s.config, a.now(), &opts); err != nil {
		return opts, err
	}
	if err := setLanding(ctx, a, s, given, &opts); err != nil {
		return opts, err
	}
	if opts.Models.Strategy, opts.Models.Model, err = chooseStrategy(given, s.config); err != nil {
		return opts, err
	}
	opts.Models.Effort = or(given.Effort, dag.Effort(s.config.Agent.Effort))
	id, err := proc.Self()
	if err != nil {
		return opts, fmt.Errorf("look at this process: %w", err)
	}
	opts.Graph.Process = processOf(id)
	if given.workers != nil {
		opts.Graph.Process.Remote, opts.Workers.Remote = given.workers.name, given.workers
	}
	if given.badAgent != nil {
		return opts, given.badAgent
	}
	o, err := newOpener(a, given.openerOptions, s)
	if err != nil {
		return opts, err
	}
	o.Chosen, err = o.Choose(given.Agent)
	if errors.Is(err, agents.ErrUnavailable) {
		shownOnly := given.DryRun && !errors.As(err, new(*agents.UnknownError))
		if given.workers != nil && o.Chosen.Name != "" && !errors.As(err, new(*agents.UnknownError)) { // it is started elsewhere
			o.Chosen, err = agents.Agent{Preset: agents.Preset{Name: o.Chosen.Name}}, nil
		} else if shownOnly || given.finished || !given.Follow && !needsAgent(ctx, s, opts.Graph.Scope) {
			o.Chosen, err = agents.Agent{Preset: agents.Preset{Name: absent(o.Chosen)}}, nil
		}
	}
	if err != nil {
		return opts, err
	}
	mode := cmp.Or(given.Sandbox, s.config.Sandbox.Mode)
	if o.Sandbox, err = a.confiner(sandbox.Options{Mode: mode, Project: s.project}, s.config.Sandbox); err != nil {
		return opts, err
	}
	a.sandbox, o.History = o.Sandbox, historyOf(a, s.project)
	if len(o.Chosen.Argv) > 0 { // or none is needed
		for _, p := range presets(ctx, s, o, opts.Graph.Scope) {
			if err := refuseUnpriced(opts, p); err != nil {
				return opts, err
			}
		}
		if err := o.Restrictable(o.Chosen.Preset, false); err != nil {
			return opts, err
		}
	}
	notePlanted(a, o.Sandbox, s.project)
	noteConfigChanges(a, o.History.Changes())
	if !given.DryRun {
		if err := o.History.Begin(); err != nil {
			a.note("warning: changes of %s since this run cannot be shown to the next: %v", project.ConfigName, err)
		}
	}
	if opts.Host.Hooks, err = newHooks(a, s); err != nil {
		return opts, err
	}
	loose := o.Sandbox.Work.Level != sandbox.Namespaces && opts.Landing.Here // agents can write what is in .ralph
	opts.Inbox.Trust = trustOf(a, s.project)
	if given.DryRun {
		opts.Agents.Permissions, err = newBook(a, s.project, s.config)
	} else {
		opts.Agents.Permissions, err = rules(a, s, loose)
	}
	if err != nil {
		return opts, err
	}
	o.Asks = opts.Agents.Permissions.Rules().Restrict() || opts.Host.Hooks.Has(hooks.ToolBefore)
	if warning := o.Unasked(o.Chosen); warning != "" {
		a.note("warning: %s", warning)
	}
	if err := noCredentials(o.Sandbox); err != nil {
		opts.Inbox.NoCredentials = err.Error()
	}
	opts.Agents.Toolless = o.Toolless
	if !given.DryRun {
		sweepCredentials(ctx, a, s)
		sweepWitnesses(ctx, a, s)
		offerTools(a, s, o, &opts)
	}
	opts.Workers.Resources = limiter(s.config.Sandbox)
	// What is started early belongs to no slot, and to no attempt that could be limited.
	o.Prestart = run.Prestart && opts.Landing.Here && opts.Workers.Resources == nil
	opts.Agents.Open, opts.Agents.Cool = openAttempt(a, o, a.credentialsOf(s)), o.Close
	opts.Agents.Warm = func(op attempt.Opening) { o.Warm(request(op)) }
	var unusable []error
	opts.Agents.Fallback, unusable = o.Fallbacks(o.Chosen.Name)
	for _, err := range unusable {
		a.note("warning: agent.fallback: %v", err)
	}
	if given.Agent == "" {
		if opts.Agents.Rotate, unusable = o.Rotation(); len(unusable) > 0 {
			a.note("warning: agent.rotate: %v", errors.Join(unusable...))
		}
	}
	opts.Agents.Gates, opts.Agents.OtherProjects = agentGates(o.Finder, s.config), a.accounts(s.config, o.Chosen.Name)
	opts.Verify.GateRunner.Env, opts.Verify.Withheld = agents.GateEnviron(s.config.Verify.EnvAllow, a.environ())
	if err := openSlots(ctx, a, s, o, &opts); err != nil {
		return opts, err
	}
	for _, pattern := range opts.Verify.Protect {
		if err := glob.Valid(pattern); err != nil {
			return opts, fmt.Errorf("%w: verify.protect: %w", project.ErrConfig, err)
		}
	}
	opts.Verify.Reviewers = reviewers(a, check, o.Finder, o.Chosen)
	opts.Verify.Acceptor = acceptor(a, s, o.Finder, o.Chosen)
	if given.RequireProof {
		opts.Verify.Unproven = func(g *dag.Graph) ([]string, error) { return s.unproven(a, g, opts.Graph.Scope) }
	}
	opts.Agents.Modelless = o.Modelless
	opts.Host.Setup = setup(opts, o.Chosen.Preset, o.Sandbox)
	opts.Host.Setup.Credential = o.Credential(o.Chosen.Preset)
	return opts, nil
}

// keepsGoing says whether the others of a group run when one of it has failed. Who
// ends at the first failure begins nothing below an earlier one.
func (o runOptions) keepsGoing(config project.Loaded) bool {
	return !o.FailFast && or(o.KeepGoing, config.Run.KeepGoing)
}

// maxJobs is far more agents than any machine runs well.
const maxJobs = 256

func overrideLimits(o runOptions, opts *loop.Options) error {
	opts.Limits.Iterations = or(o.Limit, opts.Limits.Iterations)
	if o.Once {
		if o.Limit != nil {
			return usagef("--once is --limit 1: it does not go with --limit")
		}
		opts.Limits.Iterations = 1
		if opts.Graph.Continues != nil {
			opts.Limits.Iterations += opts.Graph.Continues.Iterations
		}
	}
	opts.Rules.Retries = o.MaxRetries
	switch {
	case opts.Workers.Jobs > maxJobs:
		return usagef("--jobs is at most %d", maxJobs)
	case opts.Limits.Iterations < 0, opts.Rules.Retries != nil && *opts.Rules.Retries < 0:
		return usagef("--limit and --max-retries cannot be negative")
	case opts.Workers.Jobs < 1:
		return usagef("--jobs is at least 1")
	case or(o.KeepGoing, false) && opts.Workers.FailFast:
		return usagef("--keep-going and --fail-fast contradict each other: one continues below what failed, the other stops there")
	}
	return nil
}

// chooseStrategy lets --model alone mean that very model.
func chooseStrategy(o runOptions, config project.Loaded) (strategy.Kind, string, error) {
	model := o.Model
	switch {
	case o.ModelStrategy != nil:
		kind, err := strategy.ParseKind(*o.ModelStrategy)
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

// inboxRules say how long agents wait for answers: unless that is configured, not at all where nobody sits. An agent that
// waits is silent, and must not be taken for one that hangs.
func (a *app) inboxRules(config project.Loaded) loop.Inbox {
	rules := loop.Inbox{Wait: config.Inbox.Wait.Std(), Expire: config.Inbox.Expire.Std()}
	if !config.Given("inbox.wait") && (!a.asks || inCI(a)) {
		rules.Wait = 0
	}
	if idle := config.Run.IdleTimeout.Std(); idle > 0 {
		rules.Wait = min(rules.Wait, idle/2)
	}
	return rules
}

// openerOptions choose an agent and how it is started.
type openerOptions struct {
	Agent, Model, Sandbox    string
	IdleTimeout, TurnTimeout *string // nil is as configured
}

func (o *openerOptions) parse(c commandLine) error {
	for _, flag := range []string{"agent", "model"} {
		if c.IsSet(flag) && c.String(flag) == "" {
			return usagef("--%s is empty", flag)
		}
	}
	if !c.IsSet("sandbox") {
		return nil
	}
	return checkChoice("sandbox", o.Sandbox, project.SandboxModes()...)
}

func newOpener(a *app, given openerOptions, s *session) (*agents.Opener, error) {
	o, err := a.opener(s)
	if err != nil {
		return nil, err
	}
	o.ModelNamed = given.Model != ""
	var ierr, terr error
	o.IdleTimeout, ierr = duration("idle-timeout", given.IdleTimeout, s.config.Run.IdleTimeout)
	o.TurnTimeout, terr = duration("turn-timeout", given.TurnTimeout, s.config.Run.TurnTimeout)
	return o, cmp.Or(ierr, terr)
}

// duration is the value of a flag, or what is configured if it was not typed.
func duration(flag string, given *string, configured project.Duration) (time.Duration, error) {
	if given != nil {
		if err := configured.UnmarshalText([]byte(*given)); err != nil {
			return 0, usagef("--%s: %v", flag, err)
		}
	}
	return configured.Std(), nil
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
		CostUSD: or(o.MaxCost, b.MaxCostUSD), Tokens: or(o.MaxTokens, b.MaxTokens), Failures: or(o.MaxFailures, b.MaxFailures),
	}
	var err error
	if run.Duration, err = duration("max-duration", o.MaxDuration, b.MaxDuration); err != nil {
		return err
	}
	switch {
	case math.IsNaN(run.CostUSD) || math.IsInf(run.CostUSD, 0):
		return usagef("--max-cost is an amount")
	case run.CostUSD < 0, run.Tokens < 0, run.Failures < 0:
		return usagef("--max-cost, --max-tokens and --max-failures cannot be negative")
	}
	if run.Until, err = project.ParseUntil(or(o.Until, b.Until), now); err != nil {
		return usagef("--until: %v", err)
	}
	patience, err := project.ParseWait(or(o.Wait, config.Run.Wait))
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
	n := config.Anomaly
	opts.Agents.Anomaly = attempt.Anomaly{Ask: n.Ask, Stop: n.Stop, Limits: anomaly.Limits{
		WritesPerMinute: n.WritesPerMinute, DeletionsPerMinute: n.DeletionsPerMinute, Destructive: n.Destructive, Outside: true,
	}}
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

// limiter is nil if attempts may use what there is.
func limiter(c project.SandboxConfig) *resource.Limiter {
	return resource.New(resource.Limits{Memory: int64(c.Memory), Processes: c.Processes})
}

// setup describes a run for its header.
func setup(opts loop.Options, chosen agents.Preset, sandbox *sandbox.Confiner) event.Setup {
	s := event.Setup{
		Scope: opts.Graph.Scope.String(), Agent: chosen.Name, Model: opts.Models.Model, Jobs: opts.Workers.Jobs, MaxIters: opts.Limits.Iterations,
		Sandbox: sandbox.String(), Folder: opts.Place.Runs, Target: opts.Landing.Target,
	}
	if opts.Landing.Slots != nil && !opts.Landing.Here {
		s.Sandbox = sandbox.InSlots(opts.Landing.Slots.Layered())
	}
	if opts.Workers.Resources != nil {
		s.Sandbox += "; " + opts.Workers.Resources.String()
	}
	if opts.Graph.Continues != nil {
		s.Scope += ", continuing " + opts.Graph.Continues.ID
	}
	switch {
	case opts.Graph.Finished:
		s.Scope, s.Model = s.Scope+", only what is finished", ""
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
		verifier := "the verifier agent"
		if opts.Graph.Finished {
			verifier += ", of what no person accepted"
		}
		parts = append(parts, verifier)
	}
	if opts.Verify.Witness != "" {
		parts = append(parts, "a witness of each task")
	}
	for _, r := range opts.Verify.Reviewers {
		parts = append(parts, "a review of each feature: "+r.Focus)
	}
	if opts.Verify.Unproven != nil {
		parts = append(parts, "proof of each success criterion")
	}
	if opts.Verify.Acceptor != nil {
		parts = append(parts, "the specification of each feature")
	}
	s.Verify = strings.Join(parts, "; ")
	return s
}

// reviewers are those who look at features. One without an agent of its own has the chosen one.
func reviewers(a *app, check project.VerifyConfig, f agents.Finder, chosen agents.Agent) (list []loop.Reviewer) {
	for _, r := range check.Reviewers {
		r = check.Reviewer(r)
		agent := chosen.Preset
		if r.Agent != "" {
			agent, _ = f.Preset(r.Agent) // an unknown one fails its own reviews
		}
		if agent.ExitStatus {
			a.note("warning: nobody reviews features for %q: %s only runs scripts; name another agent in [[verify.reviewer]]", r.Focus, agent.Name)
			continue
		}
		list = append(list, loop.Reviewer(r))
	}
	return list
}

// acceptor is who compares features with their specifications: the agent that verifies.
func acceptor(a *app, s *session, f agents.Finder, chosen agents.Agent) *loop.Acceptor {
	check := s.config.Verify
	if !check.Feature {
		return nil
	}
	r, agent := check.Reviewer(project.ReviewerConfig{}), chosen.Preset
	if r.Agent != "" {
		agent, _ = f.Preset(r.Agent) // an unknown one fails its own tasks
	}
	if agent.ExitStatus {
		a.note("warning: nobody compares features with their specifications: %s only runs scripts; name another agent in [verify] agent", agent.Name)
		return nil
	}
	return &loop.Acceptor{Agent: r.Agent, Model: r.Model, Specified: func(feature string) bool {
		_, err := features.ReadDocument(filepath.Join(s.project.Feature(feature), features.Spec.File()))
		return err == nil || specWriter(a, s, feature) != "" // one that an agent may have removed is missed
	}}
}

func jitter(d time.Duration) time.Duration {
	return d - d/5 + time.Duration(rand.Int64N(int64(2*d/5)+1))
}
