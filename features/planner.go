package features

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"sync"

	"ralph/acp"
	"ralph/dag"
	"ralph/internal/redact"
)

// Planner plans one feature: its places, and who helps.
type Planner struct {
	Name    string // of the feature; empty for tasks that belong to none
	Root    string // the folder of the project
	Folder  string // of the feature's documents
	Staging string // of its steps
	Store   *dag.Store

	Instructions []string // names of files such as AGENTS.md
	Gates        []string // what ralph runs after every task
	Program      string   // the command that starts ralph, for agents that prefer commands

	Redact *redact.Redactor // hides secrets in what agents say and propose; documents are theirs. nil hides nothing

	// Open starts an agent whose working folder is Work.
	Open func(ctx context.Context, at Opening) (Session, error)
	// Ask puts a question to a person; an empty answer means that there is nothing
	// more to say. Nil means that nobody can be asked.
	Ask func(ctx context.Context, question string) (string, error)
	// Show lets a person see a text.
	Show func(title, text string)
	// Note tells what goes on, Warn what a person should look at.
	Note, Warn func(format string, args ...any)
	// Scratch makes the agent's folder a project of its own, with these tasks (JSON
	// lines) in it, and Added returns the tasks that were added there since.
	Scratch func(ctx context.Context, work string, tasks []byte) error
	Added   func(ctx context.Context, work string) ([]byte, error)
	// Watch remembers how the project is, and what it returns lists the files that
	// are not so any more. Nil means that nobody can tell.
	Watch func(ctx context.Context) (changed func(context.Context) []string)
}

// Opening is where a session is opened.
type Opening struct {
	Step string // spec, plan or build
	Work string // the agent's working folder
	Logs string // for the transcript
}

// Session is a conversation with an agent.
type Session interface {
	Prompt(ctx context.Context, text string) (acp.Turn, error)
	Close() error
}

// Path is where a document of the feature stands.
func (d *Planner) Path(name string) string { return filepath.Join(d.Folder, name) }

// open starts an agent for a step.
func (d *Planner) open(ctx context.Context, s *staging) (Session, error) {
	logs, err := s.logs()
	if err != nil {
		return nil, err
	}
	return d.Open(ctx, Opening{Step: filepath.Base(s.dir), Work: s.work(), Logs: logs})
}

// say takes one turn. A turn that says nothing is an error: agents end one that way
// when they are limited or not logged in.
func (d *Planner) say(ctx context.Context, s Session, text string) (acp.Turn, error) {
	turn, err := s.Prompt(ctx, text)
	switch {
	case err != nil:
		return turn, err
	case turn.Stop == acp.StopRefusal:
		return turn, &acp.Error{Kind: acp.Refused, Op: "plan", Text: "the agent refused to answer"}
	case turn.Empty():
		return turn, &acp.Error{Kind: acp.RateLimited, Op: "plan", Text: "the agent ended its turn without a word: it may be limited, or not logged in"}
	}
	return turn, nil
}

// leave ends a session and tells what the agent did beside its task.
func (d *Planner) leave(s Session, at *staging, given map[string]string, wanted ...string) error {
	err := s.Close()
	if strays := at.strays(given, wanted...); len(strays) > 0 {
		d.Warn("the agent also wrote %s; that is not kept", strings.Join(strays, ", "))
	}
	return err
}

// guard looks at the project before an agent works; what it returns tells, once, what
// was changed there since, where the agent had no business.
func (d *Planner) guard(ctx context.Context) func() {
	if d.Watch == nil {
		return func() {}
	}
	changed := d.Watch(ctx)
	return sync.OnceFunc(func() {
		files := changed(context.WithoutCancel(ctx))
		if len(files) == 0 {
			return
		}
		shown, more := files[:min(len(files), maxStrays)], ""
		if len(files) > len(shown) {
			more = ", ..."
		}
		d.Warn("the project changed while the agent planned, and nobody asked for that: %s%s", strings.Join(shown, ", "), more)
	})
}

// optional reads a document that need not be there.
func (d *Planner) optional(name string, into map[string]string) error {
	text, err := ReadDocument(d.Path(name))
	switch {
	case errors.Is(err, errNotThere):
		return nil
	case err != nil:
		return err
	}
	into[name] = text
	return nil
}
