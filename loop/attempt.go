package loop

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"ralph/acp"
	"ralph/dag"
	"ralph/event"
	"ralph/internal/git"
	"ralph/internal/proc"
	"ralph/internal/testing/failpoint"
	"ralph/loop/policy"
	"ralph/prompt"
	"ralph/sigils"
	"ralph/strategy"
)

// Session is one agent at work.
type Session interface {
	Prompt(ctx context.Context, text string) (acp.Turn, error)
	Model() acp.ModelChoice
	Usage() acp.Usage
	SessionUSD() *float64 // what the whole session has cost, in all attempts
	ID() string
	Kill() error
	Close() error
	Sandbox() string // the level that confines it
	Evident() bool   // its word rests on an exit status and needs no other evidence
	// Tampered lists what the session changed that no agent may change.
	Tampered() ([]string, error)
}

// Opening is what is needed to open a session for an attempt.
type Opening struct {
	Run       dag.Run
	Task      dag.Task
	Iteration int
	Limit     int
	Model     string // a tier, a name, or "" for the agent's own
	Folder    string // of the attempt, for its transcript
	Agent     string // who works instead of the run's own agent; "" for that one
	Judge     bool   // it is to look at the work and to change nothing
	Earlier   *Earlier
	Observe   func(acp.Event)
	Started   func(agent string, id proc.Identity) error
}

// errLost ends an attempt whose task was taken away.
var errLost = errors.New("the task was taken away")

// errUnrenewed ends an attempt whose task another run may have taken: where nobody can
// see that we live, the lease decides.
var errUnrenewed = fmt.Errorf("%w, or may be: the claim could not be renewed for longer than its lease", errLost)

// attempt is everything known about one try at one task.
type attempt struct {
	*Runner
	claim     dag.Claim
	iteration int
	folder    string
	began     time.Time
	before    git.State
	tree      string    // what the attempt began with; empty where git cannot tell
	base      Base      // what the task began with
	taken     git.Taken // the tree that was taken last
	finished  string    // the tree when the agent said that it is done; empty until then
	judges    int       // sessions that were opened for a verdict
	headTree  string    // of the commit that the attempt began with

	earlierTries []dag.Attempt

	blind  error // why git cannot tell
	choice strategy.Choice
	shared []string      // gates of the task's feature
	worker string        // the name of the agent that is to work
	above  strategy.Tier // that was not enough for the task
	watch  *watch
	drifts []string // the detectors of drift that fired

	session Session
	agent   string
	model   string // that took effect
	offered []string
	scan    *sigils.Scanner
	kept    sigils.Set // from earlier rounds, in which the task was called done too early
	set     sigils.Set
	answer  []string
	files   []string
	stop    acp.StopReason

	asked  bool        // something was said to the agent; under the runner's lock, as the next
	closed event.Usage // of the sessions that are over
	shares []share

	sessionUSD *float64
	facts      policy.Facts
	resumed    *finished // the work that is only verified; nil if an agent is run
}

// attempt makes one try at a task and settles it. The error is for what ends the
// run: the files of the attempt or the database cannot be written.
func (r *Runner) attempt(ctx context.Context, claim dag.Claim, worker string, iteration int) error {
	a := &attempt{
		Runner: r, claim: claim, iteration: iteration, began: r.opts.Now(), watch: newWatch(),
		worker: cmp.Or(claim.Task.Agent, worker, r.opts.Setup.Agent),
		folder: filepath.Join(r.opts.Folder, r.run.ID, claim.Attempt), scan: sigils.NewScanner(claim.Task.ID),
	}
	a.mu.Lock()
	a.working[claim.Attempt] = a
	a.mu.Unlock()
	ctx, lose := context.WithCancelCause(ctx)
	defer lose(nil)
	beating := a.heartbeat(ctx, lose)
	decision, err := a.try(ctx)
	if ctx.Err() != nil {
		failpoint.Hit("K13")
	}
	if a.session != nil {
		a.tellTampering(decision)
		// Nothing of the agent may be left when the task is given back.
		if cerr := a.session.Close(); cerr != nil {
			a.bus.warn(claim.Task.ID, "closing the agent: "+cerr.Error())
		}
		a.sessionUSD = a.session.SessionUSD()
		a.model = cmp.Or(a.session.Model().Effective, a.model) // it may have changed meanwhile
		a.closing(claim.Attempt, a.agent, a.session, a.asked && (decision.Action != policy.Wait || a.facts.Session.Answered))
	}
	lose(nil)
	<-beating
	return errors.Join(err, a.settle(ctx, decision))
}

