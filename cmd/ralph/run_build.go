package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"ralph/dag"
	"ralph/internal/agents"
	"ralph/internal/event"
	"ralph/internal/glob"
	"ralph/internal/hooks"
	"ralph/internal/proc"
	"ralph/internal/project"
	"ralph/internal/sandbox"
	"ralph/loop"
	"ralph/loop/attempt"
	"ralph/loop/policy"
	"ralph/verify"
	"ralph/verify/coverage"
)

// runBuilder turns flags and configuration into what a run works with, in steps that stand on those before.
type runBuilder struct {
	a         *app
	s         *session
	given     runOptions
	continues *dag.Run
	opts      loop.Options
	opener    *agents.Opener
}

// loopOptions turns flags and configuration into what a run works with. With an error they are as far as it came.
func loopOptions(ctx context.Context, a *app, s *session, given runOptions, continues *dag.Run) (loop.Options, error) {
	b := &runBuilder{a: a, s: s, given: given, continues: continues}
	for _, step := range []func(context.Context) error{
		b.configure, b.chooseScope, b.limit, b.chooseModel, b.identify, b.chooseAgent, b.confine, b.permit, b.equip, b.openAgents, b.addChecks, b.describe,
	} {
		if err := step(ctx); err != nil {
			return b.opts, err
		}
	}
	return b.opts, nil
}

// configure is what needs no decision.
func (b *runBuilder) configure(ctx context.Context) error {
	a, s, given := b.a, b.s, b.given
	run, check := s.config.Run, s.config.Verify
	sections, err := ownSections(a, s.project)
	if err != nil {
		return err
	}
	b.opts = loop.Options{
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
		Place:    loop.Place{Dir: s.project.Root, Runs: filepath.Join(s.project.State(), "runs"), OwnFiles: ownFiles(a, s, given.runOutput)},
		Recovery: loop.Recovery{Rules: recoveryRules(s), Life: life, Sweep: sandbox.Sweep(s.project.Root), Parallel: findParallel(a, s), Calls: riskyCalls(a, s)},
		Host:     loop.Host{Now: a.now, Jitter: jitter, Redact: a.redact, Gone: s.db.Gone, Check: s.db.Guard(ctx, s.project.Root, a.now)},
	}
	if given.Follow {
		b.opts.Host.Plans = followPlans(a, s)
	}
	b.opts.Graph.Store = s.store.KeepingGoing(b.opts.Graph.KeepGoing)
	b.opts.Graph.Settings, err = storedSettings(given.settings, b.opts.Place.OwnFiles(nil))
	return err
}

func (b *runBuilder) chooseScope(ctx context.Context) (err error) {
	if b.continues == nil {
		b.opts.Graph.Scope, err = findScope(ctx, b.a, b.s, b.given.runTarget)
		return err
	}
	b.opts.Graph.Scope = b.continues.Scope
	if b.continues.Outcome != event.OutcomeLimit { // else the next run would end at once
		b.opts.Graph.Continues = b.continues
	}
	return nil
}

// limit is how much the run may do, and where its work lands, on which the number of agents depends.
func (b *runBuilder) limit(ctx context.Context) error {
	if err := overrideLimits(b.given, &b.opts); err != nil {
		return err
	}
	b.opts.Inbox = inboxRules(b.a, b.s.config)
	if err := setLimits(b.given, b.s.config, b.a.now(), &b.opts); err != nil {
		return err
	}
	return setLanding(ctx, b.a, b.s, b.given, &b.opts)
}

func (b *runBuilder) chooseModel(context.Context) (err error) {
	m := &b.opts.Models
	m.Effort = or(b.given.Effort, dag.Effort(b.s.config.Agent.Effort))
	m.Strategy, m.Model, err = chooseStrategy(b.given, b.s.config)
	return err
}

// identify puts the process on record.
func (b *runBuilder) identify(context.Context) error {
	id, err := proc.Self()
	if err != nil {
		return fmt.Errorf("read the start time of this process: %w", err)
	}
	b.opts.Graph.Process = processOf(id)
	if workers := b.given.workers; workers != nil {
		b.opts.Graph.Process.Remote, b.opts.Workers.Remote = workers.name, workers
	}
	return nil
}

func (b *runBuilder) chooseAgent(ctx context.Context) (err error) {
	if b.given.badAgent != nil {
		return b.given.badAgent
	}
	if b.opener, err = newOpener(b.a, b.given.openerOptions, b.s); err != nil {
		return err
	}
	o := b.opener
	o.Chosen, err = o.Choose(b.given.Agent)
	if !errors.Is(err, agents.ErrUnavailable) {
		return err
	}
	unknown := errors.As(err, new(*agents.UnknownError))
	switch {
	case b.given.workers != nil && o.Chosen.Name != "" && !unknown: // the worker's machine starts it
		o.Chosen = agents.Agent{Preset: agents.Preset{Name: o.Chosen.Name}}
	case b.given.DryRun && !unknown, b.given.finished, !b.given.Follow && !needsAgent(ctx, b.s, b.opts.Graph.Scope):
		o.Chosen = agents.Agent{Preset: agents.Preset{Name: absent(o.Chosen)}}
	default:
		return err
	}
	return nil
}

