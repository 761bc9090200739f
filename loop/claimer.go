package loop

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"sync"
	"time"

	"ralph/dag"
	"ralph/internal/budget"
	"ralph/internal/event"
	"ralph/internal/inbox"
	"ralph/internal/testing/failpoint"
	"ralph/internal/wake"
)

// claimer finds the next task for a worker, or why the run ends.
type claimer struct {
	shared
	signal   *wake.Signal
	spending *spending
	over     func() (ended bool, draining string) // whether the run is about to end, or why no further task begins
	end      func(kind event.RunOutcome, reason string, err error)
	reclaim  func(context.Context) (reclaimed int, err error) // takes back the tasks of dead runs

	claiming sync.Mutex // one worker at a time looks for work
	unsealed bool       // that nobody answered cannot be sealed here, so that what has expired stays open

	mu      sync.Mutex
	control dag.Control      // as the last look saw it
	limits  []dag.AgentLimit // as the last look saw them
}

// assignment is a claim, and who works on it if the task brings no agent.
type assignment struct {
	claim     dag.Claim
	agent     string
	iteration int
}

// look is what a look at the scope came to: an assignment, an end, or until when to wait.
type look struct {
	assignment
	ok        bool
	end       ending
	until     time.Time     // zero if no time is waited for
	waits     event.Event   // what for; without a reason if that happens in a moment
	limited   bool          // by a provider
	again     bool          // something changed: look again
	elsewhere []dag.Merge   // finished work that lands on another branch
	decided   []dag.Decided // tasks that are left out, or wait for a person to say whether they are
	expired   []inbox.Request
	forged    []inbox.Request // that would have expired otherwise than they were asked

	tally   dag.Tally // of the scope, where no task could be claimed
	who     availability
	near    []budget.Finding
	refused dag.Refused // why tasks are left alone that are ready
}

// waiting says what is waited for.
func waiting(reason string, until *time.Time) event.Event {
	return event.Event{Type: event.Waiting, Reason: reason, Until: until}
}

// next returns the next assignment, waiting for one if waiting can help. False means
// that the run is over. It ends before another worker looks, which could find work.
func (c *claimer) next(ctx context.Context) (assignment, bool) {
	c.claiming.Lock()
	defer c.claiming.Unlock()
	var said event.Event
	for {
		changed := c.signal.Changed() // before anything is looked at: a wake-up in between would be lost
		running := c.ledger.inFlight()
		if ended, _ := c.over(); ended {
			return assignment{}, false
		}
		if ctx.Err() != nil {
			cause, kind := context.Cause(ctx), event.OutcomeInterrupted
			if errors.Is(cause, errStopped) { // by ralph stop, not by a signal
				kind = event.OutcomeStopped
			}
			c.end(kind, cause.Error(), nil)
			return assignment{}, false
		}
		l, err := c.look(ctx, running)
		switch {
		case err != nil && ctx.Err() != nil, err == nil && l.again:
			continue
		case err != nil:
			c.end(event.OutcomeError, err.Error(), err)
			return assignment{}, false
		case l.end.kind != "":
			c.end(l.end.kind, l.end.reason, nil)
			return assignment{}, false
		case l.ok:
			c.ledger.begin(l.iteration)
			return l.assignment, true
		}
		if w := c.opts.Workers.Remote; w != nil {
			w.Idle()
		}
		began := c.opts.Host.Now()
		if running == 0 && l.waits.Reason != "" {
			c.opts.Agents.Cool() // an agent that waits could do so for hours
			if !reflect.DeepEqual(l.waits, said) {
				c.bus.emit(l.waits)
			}
			said = l.waits
		}
		wake.Pause(ctx, changed, earlier(l.until, c.opts.Limits.Budgets.Run.Until), c.opts.Host.Now, c.opts.Workers.Poll)
		if l.limited {
			c.rested(ctx, began)
		}
	}
}

// rested notes that the run did nothing since then but wait for a provider: that is
// no time of its own.
func (c *claimer) rested(ctx context.Context, began time.Time) {
	waited := max(c.opts.Host.Now().Sub(began), 0)
	c.ledger.rest(waited)
	err := c.opts.Graph.Store.Update(context.WithoutCancel(ctx), func(g *dag.Graph) error { return g.History.Waited(c.run.ID, waited) })
	if err != nil {
		c.bus.warnOnce("waited", "recording the wait: "+err.Error())
	}
}

const pausedText = "the project is paused; continue with: ralph resume"

