package loop

import (
	"cmp"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"time"

	"ralph/acp"
	"ralph/dag"
	"ralph/internal/git"
	"ralph/internal/proc"
	"ralph/prompt"
	"ralph/sigils"
	"ralph/strategy"
	"ralph/verify"
)

// Session is one agent at work.
type Session interface {
	Prompt(ctx context.Context, text string) (acp.Turn, error)
	Model() acp.ModelChoice
	Usage() acp.Usage
	ID() string
	Kill() error
	Close() error
}

// Opening is what is needed to open a session for an attempt.
type Opening struct {
	Run       dag.Run
	Task      dag.Task
	Iteration int
	Limit     int
	Model     string // a tier, a name, or "" for the agent's own
	Folder    string // of the attempt, for its transcript
	Observe   func(acp.Event)
	Started   func(agent string, id proc.Identity) error
}

// errLost ends an attempt whose task was taken away.
var errLost = errors.New("the task was taken away")

// attempt is everything known about one try at one task.
type attempt struct {
	*Runner
	claim     dag.Claim
	iteration int
	folder    string
	began     time.Time
	before    git.State
	choice    strategy.Choice

	session Session
	agent   string
	model   string // that took effect
	offered []string
	scan    *sigils.Scanner
	set     sigils.Set
	answer  []string
	files   []string
	stop    acp.StopReason
	usage   acp.Usage
	facts   Facts
}

// attempt makes one try at a task and settles it. The error is for what ends the
// run: the files of the attempt or the database cannot be written.
func (r *Runner) attempt(ctx context.Context, claim dag.Claim, iteration int) error {
	a := &attempt{
		Runner: r, claim: claim, iteration: iteration, began: r.opts.Now(),
		folder: filepath.Join(r.opts.Folder, r.run.ID, claim.Attempt), scan: sigils.NewScanner(claim.Task.ID),
	}
	ctx, lose := context.WithCancelCause(ctx)
	defer lose(nil)
	beating := a.heartbeat(ctx, lose)
	decision, err := a.try(ctx)
	if a.session != nil {
		// Nothing of the agent may be left when the task is given back.
		if cerr := a.session.Close(); cerr != nil {
			a.warn(claim.Task.ID, "closing the agent: "+cerr.Error())
		}
		a.usage = a.session.Usage()
		a.mu.Lock()
		delete(a.active, claim.Attempt)
		a.mu.Unlock()
	}
	lose(nil)
	<-beating
	return errors.Join(err, a.settle(ctx, decision))
}

// try runs the agent and decides, turn by turn.
func (a *attempt) try(ctx context.Context) (Decision, error) {
	a.facts = Facts{
		Attempts: a.claim.Task.Attempts, MaxAttempts: a.opts.MaxAttempts,
		Retries: a.claim.Task.Retries, RetryFailed: a.opts.RetryFailed, Backoff: a.opts.Backoff, Limited: a.limits(),
		OwnAgent: a.claim.Task.Agent != "", OwnModel: a.claim.Task.Model != "",
	}
	broken := Decision{Action: Release, Outcome: "error", Reason: "ralph could not prepare the attempt", Uncounted: true}
	if err := os.MkdirAll(a.folder, 0o700); err != nil {
		return broken, err
	}
	a.before = a.look(ctx)
	text, err := a.gather(ctx)
	if err != nil {
		return broken, err
	}
	a.emit(Event{
		Type: TaskClaimed, Iteration: a.iteration, Task: a.claim.Task.ID, Attempt: a.claim.Attempt,
		Title: a.claim.Task.Title, Agent: cmp.Or(a.claim.Task.Agent, a.opts.Setup.Agent), Model: a.choice.Model, Reason: why(a.choice), Counts: a.counts(ctx),
	})
	if err := a.open(ctx); err != nil {
		return a.decide(ctx, acp.Turn{}, err), nil
	}
	why := ""
	for {
		a.emit(Event{Type: Prompted, Task: a.claim.Task.ID, Attempt: a.claim.Attempt, Reason: why})
		a.note(ctx, dag.Note{Phase: dag.Prompted})
		turn, err := a.session.Prompt(ctx, text)
		d := a.decide(ctx, turn, err)
		if d.Action == Verify {
			d = a.verify(ctx)
		}
		if d.Action != Reprompt {
			return d, nil
		}
		why = d.Reason
		switch d.Say {
		case AskGoOn:
			a.facts.GoneOn++
			text = prompt.GoOn(a.claim.Task.ID)
		default:
			a.facts.Asked++
			text = prompt.Unfinished(a.claim.Task.ID)
		}
	}
}

