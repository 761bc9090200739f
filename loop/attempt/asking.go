package attempt

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"ralph/acp"
	"ralph/internal/detect"
	"ralph/internal/inbox"
	"ralph/internal/plain"
	"ralph/internal/seq"
	"ralph/prompt"
)

// asking is the desk of an attempt. It remembers that the attempt waits for an answer.
type asking struct {
	Desk
	now func() time.Time

	mu     sync.Mutex
	parked string // the first question that nobody answered in time
	since  time.Time
}

// Ask is called by the tools of the session, in goroutines of theirs.
func (a *asking) Ask(ctx context.Context, r inbox.Request) (inbox.Request, error) {
	r, err := a.Desk.Ask(ctx, r)
	if err != nil || !r.Parks || r.State != inbox.Open {
		return r, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.parked == "" {
		a.parked, a.since = r.ID, a.now()
	}
	return r, nil
}

// waiting is the question that the attempt waits for, and since when.
func (a *asking) waiting() (id string, since time.Time) {
	if a == nil {
		return "", time.Time{}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.parked, a.since
}

// inspectAnswers cuts the turn of an agent that waits for an answer. It was told to end it, and has a moment to do so.
func (a *attempt) inspectAnswers() error {
	if id, since := a.talk.asks.waiting(); id != "" && a.Now().Sub(since) >= 2*a.Poll {
		return errCut{parked: id}
	}
	return nil
}

// How a person is asked about an anomaly, and the answer after which it is none for this task.
const (
	unusualQuestion = "The agent was stopped for something unusual: "
	needsUnusual    = "yes, go on with it"
)

// askAboutUnusual asks a person about what an agent was stopped for, if that is configured. What is answered in time is
// for the next prompt; otherwise the task waits for the answer.
func (a *attempt) askAboutUnusual(ctx context.Context, signals []detect.Signal) {
	anomalies := slices.DeleteFunc(slices.Clone(signals), func(s detect.Signal) bool { return !s.Anomaly() })
	if len(anomalies) == 0 || !a.job.Detect.Anomaly.Ask || a.talk.asks == nil {
		return
	}
	r, err := a.talk.asks.Ask(ctx, inbox.Request{
		Kind: inbox.Question, Text: unusualQuestion + detect.Texts(anomalies) + ". Is that what the task needs?",
		Options: []string{needsUnusual, "no, do without it"}, Parks: true,
	})
	switch {
	case err != nil && ctx.Err() == nil:
		a.warn(a.job.Task.ID, "a person could not be asked about something unusual: "+err.Error())
	case r.State == inbox.Answered:
		a.talk.approved = a.watch.approve(r) && len(anomalies) == len(signals)
		a.talk.injected.add("A person was asked whether the task needs that, and says: " + r.Answer)
	}
}

// queries are what people ask the agent. A script has no answers, and says so.
func (a *attempt) queries(ctx context.Context) []inbox.Request {
	if a.talk.asks == nil {
		return nil
	}
	list := a.talk.asks.Queries(ctx)
	if !a.evident() {
		return list
	}
	for _, q := range list {
		a.talk.asks.Reply(ctx, q.ID, "A script works on the task: it cannot be asked.")
	}
	return nil
}

// query is the prompt that asks the agent the oldest of what people ask. What it says in its turn is the answer.
func (a *attempt) query(ctx context.Context, task string) string {
	a.said.Queried++
	list := a.queries(context.WithoutCancel(ctx))
	if len(list) == 0 { // somebody else has answered
		return prompt.Unfinished(task)
	}
	a.talk.query = list[0].ID
	return prompt.Query(task, Messages(list[:1])[0])
}

// reply stores what the agent said in a turn as the answer to what it was asked. If the turn did not end by itself, it is
// asked again.
func (a *attempt) reply(ctx context.Context, turn acp.Turn) {
	id := a.talk.query
	a.talk.query = ""
	if id == "" || turn.Stop != acp.StopEnd {
		return
	}
	text, err := turn.Text()
	if err != nil {
		text = "What it said could not be read: " + err.Error()
	}
	text = strings.TrimSpace(a.Redact.Text(text))
	a.talk.asks.Reply(ctx, id, cmp.Or(plain.Cut(text, inbox.MaxText), "The agent said nothing."))
}

// unread are the messages that came while the agent worked.
func (a *attempt) unread(ctx context.Context) []inbox.Request {
	if a.talk.asks == nil {
		return nil
	}
	return a.talk.asks.Unread(context.WithoutCancel(ctx))
}

// mail gives the agent the messages that it has not got, in the words of a prompt.
func (a *attempt) mail(ctx context.Context) []prompt.Message {
	list := a.unread(ctx)
	if len(list) > 0 {
		a.talk.asks.Give(list)
	}
	return Messages(list)
}

// Unreceived are the IDs of the answers that the agent is told in its first prompt.
func Unreceived(answers []inbox.Request) (ids []string) {
	for _, r := range answers {
		if r.ReceivedAt.IsZero() {
			ids = append(ids, r.ID)
		}
	}
	return ids
}

// Messages are requests as a prompt tells them.
func Messages(list []inbox.Request) []prompt.Message {
	return seq.Map(list, func(m inbox.Request) prompt.Message { return prompt.Message{From: m.Sender, Text: m.Text} })
}
