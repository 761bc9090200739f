// Package loop owns one run: it claims a task, hands it to an agent, decides
// about what comes back, and settles it, until nothing is left to do. It never
// talks to a terminal, reads the environment or knows one agent from another.
package loop

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"ralph/dag"
	"ralph/internal/event"
	"ralph/internal/git"
	"ralph/internal/human"
	"ralph/internal/redact"
	"ralph/internal/seq"
	"ralph/internal/wake"
	"ralph/loop/attempt"
	"ralph/loop/land"
	"ralph/loop/remote"
)

// Runner is one run. Run may be called again after an interruption: the
// counters continue.
type Runner struct {
	shared
	signal   wake.Signal
	tried    tried
	spending spending
	claimer  claimer
	sessions sessions
	briefer  briefer
	keeper   keeper
	settler  settler
	worker   attempt.Worker
	excuses  *excuses
	lander   *land.Lander
	refs     *remote.Refs // of other machines
	taken    []assignment // what an earlier process of this run has ordered

	writing sync.Mutex // one worker at a time writes knowledge

	mu       sync.Mutex
	ending   *ending
	draining string // why no further task begins; "" if tasks may
	begun    bool   // hooks were asked whether it may
}

// shared is what the parts of a run share.
type shared struct {
	opts   *Options
	run    *dag.Run
	bus    *bus
	ledger *ledger
	live   *live
}

// ending is why a run is about to end.
type ending struct {
	kind   event.RunOutcome
	reason string
	err    error
}

