package launch

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"ralph/dag"
	"ralph/internal/agents"
	"ralph/internal/budget"
	"ralph/internal/cli"
	"ralph/internal/cli/wiring"
	"ralph/internal/detect"
	"ralph/internal/event"
	"ralph/internal/proc"
	"ralph/internal/project"
	"ralph/internal/sandbox"
	"ralph/loop"
	"ralph/strategy"
)

// KeepsGoing says whether the others of a group run when one of it has failed. Who
// ends at the first failure begins nothing below an earlier one.
func (o Options) KeepsGoing(config project.Loaded) bool {
	return !o.FailFast && cli.Or(o.KeepGoing, config.Run.KeepGoing)
}

// maxJobs is far more agents than any machine runs well.
const maxJobs = 256

// OverrideLimits puts limits that were typed in the place of those that are configured.
func OverrideLimits(o Options, opts *loop.Options) error {
	opts.Limits.Iterations = cli.Or(o.Limit, opts.Limits.Iterations)
	if o.Once {
		if o.Limit != nil {
			return cli.Usagef("--once is --limit 1: it does not go with --limit")
		}
		opts.Limits.Iterations = 1
		if opts.Graph.Continues != nil {
			opts.Limits.Iterations += opts.Graph.Continues.Iterations
		}
	}
	opts.Rules.Retries = o.MaxRetries
	switch {
	case opts.Workers.Jobs > maxJobs:
		return cli.Usagef("--jobs is at most %d", maxJobs)
	case opts.Limits.Iterations < 0, opts.Rules.Retries != nil && *opts.Rules.Retries < 0:
		return cli.Usagef("--limit and --max-retries cannot be negative")
	case opts.Workers.Jobs < 1:
		return cli.Usagef("--jobs is at least 1")
	case cli.Or(o.KeepGoing, false) && opts.Workers.FailFast:
		return cli.Usagef("--keep-going and --fail-fast contradict each other: one continues below what failed, the other stops there")
	}
	return nil
}

// ChooseStrategy lets --model alone mean that very model.
func ChooseStrategy(o Options, config project.Loaded) (strategy.Kind, string, error) {
	model := o.Model
	if o.ModelStrategy == nil || *o.ModelStrategy == string(strategy.Fixed) {
		model = cmp.Or(model, config.Model)
	}
	switch {
	case o.ModelStrategy != nil:
		kind, err := strategy.ParseKind(*o.ModelStrategy)
		if err != nil {
			return "", "", cli.Usagef("--model-strategy: %v", err)
		}
		if kind != strategy.Fixed && model != "" {
			return "", "", cli.Usagef("--model names the one model to use: it goes with --model-strategy fixed only")
		}
		if kind == strategy.Fixed && model == "" {
			return "", "", cli.Hint(cli.Usagef("--model-strategy fixed needs a model"), "name it with --model")
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
func inboxRules(a *cli.App, config project.Loaded) loop.Inbox {
	rules := loop.Inbox{Wait: config.Inbox.Wait.Std(), Expire: config.Inbox.Expire.Std()}
	if !config.Given("inbox.wait") && (!a.Asks || cli.InCI(a)) {
		rules.Wait = 0
	}
	if idle := config.Run.IdleTimeout.Std(); idle > 0 {
		rules.Wait = min(rules.Wait, idle/2)
	}
	return rules
}

// SetLimits turns flags and configuration into what may be spent, for how long is
// waited, and what counts as getting nowhere.
func SetLimits(o Options, config project.Loaded, now time.Time, opts *loop.Options) error {
	b, d := config.Budget, config.Drift
	run := budget.Limits{
		CostUSD: cli.Or(o.MaxCost, b.MaxCostUSD), Tokens: cli.Or(o.MaxTokens, b.MaxTokens), Failures: cli.Or(o.MaxFailures, b.MaxFailures),
	}
	var err error
	if run.Duration, err = wiring.Duration("max-duration", o.MaxDuration, b.MaxDuration); err != nil {
		return err
	}
	switch {
	case math.IsNaN(run.CostUSD) || math.IsInf(run.CostUSD, 0):
		return cli.Usagef("--max-cost is an amount")
	case run.CostUSD < 0, run.Tokens < 0, run.Failures < 0:
		return cli.Usagef("--max-cost, --max-tokens and --max-failures cannot be negative")
	}
	if run.Until, err = project.ParseUntil(cli.Or(o.Until, b.Until), now); err != nil {
		return cli.Usagef("--until: %v", err)
	}
	patience, err := project.ParseWait(cli.Or(o.Wait, config.Run.Wait))
	if err != nil {
		return cli.Usagef("--wait: %v", err)
	}
	opts.Limits.Wait = loop.WaitRule(patience)
	opts.Limits.Budgets = loop.Budgets{
		Run: run,
		Task: budget.Limits{
			CostUSD: b.Task.MaxCostUSD, Tokens: b.Task.MaxTokens, Iterations: b.Task.MaxIterations, Duration: b.Task.MaxDuration.Std(),
		},
		Feature: wiring.SharedLimits(b.Feature),
		Day:     wiring.SharedLimits(b.Day),
	}
	n := config.Anomaly
	opts.Agents.Detect = detect.Limits{
		Iterations: d.Iterations, Tokens: d.Tokens, ToolFailures: d.ToolFailures, Repeats: d.Repeats, Unchanged: d.Unchanged, NoProgress: d.NoProgress.Std(),
		Anomaly: detect.Anomaly{
			WritesPerMinute: n.WritesPerMinute, DeletionsPerMinute: n.DeletionsPerMinute, Destructive: n.Destructive, Outside: true, Stop: n.Stop, Ask: n.Ask,
		},
	}
	opts.Agents.Prices = wiring.Prices(config)
	return nil
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

func jitter(d time.Duration) time.Duration {
	return d - d/5 + time.Duration(rand.Int64N(int64(2*d/5)+1))
}

// ProcessOf is the identity of a process as the database has it.
func ProcessOf(id proc.Identity) dag.Process {
	return dag.Process{PID: int64(id.Pid), Start: int64(id.Start), BootID: id.BootID, Namespace: id.PIDNS}
}