// open starts the agent. Its process is on record before anything is said to it.
func (a *attempt) open(ctx context.Context) error {
	s, err := a.opts.Open(ctx, Opening{
		Run: a.run, Task: a.claim.Task, Iteration: a.iteration, Limit: a.opts.Limit, Model: a.choice.Model, Folder: a.folder,
		Observe: a.observe,
		Started: func(agent string, id proc.Identity) error {
			a.agent = agent
			return a.opts.Store.Update(ctx, func(g *dag.Graph) error {
				return g.NoteAttempt(a.claim.Attempt, dag.Note{
					Phase: dag.Starting, Agent: agent, Model: a.choice.Model, AgentPID: int64(id.Pid), AgentPIDStart: int64(id.Start),
					Base: a.before.Head, Transcript: filepath.Join(a.folder, "transcript.jsonl"),
				})
			})
		},
	})
	if err != nil {
		return err
	}
	a.session, a.model, a.offered = s, s.Model().Effective, s.Model().Offered
	a.mu.Lock()
	a.active[a.claim.Attempt] = s
	a.offers[cmp.Or(a.claim.Task.Agent, a.opts.Setup.Agent)] = a.offered
	a.mu.Unlock()
	a.note(ctx, dag.Note{ModelEffective: a.model, Session: s.ID()})
	a.emit(Event{Type: AgentStarted, Task: a.claim.Task.ID, Attempt: a.claim.Attempt, Agent: a.agent, Model: a.model})
	return nil
}

// decide takes in a turn and asks the policy.
func (a *attempt) decide(ctx context.Context, turn acp.Turn, err error) Decision {
	for i, segment := range turn.Segments {
		if i > 0 {
			a.scan.Break()
		}
		a.scan.Write(segment)
	}
	a.scan.Break()
	a.set = a.scan.Set()
	a.answer = append(a.answer, turn.Segments...)
	a.files = append(a.files, turn.Files...)
	a.stop = turn.Stop
	f := &a.facts
	f.Sigils, f.Stop, f.Empty, f.Err = a.set, turn.Stop, turn.Empty(), nil
	f.Lost, f.Interrupted = a.interruption(ctx)
	if err != nil {
		if !errors.As(err, &f.Err) {
			f.Err = &acp.Error{Kind: acp.CannotStart, Op: "start", Text: err.Error(), Err: err}
		}
	}
	d := decide(*f)
	f.Answered = f.Answered || !f.Empty
	return d
}

func (a *attempt) interruption(ctx context.Context) (lost, interrupted bool) {
	if ctx.Err() == nil {
		return false, false
	}
	lost = errors.Is(context.Cause(ctx), errLost)
	return lost, !lost
}

// verify runs the gates over what the agent says is done.
func (a *attempt) verify(ctx context.Context) Decision {
	a.note(ctx, dag.Note{Phase: dag.Answered, StopReason: string(a.stop)})
	f := &a.facts
	f.Verified = true
	if !a.opts.Skip {
		a.note(ctx, dag.Note{Phase: dag.Verifying})
		f.Gates, f.GateErr = a.runGates(ctx)
	}
	f.Lost, f.Interrupted = a.interruption(ctx)
	return decide(*f)
}

func (a *attempt) runGates(ctx context.Context) ([]verify.Result, error) {
	gates := slices.Concat(a.opts.Gates, a.claim.Task.Gates)
	if len(gates) == 0 {
		return nil, nil
	}
	path := filepath.Join(a.folder, "verify.log")
	log, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	judge := a.opts.Judge
	judge.Owner = a.run.Owner // what a gate leaves running dies with the run's
	var results []verify.Result
	for _, command := range gates {
		a.emit(Event{Type: GateStarted, Task: a.claim.Task.ID, Attempt: a.claim.Attempt, Gate: &GateEvent{Command: command}})
		if _, err := log.WriteString("$ " + command + "\n"); err != nil {
			return results, err
		}
		res, err := judge.Run(ctx, command, log)
		if err != nil {
			return results, err
		}
		a.emit(Event{
			Type: GateEnded, Task: a.claim.Task.ID, Attempt: a.claim.Attempt,
			Gate: &GateEvent{Command: command, Passed: res.Passed, Exit: res.Exit, Log: path},
		})
		results = append(results, res)
		if !res.Passed {
			break
		}
	}
	return results, nil
}

// note stores what became known. That it could not be stored is no reason to stop
// an agent at work; the settling write will say so.
func (a *attempt) note(ctx context.Context, n dag.Note) {
	err := a.opts.Store.Update(context.WithoutCancel(ctx), func(g *dag.Graph) error { return g.NoteAttempt(a.claim.Attempt, n) })
	if err != nil {
		a.warn(a.claim.Task.ID, "recording the attempt: "+err.Error())
	}
}

func (a *attempt) limits() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.limited
}

func (r *Runner) counts(ctx context.Context) *Counts {
	var c Counts
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