// confine makes the sandbox, and says what agents of earlier runs left that counts from now on.
func (b *runBuilder) confine(ctx context.Context) (err error) {
	a, s, o := b.a, b.s, b.opener
	mode := cmp.Or(b.given.Sandbox, s.config.Sandbox.Mode)
	if o.Sandbox, err = confinerOf(a, sandbox.Options{Mode: mode, Project: s.project}, s.config.Sandbox); err != nil {
		return err
	}
	a.sandbox, o.History = o.Sandbox, historyOf(a, s.project)
	if len(o.Chosen.Argv) > 0 { // or none is needed
		for _, p := range presets(ctx, s, o, b.opts.Graph.Scope) {
			if err := refuseUnpriced(b.opts, p); err != nil {
				return err
			}
		}
		if err := o.Restrictable(o.Chosen.Preset, false); err != nil {
			return err
		}
		if !b.given.NoVerify {
			if err := findVerifiers(o, s.config.Verify); err != nil {
				return err
			}
		}
	}
	for _, path := range o.Sandbox.Exposed() {
		a.note("warning: agents can read and write %s, which is to be hidden from them: it lies in a folder that they may write; see docs/security.md", path)
	}
	notePlanted(a, o.Sandbox)
	noteConfigChanges(a, o.History.Changes())
	if !b.given.DryRun {
		err := errors.Join(o.History.Begin(), trustOf(a, s.project).Found(sandbox.OlderFindings(s.project)))
		if err != nil {
			a.note("warning: changes of %s since this run cannot be shown to the next: %v", project.ConfigName, err)
		}
	}
	return nil
}

// permit is who has a say in what agents do.
func (b *runBuilder) permit(context.Context) (err error) {
	a, s, o, opts := b.a, b.s, b.opener, &b.opts
	if opts.Host.Hooks, err = newHooks(a, s); err != nil {
		return err
	}
	loose := o.Sandbox.Work.Level != sandbox.Namespaces && opts.Landing.Here // agents can write what is in .ralph
	opts.Inbox.Trust = trustOf(a, s.project)
	if b.given.DryRun {
		opts.Agents.Permissions, err = newBook(a, s.project, s.config)
	} else {
		opts.Agents.Permissions, err = rules(a, s, loose)
	}
	if err != nil {
		return err
	}
	o.Asks = opts.Agents.Permissions.Rules().Restrict() || opts.Host.Hooks.Has(hooks.ToolBefore)
	if warning := o.Unasked(o.Chosen); warning != "" {
		a.note("warning: %s", warning)
	}
	if err := noCredentials(o.Sandbox); err != nil {
		opts.Inbox.NoCredentials = err.Error()
	}
	return nil
}

// equip is what agents get besides their task.
func (b *runBuilder) equip(ctx context.Context) error {
	a, s, o, opts := b.a, b.s, b.opener, &b.opts
	opts.Agents.Toolless = o.Toolless
	if !b.given.DryRun {
		sweepCredentials(ctx, a, s)
		sweepWitnesses(ctx, a, s)
		offerTools(a, s, o, opts)
	}
	opts.Workers.Resources = limiter(s.config.Sandbox)
	// What is started early belongs to no slot, and to no attempt that could be limited.
	o.Prestart = s.config.Run.Prestart && opts.Landing.Here && opts.Workers.Resources == nil
	return nil
}

// openAgents is how agents are started, in the project or in slots, and who stands in for whom.
func (b *runBuilder) openAgents(ctx context.Context) error {
	a, s, o, opts := b.a, b.s, b.opener, &b.opts
	opts.Agents.Cool, opts.Agents.Warm = o.Close, func(op attempt.Opening) { o.Warm(op.SessionSpec) }
	var unusable []error
	opts.Agents.Fallback, unusable = o.Fallbacks(o.Chosen.Name)
	for _, err := range unusable {
		a.note("warning: agent.fallback: %v", err)
	}
	if b.given.Agent == "" {
		if opts.Agents.Rotate, unusable = o.Rotation(); len(unusable) > 0 {
			a.note("warning: agent.rotate: %v", errors.Join(unusable...))
		}
	}
	opts.Agents.Modelless = o.Modelless
	opts.Agents.Gates, opts.Agents.OtherProjects = agentGates(o.Finder, s.config), accountsOf(a, s.config, o.Chosen.Name)
	opts.Verify.GateRunner.Env, opts.Verify.Withheld = agents.GateEnviron(s.config.Verify.EnvAllow, a.environ())
	return openSlots(ctx, a, s, o, opts)
}

func (b *runBuilder) addChecks(context.Context) error {
	a, s, o, check := b.a, b.s, b.opener, &b.opts.Verify
	for _, pattern := range check.Protect {
		if err := glob.Valid(pattern); err != nil {
			return fmt.Errorf("%w: verify.protect: %w", project.ErrConfig, err)
		}
	}
	check.Reviewers = reviewers(a, s.config.Verify, o.Finder, o.Chosen)
	check.Acceptor = acceptor(a, s, o.Finder, o.Chosen)
	if scope := b.opts.Graph.Scope; b.given.RequireProof {
		check.Unproven = func(g *dag.Graph) ([]string, error) { return unproven(a, s, g, scope) }
	}
	return nil
}

func (b *runBuilder) describe(context.Context) error {
	b.opts.Host.Setup = setup(b.opts, b.opener.Chosen.Preset, b.opener.Sandbox)
	b.opts.Host.Setup.Credential = b.opener.Credential(b.opener.Chosen.Preset)
	return nil
}