// Start records the run, after releasing what dead runs left behind.
func Start(ctx context.Context, opts Options) (*Runner, error) {
	r := newRunner(opts)
	opts = *r.opts
	if err := r.join(ctx); err != nil {
		return nil, fmt.Errorf("start a run: %w", err)
	}
	recovered, err := r.recover(ctx)
	if err != nil {
		return nil, fmt.Errorf("recover: %w", err)
	}
	doubt, err := r.ready(ctx)
	if err != nil {
		return nil, fmt.Errorf("start a run: %w", err)
	}
	joined := r.run.ID != ""
	err = opts.Graph.Store.Update(ctx, func(g *dag.Graph) (err error) {
		if joined {
			return r.takeOver(g)
		}
		if err := g.History.Apart(opts.Graph.Scope, opts.Graph.Process, opts.Recovery.Life); err != nil {
			return err
		}
		if *r.run, err = g.History.StartRun(opts.Graph.Scope, opts.Graph.Process); err != nil {
			return err
		}
		// A task need not wait for an agent that this run does not use.
		only := len(opts.Agents.Fallback)+len(opts.Agents.Rotate) == 0
		_ = g.Queue.ForgetWaits(func(agent string) bool { return only && agent == opts.Host.Setup.Agent }) // an error stays with the transaction
		if err := g.History.DescribeRun(r.run, opts.Graph.Settings, opts.Graph.Continues); err != nil {
			return err
		}
		if err := r.carryOver(g); err != nil {
			return err
		}
		_, err = r.addDueLooks(g)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("start a run: %w", err)
	}
	if err := r.remindSelf(ctx); err != nil {
		return nil, fmt.Errorf("read the journal: %w", err)
	}
	r.bus.run = r.run.ID
	setup := opts.Host.Setup
	r.bus.emit(event.Event{Type: event.RunStarted, Setup: &setup, PID: int(opts.Graph.Process.PID), Counts: r.counts(ctx)})
	r.emitRecovery(recovered)
	if doubt != "" {
		r.bus.warn("", doubt)
	}
	if err := r.writeKnowledge(ctx); err != nil {
		return nil, fmt.Errorf("write what was learned before: %w", err)
	}
	if w := opts.Workers.Remote; w != nil {
		if r.taken, err = r.adopted(ctx); err == nil {
			err = w.Begin(r.run.ID, seq.Map(r.taken, func(a assignment) string { return a.claim.Attempt }))
		}
	}
	return r, err
}

// ready says what a person should know of the place where agents work, or why they cannot.
func (r *Runner) ready(ctx context.Context) (doubt string, err error) {
	to := r.opts.Landing
	to.Slots.OnSetup(func(name string) { r.bus.emit(event.Event{Type: event.SlotSetup, Text: name}) })
	to.Slots.OnLeftOut(func(line string) { r.bus.warnOnce(line, line) })
	if !to.Here {
		if to.Repo.Nameless(ctx) {
			doubt = "git knows no name and address of yours, so what lands is committed by ralph; to change that: git config user.name NAME, git config user.email ADDRESS"
		}
		return doubt, nil
	}
	left := git.LeftLock(r.opts.Place.Dir) // no agent could commit: each task would fail. Slots have an index of their own
	switch {
	case left == nil:
		return "", nil
	case left.Sure:
		return "", fmt.Errorf("%w: %w", dag.ErrRefused, left)
	}
	return left.Error(), nil
}

// join finds the run that this process goes on with, if other machines make its attempts and its own process is gone.
func (r *Runner) join(ctx context.Context) error {
	p := r.opts.Graph.Process
	if p.Remote == "" {
		return nil
	}
	return r.opts.Graph.Store.Update(ctx, func(g *dag.Graph) error {
		run, found, err := g.History.AdoptRun(p, r.opts.Recovery.Life)
		if found {
			*r.run = run
		}
		return err
	})
}

// takeOver goes on with the counters of the process before this one.
func (r *Runner) takeOver(g *dag.Graph) (err error) {
	l := r.ledger
	l.counted, l.failures, l.highest = r.run.Iterations, r.run.Failures, r.run.Iterations
	r.spending.took, l.waited, err = g.History.RunSpan(r.run.ID)
	return err
}

// newRunner is a run that has not begun, with what its options leave out.
func newRunner(opts Options) *Runner {
	opts = opts.withDefaults()
	s := shared{
		opts: &opts, run: &dag.Run{}, live: &live{attempts: map[string]*liveAttempt{}},
		bus:    &bus{observe: opts.Host.Observe, redact: opts.Host.Redact, now: opts.Host.Now, warned: map[string]bool{}},
		ledger: &ledger{agents: map[string]*agentRecord{}, empties: map[string]emptied{}, panics: map[string]int{}},
	}
	r := &Runner{
		shared: s, spending: spending{shared: s, began: opts.Host.Now()}, briefer: briefer{s}, keeper: keeper{s}, settler: settler{s},
		sessions: sessions{opener: opts.Agents.Open, open: map[*listed]bool{}}, excuses: &excuses{shared: s}, refs: &remote.Refs{Repo: opts.Landing.Repo, Remote: opts.Landing.Remote},
	}
	r.claimer = claimer{shared: s, signal: &r.signal, spending: &r.spending, over: r.over, end: r.end, reclaim: r.reclaim}
	r.worker = attempt.Worker{
		Open: r.sessions.Open, Warm: r.warm, Cool: opts.Agents.Cool, Gates: opts.Verify.GateRunner, Withheld: opts.Verify.Withheld, Baselines: &attempt.Baselines{}, Demand: &attempt.Demand{},
		Documents: opts.Prompt.Context, Sources: r.sources, Hooks: opts.Host.Hooks, Permissions: opts.Agents.Permissions, Resources: opts.Workers.Resources, Prices: opts.Agents.Prices, OwnFiles: r.own,
		Redact: opts.Host.Redact, Observe: r.bus.emit, WarnOnce: r.bus.warnOnce, Poll: opts.Workers.Poll, Now: opts.Host.Now,
	}
	r.lander = &land.Lander{
		Options: opts.Landing, Store: opts.Graph.Store, Run: s.run, Dir: opts.Place.Dir, Runs: opts.Place.Runs, Checks: opts.Verify.Gates, Skip: opts.Verify.Skip,
		Redact: opts.Host.Redact, Now: opts.Host.Now, Poll: opts.Workers.Poll, Signal: &r.signal, Tell: r.bus.emit, WarnOnce: r.bus.warnOnce, Notify: r.notify, Hook: r.hook,
		Own: r.live.own, Reclaim: r.reclaim, Demand: r.worker.Demand.Last,
	}
	return r
}

// carryOver takes over the counters of the run that this one continues.
func (r *Runner) carryOver(g *dag.Graph) (err error) {
	if r.run.Continues == "" {
		return nil
	}
	l := r.ledger
	l.counted, l.failures, l.highest = r.run.Iterations, r.run.Failures, r.run.Iterations
	r.spending.took, l.waited, err = g.History.RunSpan(r.run.Continues)
	return err
}

// ID is the run's ID.
func (r *Runner) ID() string { return r.run.ID }

// Owner is who the tasks of this run are claimed by.
func (r *Runner) Owner() string { return r.run.Owner }

// Run works until the scope is resolved, nothing can be done, a limit is hit or
// ctx ends. It returns only when no agent of it is running any more. The error
// is for what ends a run in the middle: a database that fails.
func (r *Runner) Run(ctx context.Context) (event.Result, error) {
	r.mu.Lock()
	r.ending, r.draining, r.ledger.interrupted = nil, "", nil // no worker runs yet
	r.mu.Unlock()
	ctx, stop := context.WithCancelCause(ctx)
	attending := r.watchControl(ctx, stop)
	r.runBefore(ctx)
	r.lander.Advance(ctx, true)
	var workers sync.WaitGroup
	taken := r.taken
	r.taken = nil
	for _, a := range taken { // before any worker may find that nothing is left to do
		r.ledger.begin(a.iteration)
	}
	for i := range max(r.opts.Workers.Jobs, len(taken)) {
		workers.Go(func() {
			if i < len(taken) && !r.make(ctx, taken[i]) {
				return
			}
			r.work(ctx)
		})
	}
	workers.Wait()
	r.opts.Agents.Cool()
	if ctx.Err() == nil {
		r.lander.Advance(ctx, true)
	} else {
		r.lander.Advance(context.WithoutCancel(ctx), false)
	}
	stop(nil)
	<-attending
	r.mu.Lock()
	end := *r.ending
	r.mu.Unlock()
	if end.kind == event.OutcomeInterrupted {
		r.bus.emit(event.Event{Type: event.RunInterrupted, Reason: end.reason})
	}
	out, err := r.outcome(context.WithoutCancel(ctx), end)
	out.Work = r.lander.Work(context.WithoutCancel(ctx))
	return out, errors.Join(end.err, err)
}

func (r *Runner) outcome(ctx context.Context, end ending) (event.Result, error) {
	out := event.Result{Outcome: end.kind, Reason: end.reason, Run: r.run.ID, Duration: r.opts.Host.Now().Sub(r.spending.began)}
	err := r.opts.Graph.Store.View(ctx, func(g *dag.Graph) error {
		counts, err := r.count(g)
		if errors.Is(err, dag.ErrNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		out.Counts = counts
		if out.Outcome == event.OutcomeComplete && counts.Failed > 0 {
			why, _ := g.Plan.Unaccepted(r.opts.Graph.Scope) // the first error of the database is that of what follows
			for _, feature := range slices.Sorted(maps.Keys(why)) {
				out.Reason = strings.Join(human.Parts(out.Reason, feature+": "+why[feature]), "; ")
			}
		}
		if out.Outcome == event.OutcomeComplete && r.opts.Verify.Unproven != nil {
			if list, _ := r.opts.Verify.Unproven(g); len(list) > 0 {
				out.Outcome, out.Reason = event.OutcomeFailure, strings.Join(human.Parts(out.Reason, "not proven: "+strings.Join(list, "; ")), "; ")
			}
		}
		used, err := g.History.UsageOfRun(r.run.ID)
		out.Usage = used.Usage
		from := r.opts.Graph.Continues
		if from == nil {
			return err
		}
		// What this run and those that it continues came to.
		used, err = g.History.UsageOfChain(r.run.ID)
		counted, _, _ := r.ledger.totals()
		out.Together = &event.Together{Continues: from.ID, Iterations: counted, Usage: used.Usage, Duration: r.spending.elapsed().Milliseconds()}
		return err
	})
	out.Iterations, out.Tasks = r.ledger.resolved()
	if from := r.opts.Graph.Continues; from != nil {
		out.Iterations -= from.Iterations
	}
	return redact.Deep(r.opts.Host.Redact, out), err
}

// Finish records how the run ended. It is called once, after the last Run.
func (r *Runner) Finish(ctx context.Context, out event.Result) error {
	err := r.opts.Graph.Store.Update(context.WithoutCancel(ctx), func(g *dag.Graph) error {
		counted, _, _ := r.ledger.totals()
		return g.History.EndRun(r.run.ID, out.Outcome, out.Reason, counted)
	})
	r.unpublish(context.WithoutCancel(ctx))
	usage := out.Usage
	r.bus.emit(event.Event{
		Type: event.RunEnded, Outcome: string(out.Outcome), Reason: out.Reason, Iteration: out.Iterations,
		Counts: &out.Counts, Usage: &usage, Duration: out.Duration.Milliseconds(), Together: out.Together, Work: out.Work,
	})
	if w := r.opts.Workers.Remote; w != nil {
		w.Ended(out)
	}
	return err
}

// Kill ends every agent at once; Run then settles and returns.
func (r *Runner) Kill() error {
	if w := r.opts.Workers.Remote; w != nil {
		for _, attempt := range r.live.all() {
			w.Abandon(attempt)
		}
	}
	return r.sessions.Kill()
}

// Drain lets what runs finish, begins no further task, and then ends the run as one that
// the cause interrupted. A run that has nothing left to do is complete all the same.
func (r *Runner) Drain(cause error) {
	r.mu.Lock()
	r.draining = cause.Error()
	r.mu.Unlock()
	r.signal.Wake()
}

// Interrupted lists the tasks that the last interruption took from an agent.
func (r *Runner) Interrupted() []string {
	r.ledger.mu.Lock()
	defer r.ledger.mu.Unlock()
	return slices.Clone(r.ledger.interrupted)
}

// end makes all workers stop after what they are doing. The first reason counts.
func (r *Runner) end(kind event.RunOutcome, reason string, err error) {
	r.mu.Lock()
	if r.ending == nil {
		r.ending = &ending{kind, reason, err}
	}
	r.mu.Unlock()
	r.signal.Wake()
}

// over says that the run is about to end, or why no further task begins while the rest
// may finish.
func (r *Runner) over() (ended bool, draining string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.ending != nil, r.draining
}

func countsOf(t dag.Tally) event.Counts {
	c := event.Counts{Done: t.ByStatus[dag.Done], Failed: t.ByStatus[dag.Failed], Cancelled: t.ByStatus[dag.Cancelled], Total: t.Total(), Asks: t.Asks}
	c.Remaining = t.Open()
	return c
}
