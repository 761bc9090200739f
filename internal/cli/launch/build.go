package launch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"ralph/dag"
	"ralph/internal/agents"
	"ralph/internal/cli"
	"ralph/internal/cli/wiring"
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
	a         *cli.App
	s         *cli.Session
	given     Options
	continues *dag.Run
	opts      loop.Options
	opener    *agents.Opener
}

// LoopOptions turns flags and configuration into what a run works with. With an error they are as far as it came.
func LoopOptions(ctx context.Context, a *cli.App, s *cli.Session, given Options, continues *dag.Run) (loop.Options, error) {
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
	run, check := s.Config.Run, s.Config.Verify
	sections, err := wiring.OwnSections(a, s.Project)
	if err != nil {
		return err
	}
	b.opts = loop.Options{
		Graph:   loop.Graph{KeepGoing: given.KeepsGoing(s.Config), Finished: given.Finished, Follow: given.Follow},
		Workers: loop.Workers{Jobs: cli.Or(given.Jobs, s.Config.Parallel.Jobs), FailFast: given.FailFast, Breaker: run.Breaker, Locks: s.Config.Locks},
		Limits:  loop.Limits{Iterations: run.Limit},
		Rules: loop.Rules{MaxRetries: run.MaxRetries, Rules: policy.Rules{
			MaxAttempts: run.MaxAttempts, RetryFailed: run.RetryFailed, RepairRounds: check.Repairs, AskUncovered: check.Coverage == string(coverage.Ask), Backoff: run.Backoff.Std(),
		}},
		Agents: loop.Agents{ResumeSession: s.Config.Recovery.ResumeSession, Verifier: check.Agent},
		Verify: loop.Verify{GateRunner: verify.Gates{Timeout: check.Timeout.Std()}, Verification: attempt.Verification{
			Skip: given.NoVerify, Gates: check.Commands, AgentVerdict: check.Enabled, Reruns: check.Reruns, Protect: check.Protect,
			AllowFailing: given.AllowFailing, Coverage: check.Coverage, CoverageFile: check.CoverageFile, Witness: check.Witness,
		}},
		Prompt:   wiring.LoopPrompt(a, s, sections),
		Place:    loop.Place{Dir: s.Project.Root, Runs: filepath.Join(s.Project.State(), "runs"), OwnFiles: wiring.OwnFiles(a, s, given.OutputOptions)},
		Recovery: loop.Recovery{Rules: wiring.RecoveryRules(s), Life: cli.Life, Sweep: sandbox.Sweep(s.Project.Root), Parallel: wiring.FindParallel(a, s), Calls: wiring.RiskyCalls(a, s)},
		Host:     loop.Host{Now: a.Now, Jitter: jitter, Redact: a.Redact, Gone: s.DB.Gone, Check: s.DB.Guard(ctx, s.Project.Root, a.Now)},
	}
	if given.Follow {
		b.opts.Host.Plans = cli.FollowPlans(a, s)
	}
	b.opts.Graph.Store = s.Store.KeepingGoing(b.opts.Graph.KeepGoing)
	b.opts.Graph.Settings, err = storedSettings(given.Settings, b.opts.Place.OwnFiles(nil))
	return err
}

func (b *runBuilder) chooseScope(ctx context.Context) (err error) {
	if b.continues == nil {
		b.opts.Graph.Scope, err = FindScope(ctx, b.a, b.s, b.given.TargetOptions)
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
	if err := OverrideLimits(b.given, &b.opts); err != nil {
		return err
	}
	b.opts.Inbox = inboxRules(b.a, b.s.Config)
	if err := SetLimits(b.given, b.s.Config, b.a.Now(), &b.opts); err != nil {
		return err
	}
	return setLanding(ctx, b.a, b.s, b.given, &b.opts)
}

func (b *runBuilder) chooseModel(context.Context) (err error) {
	m := &b.opts.Models
	m.Effort = cli.Or(b.given.Effort, dag.Effort(b.s.Config.Agent.Effort))
	m.Strategy, m.Model, err = ChooseStrategy(b.given, b.s.Config)
	return err
}

// identify puts the process on record.
func (b *runBuilder) identify(context.Context) error {
	id, err := proc.Self()
	if err != nil {
		return fmt.Errorf("read the start time of this process: %w", err)
	}
	b.opts.Graph.Process = ProcessOf(id)
	if workers := b.given.Workers; workers != nil {
		b.opts.Graph.Process.Remote, b.opts.Workers.Remote = workers.name, workers
	}
	return nil
}

func (b *runBuilder) chooseAgent(ctx context.Context) (err error) {
	if b.given.badAgent != nil {
		return b.given.badAgent
	}
	if b.opener, err = wiring.NewOpener(b.a, b.given.OpenerOptions, b.s); err != nil {
		return err
	}
	o := b.opener
	o.Chosen, err = o.Choose(b.given.Agent)
	if !errors.Is(err, agents.ErrUnavailable) {
		return err
	}
	unknown := errors.As(err, new(*agents.UnknownError))
	switch {
	case b.given.Workers != nil && o.Chosen.Name != "" && !unknown: // the worker's machine starts it
		o.Chosen = agents.Agent{Preset: agents.Preset{Name: o.Chosen.Name}}
	case b.given.DryRun && !unknown, b.given.Finished, !b.given.Follow && !needsAgent(ctx, b.s, b.opts.Graph.Scope):
		o.Chosen = agents.Agent{Preset: agents.Preset{Name: wiring.Absent(o.Chosen)}}
	default:
		return err
	}
	return nil
}

// confine makes the sandbox, and says what agents of earlier runs left that counts from now on.
func (b *runBuilder) confine(ctx context.Context) (err error) {
	a, s, o := b.a, b.s, b.opener
	mode := cmp.Or(b.given.Sandbox, s.Config.Sandbox.Mode)
	if o.Sandbox, err = wiring.ConfinerOf(a, sandbox.Options{Mode: mode, Project: s.Project}, s.Config.Sandbox); err != nil {
		return err
	}
	a.Sandbox, o.History = o.Sandbox, cli.HistoryOf(a, s.Project)
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
			if err := wiring.FindVerifiers(o, s.Config.Verify); err != nil {
				return err
			}
		}
	}
	for _, path := range o.Sandbox.Exposed() {
		a.Note("warning: agents can read and write %s, which is to be hidden from them: it lies in a folder that they may write; see docs/security.md", path)
	}
	wiring.NotePlanted(a, o.Sandbox)
	wiring.NoteConfigChanges(a, o.History.Changes())
	if !b.given.DryRun {
		err := errors.Join(o.History.Begin(), cli.TrustOf(a, s.Project).Found(sandbox.OlderFindings(s.Project)))
		if err != nil {
			a.Note("warning: changes of %s since this run cannot be shown to the next: %v", project.ConfigName, err)
		}
	}
	return nil
}

