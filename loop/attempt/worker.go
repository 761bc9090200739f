package attempt

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"ralph/acp"
	"ralph/dag"
	"ralph/internal/agents"
	"ralph/internal/budget"
	"ralph/internal/event"
	"ralph/internal/hooks"
	"ralph/internal/inbox"
	"ralph/internal/permission"
	"ralph/internal/redact"
	"ralph/internal/resource"
	"ralph/prompt"
	"ralph/sigils"
	"ralph/verify"
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
	// Freeze stops it and all it started until it is thawed: it is between two turns.
	Freeze() (thaw func())
	// Renew has what is in its slot now count as untouched: ralph itself checked something out there.
	Renew() error
}

// Opening is what is needed to open a session for an attempt.
type Opening struct {
	agents.SessionSpec
	Dir         string          // the folder of the attempt's slot, or of its project
	Inbox       Inbox           // through which its tools ask; nil for a verifier
	Credentials []inbox.Request // that its agent asked for and was given
}

// Worker is what a machine brings. One value serves all attempts of a process; it has no
// state of its own but Baselines and Demand.
type Worker struct {
	Open      func(context.Context, Opening) (Session, error)
	Warm      func(context.Context, Opening) // a session like this is likely to be opened soon
	Cool      func()                         // what waits for that is in the way
	Gates     verify.Gates                   // Dir and Owner come from the job
	Withheld  string                         // which variables gates are not given, and what to do if one needs them
	Baselines *Baselines
	Demand    *Demand
	Documents func(dag.Task) Sources                                                      // the documents of a task alone
	Sources   func(ctx context.Context, dir string, t dag.Task, changed []string) Sources // with knowledge and skills
	Prices    budget.Prices
	OwnFiles  func(context.Context) []string // files below Dir that ralph itself writes
	Hooks     *hooks.Set                     // nil means none

	Permissions *permission.Book  // nil means that everything is allowed
	Resources   *resource.Limiter // nil limits nothing
	Redact      *redact.Redactor
	Observe     func(event.Event)
	WarnOnce    func(subject, text string) // once for each subject
	Poll        time.Duration
	Now         func() time.Time
}

// Sources are what a prompt takes from files, read for each attempt.
type Sources struct {
	Spec, Plan    prompt.Document
	SpecBy        string   // which attempt may have left the specification so, without a person's consent
	Instructions  []string // names of files such as AGENTS.md
	Sections      *prompt.Sections
	Knowledge     prompt.Document
	TaskKnowledge prompt.Document
	Told          []string // the sums of what that is
	Skills        []prompt.Skill
	Unread        []Unread
}

// Unread is a file that cannot be read, and why.
type Unread struct{ Subject, Text string }

// Ports are what one attempt reports to and asks.
type Ports struct {
	// Record stores what must outlive this process. It is called in order from the attempt's goroutine, but for what sessions use, ask and
	// send.
	Record  func(context.Context, Record) error
	Excuses Excuses
	// Budget finds the budgets that are exceeded.
	Budget func(context.Context) ([]budget.Finding, error)
	Tools  Tools // nil if the agent gets none
	// FeatureEnd is what the feature is compared with if the attempt's task is its last; nil otherwise, and where the graph is out of reach.
	FeatureEnd func(context.Context) (*dag.FeatureEnd, error)
	Lane       Lane
	Desk       Desk // nil if no one can be asked
}

// Inbox is how the tools of a session reach people and other agents. It serves many calls at once.
type Inbox interface {
	// Ask stores a request of the attempt and waits a while for the answer. What is still open then parks the task, if it is of
	// that sort: the turn is cut a little later, and the answer is part of the next prompt. Otherwise it counts as denied.
	Ask(ctx context.Context, r inbox.Request) (inbox.Request, error)
	// Send tells the agent of a task something, or those of all tasks that were begun, if the ID is empty.
	Send(ctx context.Context, task, text string) error
	// Messages are those that the attempt's task has not received and its agent was not given.
	Messages(ctx context.Context) ([]inbox.Request, error)
	// Give says that the agent is told messages or answers. They count as received when the turn ends.
	Give(list []inbox.Request)
}

// Tools are what the agent can call in its turns.
type Tools interface {
	// Serve answers the calls on one connection. It is called from any goroutine.
	Serve(ctx context.Context, conn io.ReadWriteCloser) error
	// Said is what the agent reported by calls since the last Forget.
	Said(ctx context.Context) sigils.Set
	Forget()
	// Reach lets the agent ask, from the next connection on.
	Reach(i Inbox)
}

// Desk is the inbox with what the attempt itself needs of it.
type Desk interface {
	Inbox
	// Queries are what people ask the agent and it has not answered.
	Queries(ctx context.Context) []inbox.Request
	// Reply is what it answers to one of them.
	Reply(ctx context.Context, id, text string)
	// Unread are the messages that the attempt's task has not received.
	Unread(ctx context.Context) []inbox.Request
	// Received says that the agent has heard what was given to it.
	Received(ctx context.Context)
}

// ErrLost is the cause of a context whose attempt no longer holds its task.
var ErrLost = errors.New("the task was taken away")

// ErrUnrenewed is the cause if another run may hold the task: where nobody can see that
// we live, the lease decides.
var ErrUnrenewed = fmt.Errorf("%w, or may be: the claim could not be renewed for longer than its lease", ErrLost)

// ErrStopped is the cause if a person ended the attempt, and the task is still ours.
var ErrStopped = errors.New("a person stopped it")

func (w Worker) warn(task, text string) {
	w.Observe(event.Event{Type: event.Warned, Task: task, Text: text})
}
