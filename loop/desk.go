package loop

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"ralph/dag"
	"ralph/internal/event"
	"ralph/internal/inbox"
	"ralph/internal/provenance"
	"ralph/internal/seq"
	"ralph/internal/testing/failpoint"
	"ralph/internal/wake"
	"ralph/loop/attempt"
	"ralph/prompt"
)

// Inbox is how a run deals with what agents ask.
type Inbox struct {
	Wait   time.Duration // how long an agent waits for an answer in its turn; 0: not at all
	Expire time.Duration // after which the default answer holds; 0: never

	NoCredentials string           // why agents get none; "" if they do
	Trust         provenance.Store // has the seals of answers: what an agent wrote into the database has none
}

func badSignature(r inbox.Request) string {
	return r.ID + " is open again: its answer was not given by ralph inbox answer outside a sandbox, or not for this folder; answer it again"
}

// desk is where the agent of one attempt asks and is told something. Everything it does needs the claim.
type desk struct {
	shared
	claim  dag.Claim
	record func(context.Context, attempt.Record) error

	mu    sync.Mutex
	given []string             // what the agent is told, and has not received
	asked map[string]time.Time // how long the answer to a request is waited for
}

// newDesk is told which answers are part of the first prompt.
func newDesk(r *recorder, answers []inbox.Request) *desk {
	return &desk{shared: r.shared, claim: r.claim, record: r.record, asked: map[string]time.Time{}, given: attempt.Unreceived(answers)}
}

func (d *desk) Ask(ctx context.Context, r inbox.Request) (inbox.Request, error) {
	if err := d.record(ctx, attempt.Record{Asked: &r}); err != nil {
		return r, err
	}
	return d.await(ctx, r, d.answerDeadline(r.ID))
}

// answerDeadline is how long the answer to a request is waited for: once in an attempt, however often its agent asks.
func (d *desk) answerDeadline(id string) time.Time {
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, asked := d.asked[id]; !asked {
		d.asked[id] = d.opts.Host.Now().Add(d.opts.Inbox.Wait)
	}
	return d.asked[id]
}

// await waits for an answer that is of use to this session.
func (d *desk) await(ctx context.Context, r inbox.Request, until time.Time) (inbox.Request, error) {
	now := d.opts.Host.Now
	for r.State == inbox.Open && r.Immediate() && now().Before(until) {
		wake.Pause(ctx, nil, earlier(until, now().Add(d.opts.Workers.Poll)), now, d.opts.Workers.Poll)
		switch {
		case ctx.Err() == nil:
		case r.Parks: // clients of tools have limits of their own; whoever gave up must not go on with a guess
			return r, nil
		default:
			return r, context.Cause(ctx)
		}
		err := d.opts.Graph.Store.View(context.WithoutCancel(ctx), func(g *dag.Graph) (err error) { r, err = inbox.Get(g, r.ID); return err })
		if err != nil {
			return r, err
		}
	}
	var bad []inbox.Request
	if r.Forged(d.opts.Inbox.Trust) {
		err := d.opts.Graph.Store.Update(ctx, func(g *dag.Graph) (err error) { bad, err = inbox.Disown(g, d.opts.Inbox.Trust, r); return err })
		if err != nil {
			return r, err
		}
	}
	for _, r = range bad {
		d.bus.warn(d.claim.Task.ID, badSignature(r))
	}
	if r.State != inbox.Open {
		failpoint.Hit("before-reply")
		d.bus.emit(d.about(event.Answered, r, d.opts.Inbox.answer(r)))
		d.Give([]inbox.Request{r})
	}
	return r, nil
}

func (d *desk) about(kind event.Type, r inbox.Request, text string) event.Event {
	e := questionEvent(kind, r, text)
	e.Title = d.claim.Task.Title
	return e
}

