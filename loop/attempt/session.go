package attempt

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"ralph/acp"
	"ralph/dag"
	"ralph/internal/agents"
	"ralph/internal/budget"
	"ralph/internal/detect"
	"ralph/internal/event"
	"ralph/internal/human"
	"ralph/internal/inbox"
	"ralph/internal/proc"
	"ralph/internal/testing/failpoint"
	"ralph/internal/wake"
	"ralph/loop/policy"
)

// open starts the agent. Its process is on record before anything is said to it.
func (a *attempt) open(ctx context.Context) error {
	op := a.opening(a.job.Place.Folder, a.job.Review != nil)
	op.Resume = a.job.Session
	for _, r := range a.job.History.Answers {
		if a.job.Review == nil && r.Kind == inbox.Credential && r.Granted() {
			op.Credentials = append(op.Credentials, r)
		}
	}
	if tools := a.ports.Tools; tools != nil && a.job.Review == nil {
		op.Tools = tools
		if op.Inbox != nil {
			tools.Reach(op.Inbox)
		}
	}
	op.Started = func(agent string, id proc.Identity) error {
		failpoint.Hit("agent-started")
		a.use.Name = agent
		err := a.ports.Record(ctx, Record{Note: &dag.Note{
			Phase: dag.Starting, Agent: agent, Model: op.Model, AgentPID: int64(id.Pid), AgentPIDStart: int64(id.Start),
			Base: a.evidence.before.Head, Tree: a.evidence.tree, Transcript: filepath.Join(op.Folder, "transcript.jsonl"),
		}})
		failpoint.Hit("in-handshake")
		return err
	}
	s, err := a.start(ctx, op)
	if err != nil {
		return err
	}
	a.talk.session = &metered{Session: s, agent: a.use.Name, asked: op.Model, own: true}
	a.meter.add(a.talk.session)
	a.seen.Opened, a.use.Model, a.use.Offered, a.use.Sandbox, a.use.Evident = true, s.Model().Effective, s.Model().Offered, s.Sandbox(), s.Evident()
	a.note(ctx, dag.Note{ModelEffective: a.use.Model, Session: s.ID(), Sandbox: a.use.Sandbox})
	a.tell(event.Event{Type: event.AgentStarted, Agent: a.use.Name, Model: a.use.Model})
	return nil
}

// opening is what every session of the attempt is opened with.
func (a *attempt) opening(folder string, verifier bool) Opening {
	op := Opening{Dir: a.job.Place.Dir, SessionSpec: agents.SessionSpec{
		Run: a.job.Run, Task: a.job.Task, Env: a.job.Place.Env, Verifier: verifier, Review: a.job.Review != nil && !a.job.Review.Acceptance(), Observe: a.observe,
		Conversation: acp.Conversation{Model: a.job.Agent.Choice.Model, Folder: folder},
	}}
	if verifier {
		gates, env := a.ports.Lane.Room()
		op.Dir, op.Env = gates.Dir, env
	} else { // a person chose these for the work
		op.Effort, op.TurnTimeout = string(a.job.Agent.Effort), a.job.Task.Timeout
	}
	if a.talk.asks != nil && !verifier {
		op.Inbox = a.talk.asks
	}
	op.Decide, op.After = a.permit(op), a.afterCall(op)
	if a.job.Agent.Standing.Substitute {
		op.Substitute = a.job.Agent.Name
	}
	return op
}

// restarts are the waits before each new try to start an agent: a minute together.
func restarts() []time.Duration {
	return []time.Duration{2 * time.Second, 4 * time.Second, 8 * time.Second, 16 * time.Second, 30 * time.Second}
}

// start opens a session. An agent that has answered in this run and cannot be started
// now is most likely being updated, or the machine is short of processes: it is worth
// another try before the run does without it.
func (a *attempt) start(ctx context.Context, op Opening) (Session, error) {
	agent, proven := a.job.Agent.Name, a.job.Agent.Standing.Proven || a.said.Answered || a.seen.VerifierAnswered
	if op.Verifier && !op.Review {
		if name := cmp.Or(a.job.Agent.Verifier, agent); name != agent {
			agent, proven = name, a.job.Agent.VerifierProven || a.seen.VerifierAnswered
		}
	}
	a.said.Restarted = false
	s, err := a.openLimited(ctx, op)
	for i, wait := range restarts() {
		if !proven || !passing(err) || ctx.Err() != nil {
			return s, err
		}
		a.warn(a.job.Task.ID, fmt.Sprintf("%s could not be started: %v; retry %d of %d in %s", agent, err, i+1, len(restarts()), wait))
		wake.Pause(ctx, nil, a.Now().Add(wait), a.Now, a.Poll)
		if ctx.Err() == nil {
			s, err = a.openLimited(ctx, op)
		}
	}
	if err == nil || ctx.Err() != nil {
		return s, err
	}
	a.said.Restarted = true
	return nil, &acp.Error{Kind: acp.CannotStart, Op: "start", Text: fmt.Sprintf("%d retries; the last: %v", len(restarts()), err), Err: err}
}

// openLimited opens a session that is killed if the attempt uses too much. Asking its agent to end would give it time to use more.
func (a *attempt) openLimited(ctx context.Context, op Opening) (Session, error) {
	s, err := a.Open(ctx, op)
	if err == nil {
		context.AfterFunc(ctx, func() {
			if overLimit(ctx) {
				_ = s.Kill() // closing it says what survives
			}
		})
	}
	return s, err
}

