package mcp

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"ralph/internal/inbox"
	"ralph/internal/plain"
)

// Inbox is how an agent reaches people and other agents.
type Inbox interface {
	// Ask stores a request and waits a while for the answer. One that is open then parks the task.
	Ask(ctx context.Context, r inbox.Request) (inbox.Request, error)
	// Send tells the agent of a task something, or those of all tasks that were begun, if the ID is empty.
	Send(ctx context.Context, task, text string) error
	// Messages are those that the agent was not given, oldest first, and Give says which it is given now.
	Messages(ctx context.Context) ([]inbox.Request, error)
	Give(list []inbox.Request)
}

// Reach lets the agent ask from the next connection on.
func (s *Session) Reach(i Inbox) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.inbox = i
}

func (s *Session) reached() Inbox {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.inbox
}

type questionInput struct {
	Question string   `json:"question" jsonschema:"what to decide, with all that a person has to know to answer it later"`
	Options  []string `json:"options,omitempty" jsonschema:"answers to choose from; without any the answer is free text"`
	Default  string   `json:"default,omitempty" jsonschema:"the answer that applies if nobody gives one in time"`

	Credential string   `json:"credential,omitempty" jsonschema:"instead of an answer, a credential: the name of the variable, like STRIPE_API_KEY, under which it is to be in your environment; question says what for"`
	MayChange  []string `json:"may_change,omitempty" jsonschema:"instead of an answer, permission to change files that check your work: tests, their data, settings or files of CI, as paths or globs; question says why the task needs it"`
}

func ask(ctx context.Context, s *Session, in questionInput) (string, error) {
	if strings.TrimSpace(in.Question) == "" {
		return "", errors.New("ask something")
	}
	q := inbox.Request{Kind: inbox.Question, Text: strings.TrimSpace(in.Question), Options: in.Options, Default: in.Default, Parks: true}
	switch {
	case in.Credential != "" && len(in.MayChange) > 0:
		return "", errors.New("ask for a credential or for may_change, not for both at once")
	case in.Credential != "":
		q = inbox.NewCredential(in.Credential, q.Text)
	case len(in.MayChange) > 0:
		q = inbox.NewChange(in.MayChange, q.Text)
	}
	r, err := s.reached().Ask(ctx, q)
	if err != nil {
		return "", err
	}
	switch {
	case r.State == inbox.Open:
		return fmt.Sprintf("Stored as %s; nobody has answered yet. End your turn now, without a report: the task continues when it is answered, and you get the answer then.", r.ID), nil
	case r.State == inbox.Withdrawn:
		return "", fmt.Errorf("the question was withdrawn: %s", r.Reason)
	case r.Denied:
		return "refused: " + r.Answer, nil
	case r.State == inbox.Expired && r.Answer == "":
		return "nobody answered in time, and there is no default: decide yourself", nil
	case r.State == inbox.Expired:
		return "nobody answered in time, so the default applies: " + r.Answer, nil
	}
	return "answer: " + r.Answer, nil
}

type messageInput struct {
	To   string `json:"to,omitempty" jsonschema:"ID of the task whose agent gets it; left out, all agents at work get it"`
	Text string `json:"text"`
}

func send(ctx context.Context, s *Session, in messageInput) (string, error) {
	if strings.TrimSpace(in.Text) == "" {
		return "", errors.New("say something")
	}
	return "sent", s.reached().Send(ctx, strings.TrimSpace(in.To), in.Text)
}

// messages gives as many as an answer holds, at least one: what is cut off would count as received.
func messages(ctx context.Context, s *Session, _ struct{}) (string, error) {
	list, err := s.reached().Messages(ctx)
	if err != nil || len(list) == 0 {
		return "no message", err
	}
	text, given := "", 0
	for ; given < len(list); given++ {
		next := fmt.Sprintf("from %s:\n%s\n", list[given].Sender, plain.Indent(list[given].Text)) // as prompts quote it: no text can look like the next sender
		if more := fmt.Sprintf("(%d more: call again)", len(list)-given); given > 0 && len(text+next+more) > maxAnswer {
			text += more
			break
		}
		text += next
	}
	s.reached().Give(list[:given])
	return text, nil
}