func questionEvent(kind event.Type, r inbox.Request, text string) event.Event {
	e := event.Event{
		Type: kind, Task: r.Task, Attempt: r.Attempt, Text: text,
		Question: &event.Question{ID: r.ID, Kind: string(r.Kind), Options: r.Options, Parks: r.Parks},
	}
	if kind == event.Asked {
		e.Command = "ralph inbox answer " + r.ID
	} else {
		e.Outcome = string(r.State)
	}
	return e
}

func (d *desk) Send(ctx context.Context, task, text string) error {
	return d.record(ctx, attempt.Record{Sent: &attempt.Message{Task: task, Text: text}})
}

func (d *desk) Messages(ctx context.Context) (list []inbox.Request, err error) {
	err = d.opts.Graph.Store.View(ctx, func(g *dag.Graph) error {
		if err := g.Queue.Holds(d.claim); err != nil {
			return err
		}
		list, err = inbox.Unread(g, d.claim.Task.ID, d.claim.Attempt)
		return err
	})
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.DeleteFunc(list, func(r inbox.Request) bool { return slices.Contains(d.given, r.ID) }), err
}

func (d *desk) Unread(ctx context.Context) []inbox.Request { return d.unread(ctx, d.claim) }

// unread are the messages that the task of a claim has not received.
func (s shared) unread(ctx context.Context, claim dag.Claim) (list []inbox.Request) {
	err := s.opts.Graph.Store.View(ctx, func(g *dag.Graph) (err error) { list, err = inbox.Unread(g, claim.Task.ID, claim.Attempt); return err })
	if err != nil {
		s.bus.warnOnce("messages", "messages could not be read: "+err.Error())
	}
	return list
}

func (d *desk) Queries(ctx context.Context) (list []inbox.Request) {
	err := d.opts.Graph.Store.View(ctx, func(g *dag.Graph) (err error) { list, err = inbox.Queries(g, d.claim.Task.ID); return err })
	if err != nil {
		d.bus.warnOnce("messages", "messages could not be read: "+err.Error())
	}
	return list
}

func (d *desk) Reply(ctx context.Context, id, text string) {
	err := d.opts.Graph.Store.Update(ctx, func(g *dag.Graph) error {
		return inbox.Respond(g, id, text)
	})
	if err != nil && !errors.Is(err, dag.ErrRefused) { // somebody else may have answered
		d.bus.warnOnce("messages", "what the agent answered could not be stored: "+err.Error())
	}
}

func (d *desk) Give(list []inbox.Request) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.given = append(d.given, seq.Map(list, func(r inbox.Request) string { return r.ID })...)
}

func (d *desk) Received(ctx context.Context) {
	d.mu.Lock()
	given := d.given
	d.given = nil
	d.mu.Unlock()
	if len(given) == 0 {
		return
	}
	if err := d.record(ctx, attempt.Record{Received: given}); err != nil && !errors.Is(err, dag.ErrLost) { // the next attempt gets them, too
		d.bus.warnOnce("messages", "that messages were received could not be stored: "+err.Error())
	}
}

// answer is what an agent is told about a request that is over.
func (i Inbox) answer(r inbox.Request) string {
	switch {
	case r.Denied:
		return strings.TrimSuffix("The answer is no: "+r.Answer, ": ")
	case r.Kind == inbox.Credential && r.State == inbox.Answered:
		if i.NoCredentials != "" {
			return "You do not get it now: " + i.NoCredentials + ". Do what can be done without it."
		}
		return "It is in your environment, as " + r.Variable() + "."
	case r.State == inbox.Withdrawn:
		return "Nobody needs the answer any more: " + r.Reason
	case r.State == inbox.Expired && r.Answer != "":
		return "Nobody answered in time, so the default applies: " + r.Told()
	}
	return cmp.Or(r.Told(), "Nobody answered in time: decide by yourself, and note in the journal what you assumed.")
}

// answers are what a task asked and was answered, as its prompts tell it.
func (i Inbox) answers(list []inbox.Request) []prompt.Answered {
	return seq.Map(list, func(r inbox.Request) prompt.Answered { return prompt.Answered{Question: r.Text, Answer: i.answer(r)} })
}