// try runs the agent and decides, turn by turn.
func (a *attempt) try(ctx context.Context) (policy.Decision, error) {
	a.facts = policy.Facts{
		History: policy.History{Attempts: a.claim.Task.Attempts, Retries: a.claim.Task.Retries},
		Rules: policy.Rules{
			MaxAttempts: a.opts.MaxAttempts, RetryFailed: a.opts.RetryFailed, RepairRounds: a.opts.RepairRounds,
			Backoff: a.opts.Backoff, LimitWait: a.opts.LimitWait,
		},
		Agent: a.ledger.standing(a.worker, a.claim.Task.ID),
	}
	who := &a.facts.Agent
	who.Substitute, who.OwnAgent, who.OwnModel = a.substitute() != "", a.claim.Task.Agent != "", a.claim.Task.Model != ""
	broken := policy.Decision{Action: policy.Release, Outcome: event.AttemptError, Reason: "ralph could not prepare the attempt", Uncounted: true}
	if err := os.MkdirAll(a.folder, 0o700); err != nil {
		return broken, err
	}
	failpoint.Hit("K3")
	if a.claim.Resume && a.takeUp() {
		return a.resume(ctx)
	}
	a.before = a.look(ctx)
	if err := a.recallDrift(ctx); err != nil {
		return broken, err
	}
	text, err := a.gather(ctx)
	if err != nil {
		return broken, err
	}
	a.bus.emit(event.Event{
		Type: event.TaskClaimed, Iteration: a.iteration, Task: a.claim.Task.ID, Attempt: a.claim.Attempt,
		Title: a.claim.Task.Title, Agent: a.worker, Model: a.choice.Model, Reason: why(a.choice), Counts: a.counts(ctx),
	})
	if d, over, err := a.broke(ctx); over || err != nil {
		if err != nil {
			return broken, err
		}
		return d, nil
	}
	if err := a.prepare(ctx); err != nil {
		return a.unprepared(ctx, err)
	}
	if err := a.open(ctx); err != nil {
		return a.decide(ctx, acp.Turn{}, err), nil
	}
	why := ""
	for {
		a.bus.emit(event.Event{Type: event.Prompted, Task: a.claim.Task.ID, Attempt: a.claim.Attempt, Reason: why})
		a.notePrompted(ctx)
		turn, err := a.say(ctx, text)
		failpoint.Hit("K7")
		d := a.decide(ctx, turn, err)
		if d.Action == policy.Verify || a.finishedMeanwhile() {
			d = a.verify(ctx)
		}
		if d.Drifted {
			a.noteDrift(ctx, d)
		}
		if d.Action != policy.Reprompt {
			return d, nil
		}
		why = d.Reason
		switch d.Say {
		case policy.AskRepair:
			a.facts.Session.Repairs++
			a.facts.Work.Checked = false
			text = a.repair(d)
		case policy.AskDrift:
			a.facts.Session.Nudged++
			text = a.nudge()
		case policy.AskGoOn:
			a.facts.Session.GoneOn++
			text = prompt.GoOn(a.claim.Task.ID)
		default:
			a.facts.Session.Asked++
			text = prompt.Unfinished(a.claim.Task.ID)
		}
	}
}

// unprepared decides about an attempt that did not come to its agent.
func (a *attempt) unprepared(ctx context.Context, err error) (policy.Decision, error) {
	if a.facts.Ended = ended(ctx); a.facts.Ended != policy.Running {
		return policy.Decide(a.facts), nil
	}
	return policy.Decision{Action: policy.Release, Outcome: event.AttemptError, Reason: "ralph could not look at the project: " + err.Error(), Uncounted: true}, err
}

