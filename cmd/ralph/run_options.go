package main

import (
	"cmp"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"ralph/features"
	"ralph/internal/agents"
	"ralph/internal/budget"
	"ralph/internal/detect"
	"ralph/internal/event"
	"ralph/internal/project"
	"ralph/internal/resource"
	"ralph/internal/sandbox"
	"ralph/loop"
	"ralph/strategy"
)

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
func inboxRules(a *app, config project.Loaded) loop.Inbox {
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
	o, err := openerOf(a, s)
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
	n := config.Anomaly
	opts.Agents.Detect = detect.Limits{
		Iterations: d.Iterations, Tokens: d.Tokens, ToolFailures: d.ToolFailures, Repeats: d.Repeats, Unchanged: d.Unchanged, NoProgress: d.NoProgress.Std(),
		Anomaly: detect.Anomaly{
			WritesPerMinute: n.WritesPerMinute, DeletionsPerMinute: n.DeletionsPerMinute, Destructive: n.Destructive, Outside: true, Stop: n.Stop, Ask: n.Ask,
		},
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
			agent, _ = f.Preset(r.Agent) // findVerifiers refused an unknown one
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
		agent, _ = f.Preset(r.Agent) // findVerifiers refused an unknown one
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