// permit is who has a say in what agents do.
func (b *runBuilder) permit(context.Context) (err error) {
	a, s, o, opts := b.a, b.s, b.opener, &b.opts
	if opts.Host.Hooks, err = wiring.NewHooks(a, s); err != nil {
		return err
	}
	loose := o.Sandbox.Work.Level != sandbox.Namespaces && opts.Landing.Here // agents can write what is in .ralph
	opts.Inbox.Trust = cli.TrustOf(a, s.Project)
	if b.given.DryRun {
		opts.Agents.Permissions, err = wiring.NewBook(a, s.Project, s.Config)
	} else {
		opts.Agents.Permissions, err = wiring.Rules(a, s, loose)
	}
	if err != nil {
		return err
	}
	o.Asks = opts.Agents.Permissions.Rules().Restrict() || opts.Host.Hooks.Has(hooks.ToolBefore)
	if warning := o.Unasked(o.Chosen); warning != "" {
		a.Note("warning: %s", warning)
	}
	if err := wiring.NoCredentials(o.Sandbox); err != nil {
		opts.Inbox.NoCredentials = err.Error()
	}
	return nil
}

// equip is what agents get besides their task.
func (b *runBuilder) equip(ctx context.Context) error {
	a, s, o, opts := b.a, b.s, b.opener, &b.opts
	opts.Agents.Toolless = o.Toolless
	if !b.given.DryRun {
		wiring.SweepCredentials(ctx, a, s)
		wiring.SweepWitnesses(ctx, a, s)
		offerTools(a, s, o, opts)
	}
	opts.Workers.Resources = wiring.Limiter(s.Config.Sandbox)
	// What is started early belongs to no slot, and to no attempt that could be limited.
	o.Prestart = s.Config.Run.Prestart && opts.Landing.Here && opts.Workers.Resources == nil
	return nil
}

// openAgents is how agents are started, in the project or in slots, and who stands in for whom.
func (b *runBuilder) openAgents(ctx context.Context) error {
	a, s, o, opts := b.a, b.s, b.opener, &b.opts
	opts.Agents.Cool, opts.Agents.Warm = o.Close, func(op attempt.Opening) { o.Warm(op.SessionSpec) }
	var unusable []error
	opts.Agents.Fallback, unusable = o.Fallbacks(o.Chosen.Name)
	for _, err := range unusable {
		a.Note("warning: agent.fallback: %v", err)
	}
	if b.given.Agent == "" {
		if opts.Agents.Rotate, unusable = o.Rotation(); len(unusable) > 0 {
			a.Note("warning: agent.rotate: %v", errors.Join(unusable...))
		}
	}
	opts.Agents.Modelless = o.Modelless
	opts.Agents.Gates, opts.Agents.OtherProjects = wiring.AgentGates(o.Finder, s.Config), wiring.AccountsOf(a, s.Config, o.Chosen.Name)
	opts.Verify.GateRunner.Env, opts.Verify.Withheld = agents.GateEnviron(s.Config.Verify.EnvAllow, a.Environ())
	return wiring.OpenSlots(ctx, a, s, o, opts)
}

func (b *runBuilder) addChecks(context.Context) error {
	a, s, o, check := b.a, b.s, b.opener, &b.opts.Verify
	for _, pattern := range check.Protect {
		if err := glob.Valid(pattern); err != nil {
			return fmt.Errorf("%w: verify.protect: %w", project.ErrConfig, err)
		}
	}
	check.Reviewers = wiring.Reviewers(a, s.Config.Verify, o.Finder, o.Chosen)
	check.Acceptor = wiring.Acceptor(a, s, o.Finder, o.Chosen)
	if scope := b.opts.Graph.Scope; b.given.RequireProof {
		check.Unproven = func(g *dag.Graph) ([]string, error) { return wiring.Unproven(a, s, g, scope) }
	}
	return nil
}

func (b *runBuilder) describe(context.Context) error {
	b.opts.Host.Setup = setup(b.opts, b.opener.Chosen.Preset, b.opener.Sandbox)
	b.opts.Host.Setup.Credential = b.opener.Credential(b.opener.Chosen.Preset)
	return nil
}