// passing reports whether an agent could not be started for a reason that may pass.
func passing(err error) bool {
	return errors.Is(err, acp.NotFound) || errors.Is(err, acp.CannotStart) || errors.Is(err, acp.Died)
}

// prompt sends a prompt and guards the turn: it is cut short when a budget is exceeded,
// nothing comes of it or the target moves against it.
func (a *attempt) prompt(ctx context.Context, text string) (acp.Turn, error) {
	end, hooked := a.watch.beginTurn(), a.toolAfter(ctx)
	turn, cut, err := a.guard(a.inspect).Turn(ctx, a.talk.session, text)
	end()
	hooked()
	a.meter.tell()
	why := asCut(cut)
	a.turn = policy.Turn{Over: why.over}
	if !turn.Completed() {
		a.turn.Cut, a.turn.Drift, a.turn.Moved = len(why.drift) > 0, why.drift, why.moved
		a.askAboutUnusual(ctx, why.drift)
	} else if a.talk.asks != nil {
		failpoint.Hit("after-reply")
		a.talk.asks.Received(context.WithoutCancel(ctx))
	}
	return turn, err
}

// guard looks at every piece of news of the attempt.
func (a *attempt) guard(inspect func(context.Context) error) acp.Guard {
	return acp.Guard{Every: a.Poll, News: a.watch.news, Inspect: inspect}
}

// inspect says why a turn must end, or nil.
func (a *attempt) inspect(ctx context.Context) error {
	if err := a.inspectBudgets(ctx); err != nil {
		return err
	}
	if err := a.inspectAnswers(); err != nil {
		return err
	}
	if signals := a.watch.during(a.talk.session.Usage()); len(signals) > 0 {
		return errCut{drift: signals}
	}
	return a.inspectTarget(ctx)
}

func (a *attempt) inspectBudgets(ctx context.Context) error {
	a.meter.tell()
	if over := a.overspent(ctx); over != nil {
		return errCut{over: over}
	}
	return nil
}

// errCut cuts a turn short: because of a budget, of drift, because the target has moved, or to wait for an answer.
type errCut struct {
	over   *budget.Finding
	drift  []detect.Signal
	moved  bool
	parked string
}

func (e errCut) Error() string {
	switch {
	case e.over != nil:
		return "a budget is used up: " + e.over.Text
	case e.parked != "":
		return "it waits for the answer to " + e.parked
	case e.moved:
		return "moved: the target conflicts with the work"
	}
	return "drift: " + detect.Texts(e.drift)
}

// asCut is why a turn was cut short, if it was.
func asCut(cause error) (e errCut) {
	errors.As(cause, &e)
	return e
}

// overspent is the budget that does not let this attempt spend any more, or nil.
func (a *attempt) overspent(ctx context.Context) *budget.Finding {
	over, err := a.ports.Budget(ctx)
	if err != nil && ctx.Err() == nil {
		a.WarnOnce("spending", "what was spent could not be added up: "+err.Error())
	}
	for _, f := range over {
		if f.Stops() {
			return &f
		}
	}
	return nil
}

// observe turns what a session reports into events of the run.
func (a *attempt) observe(e acp.Event) {
	for _, f := range a.watch.see(e) {
		a.tell(event.Event{Type: event.Anomaly, Outcome: string(f.Kind), Reason: f.Text})
	}
	out := event.Event{}
	switch e := e.(type) {
	case acp.Text:
		failpoint.Hit("in-prompt")
		failpoint.Hit("in-prompt-in-slot")
		out.Type, out.Text = event.AgentText, e.Text
	case acp.Thought:
		out.Type, out.Text = event.AgentThought, e.Text
	case acp.ToolCall:
		out.Type = event.AgentTool
		out.Tool = &event.Tool{ID: e.ID, Title: e.Title, Kind: e.Kind, Status: e.Status, New: e.New, Error: e.Error}
	case acp.Plan:
		out.Type = event.AgentPlan
		for _, entry := range e.Entries {
			out.Plan = append(out.Plan, entry.Status+": "+entry.Content)
		}
	case acp.UsageSeen:
		used := a.meter.tell() // of all sessions of the attempt, a verifier's too
		used.Context = e.ContextUsed
		out.Type, out.Usage = event.AgentUsage, &used
	case acp.Permission:
		out.Type, out.Text, out.Outcome = event.AgentAsked, e.Title, e.Answer
		if e.Rule != "" {
			out.Agent, out.Reason, out.Call = a.job.Agent.Name, e.Reason, &event.Call{Kind: e.Kind, Text: e.Text, Allowed: e.Allow, Rule: e.Rule, By: e.By}
		}
	case acp.Resumed:
		out.Type, out.Text = event.AgentResumed, e.Session
	case acp.Warned:
		out.Type, out.Text = event.Warned, e.Text
	case acp.Dropped:
		out.Type, out.Text = event.Warned, human.Count(e.Events, "event")+" not shown: showing them was slower than the agent"
	default: // what else happens is in the transcript
		return
	}
	a.tell(out)
}

// tell emits an event of this attempt.
func (a *attempt) tell(e event.Event) {
	e.Task, e.Attempt = a.job.Task.ID, a.job.Run.Attempt
	a.Observe(e)
}