// open starts the agent. Its process is on record before anything is said to it.
func (a *attempt) open(ctx context.Context) error {
	s, err := a.start(ctx, Opening{
		Run: a.run, Task: a.claim.Task, Iteration: a.iteration, Limit: a.opts.Limit, Model: a.choice.Model, Folder: a.folder,
		Agent: a.substitute(), Observe: a.observe, Earlier: a.earlier(ctx),
		Started: func(agent string, id proc.Identity) error {
			failpoint.Hit("K4")
			a.agent = agent
			err := a.opts.Store.Update(ctx, func(g *dag.Graph) error {
				return g.NoteAttempt(a.claim.Attempt, dag.Note{
					Phase: dag.Starting, Agent: agent, Model: a.choice.Model, AgentPID: int64(id.Pid), AgentPIDStart: int64(id.Start),
					Base: a.before.Head, Tree: a.tree, Transcript: filepath.Join(a.folder, "transcript.jsonl"),
				})
			})
			failpoint.Hit("K5")
			return err
		},
	})
	if err != nil {
		return err
	}
	a.session, a.model, a.offered = s, s.Model().Effective, s.Model().Offered
	a.mu.Lock()
	a.active[a.claim.Attempt] = s
	a.mu.Unlock()
	a.note(ctx, dag.Note{ModelEffective: a.model, Session: s.ID(), Sandbox: s.Sandbox()})
	a.bus.emit(event.Event{Type: event.AgentStarted, Task: a.claim.Task.ID, Attempt: a.claim.Attempt, Agent: a.agent, Model: a.model})
	return nil
}

// decide takes in a turn and asks the policy.
func (a *attempt) decide(ctx context.Context, turn acp.Turn, err error) policy.Decision {
	for i, segment := range turn.Segments {
		if i > 0 {
			a.scan.Break()
		}
		a.scan.Write(segment)
	}
	a.scan.Break()
	a.set = a.heard()
	a.answer = append(a.answer, turn.Segments...)
	a.files = append(a.files, turn.Files...)
	a.stop = turn.Stop
	f := &a.facts
	f.Turn.Sigils, f.Turn.Stop, f.Turn.Empty, f.Turn.Err = a.set, turn.Stop, turn.Empty(), nil
	f.Ended = ended(ctx)
	if err != nil {
		if !errors.As(err, &f.Turn.Err) {
			f.Turn.Err = &acp.Error{Kind: acp.CannotStart, Op: "start", Text: err.Error(), Err: err}
		}
	}
	d := policy.Decide(*f)
	if d.Action == policy.Release && f.Turn.Err == nil && f.Session.Asked > 0 && !d.Drifted {
		if f.Turn.Drift = a.driftNow(ctx); len(f.Turn.Drift) > 0 {
			d = policy.Decide(*f)
		}
	}
	f.Session.Answered = f.Session.Answered || !f.Turn.Empty
	return d
}

// notePrompted stores that the agent is at work: from now on it costs something,
// whether or not it lives to tell.
func (a *attempt) notePrompted(ctx context.Context) {
	a.finished = "" // if it was
	a.mu.Lock()
	a.asked = true
	used := a.usageLocked()
	note := dag.Note{Usage: &used}
	a.mu.Unlock()
	note.Phase = dag.Prompted
	a.note(ctx, note)
}

// substitute names who works instead of the run's own agent, or is empty.
func (a *attempt) substitute() string {
	if a.claim.Task.Agent != "" || a.worker == a.opts.Setup.Agent {
		return ""
	}
	return a.worker
}

// ended says who ended an attempt from outside, if anybody did.
func ended(ctx context.Context) policy.Ended {
	switch {
	case ctx.Err() == nil:
		return policy.Running
	case errors.Is(context.Cause(ctx), errLost):
		return policy.Lost
	default:
		return policy.Interrupted
	}
}

// note stores what became known. That it could not be stored is no reason to stop
// an agent at work; the settling write will say so.
func (a *attempt) note(ctx context.Context, n dag.Note) {
	err := a.opts.Store.Update(context.WithoutCancel(ctx), func(g *dag.Graph) error { return g.NoteAttempt(a.claim.Attempt, n) })
	if err != nil {
		a.bus.warn(a.claim.Task.ID, "recording the attempt: "+err.Error())
	}
}

func (r *Runner) counts(ctx context.Context) *event.Counts {
	var c event.Counts
	err := r.opts.Store.View(ctx, func(g *dag.Graph) error {
		t, err := g.Tally(r.opts.Scope)
		c = countsOf(t)
		return err
	})
	if err != nil {
		return nil
	}
	return &c
}