// earlier is the earlier of two times, or the only one.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// claim claims the next task, unless a limit or a person is against it.
func (c *claimer) claim(g *dag.Graph, running int, l *look) (err error) {
	if _, reason := c.over(); reason != "" {
		l.end = ending{kind: event.OutcomeInterrupted, reason: reason}
		return nil
	}
	if !c.opts.Graph.Finished { // a verifier that what is finished needs is asked about by itself
		l.end, l.near, err = c.spending.checkBudgets(g)
	}
	if err != nil || l.end.kind != "" || c.atLimit(running) {
		return err
	}
	if err := c.applyControl(g, l); err != nil || l.end.kind != "" || l.waits.Reason != "" {
		return err
	}
	if l.who, err = c.findAvailable(g); err != nil {
		return err
	}
	finished, err := g.Queue.Finished()
	if err != nil {
		return err
	}
	who := &l.who
	l.elsewhere = slices.DeleteFunc(finished, func(m dag.Merge) bool { return m.Target == c.opts.Landing.Target })
	for _, m := range l.elsewhere {
		who.skip.Tasks = append(who.skip.Tasks, m.Task)
	}
	if !c.unsealed {
		l.expired, l.forged, err = inbox.Expire(g, c.opts.Inbox.Trust)
	}
	if err != nil {
		return err
	}
	failpoint.Hit("after-choice")
	l.iteration = c.ledger.nextNumber()
	opts := dag.ClaimOptions{
		Run: *c.run, Scope: c.opts.Graph.Scope, KeepGoing: c.opts.Graph.KeepGoing, Lease: c.opts.Workers.Lease,
		Iteration: l.iteration, Skip: who.skip, Slots: true, Here: c.opts.Landing.Here, Finished: c.opts.Graph.Finished,
		Locks: c.opts.Workers.Locks, Agents: c.opts.Agents.Gates, Target: c.opts.Landing.Target,
	}
	if c.opts.Workers.Remote == nil && !c.opts.Landing.Here && !c.opts.Graph.Finished { // other machines have what has landed, and a folder has one state
		opts.Ahead = c.opts.Landing.Ahead
	}
	if !opts.Finished {
		if l.decided, err = g.Queue.Decide(opts.Scope, opts.KeepGoing); len(l.decided) > 0 {
			failpoint.Hit("in-when")
		}
	}
	if err != nil {
		return err
	}
	l.claim, l.ok, err = g.Queue.Claim(opts)
	for _, name := range who.others { // who is next in turn may have as much to do as it may
		if err != nil || l.ok {
			break
		}
		opts.Skip.Agent, who.agent = name, name
		l.claim, l.ok, err = g.Queue.Claim(opts)
	}
	if err == nil && !l.ok {
		l.refused, err = g.Queue.Refused(opts)
	}
	if l.ok {
		l.agent = who.agent
		failpoint.Hit("in-claim")
		var settled []inbox.Request
		settled, err = inbox.Settled(g, l.claim.Task.ID)
		if bad := slices.DeleteFunc(settled, func(r inbox.Request) bool { return !r.Forged(c.opts.Inbox.Trust) }); err == nil && len(bad) > 0 {
			err = forgedError(bad)
		}
	}
	return err
}

// forgedError undoes a claim of a task that waits for better answers than it has.
type forgedError []inbox.Request

func (e forgedError) Error() string { return badSignature(e[0]) }

func (c *claimer) rejectForged(ctx context.Context, list []inbox.Request) error {
	err := c.opts.Graph.Store.Update(ctx, func(g *dag.Graph) (err error) {
		list, err = inbox.Disown(g, c.opts.Inbox.Trust, list...)
		return err
	})
	for _, r := range list {
		if err == nil {
			c.bus.warn(r.Task, badSignature(r))
		}
	}
	return err
}

// applyControl looks at what people asked of the run.
func (c *claimer) applyControl(g *dag.Graph, l *look) error {
	control, err := g.Queue.Control(c.run.ID)
	if err != nil {
		return err
	}
	c.mu.Lock()
	c.control = control
	c.mu.Unlock()
	if !control.PausedAt.IsZero() {
		l.waits = waiting(pausedText, nil)
	}
	if control.Stop != "" {
		l.end = ending{kind: event.OutcomeStopped, reason: "stopped by: ralph stop"}
	}
	return nil
}

// atLimit says that no further iteration may begin: what runs now counts too.
func (c *claimer) atLimit(running int) bool {
	counted, _, _ := c.ledger.totals()
	limit := c.opts.Limits.Iterations
	return limit > 0 && counted+running >= limit
}
