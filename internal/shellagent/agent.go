// Package shellagent is the ACP agent that is built into ralph: it runs the sh
// block of the task it is handed, through the client's terminals, and reports
// the exit status as a verdict. It needs no model, no key and no network.
//
// It never reads or writes a file, never starts a process itself, and never
// runs anything that stands outside the assigned task of a prompt.
//
//	exit 0                   <task-done>ID</task-done>
//	exit 75 (EX_TEMPFAIL)    no verdict: the script asks to be tried again
//	anything else            <task-failed>ID: what happened, last lines</task-failed>
//	no block to run          <task-failed>ID: how to write one</task-failed>
//
// When a check fails, it runs the same script once more.
//
// Asked to verify, it runs the verify block in the same way and answers
// <verify-pass/> or <verify-fail>. A task without one passes: its script has
// already been verified by its exit status.
package shellagent

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"sync"
	"time"

	acp "github.com/coder/acp-go-sdk"

	"ralph/internal/agentside"
)

// Options are the settings of Serve; the zero value works.
type Options struct {
	Version string // that the agent gives itself in initialize
	// Poll is the first pause before the output of a running script is looked
	// at; later ones are longer. 0 means a quarter of a second.
	Poll time.Duration
}

// Serve speaks ACP on r and w until r ends or ctx is done, and returns when no
// turn is running any more. The error is the cause of ctx, and when r ended what was wrong with it.
func Serve(ctx context.Context, r io.Reader, w io.Writer, o Options) error {
	o.Poll = cmp.Or(o.Poll, 250*time.Millisecond)
	a := &agent{options: o, sessions: map[acp.SessionId]*session{}}
	return agentside.Serve(ctx, r, w, a, func(conn *acp.AgentSideConnection) { a.conn = conn }, a.Stop)
}

// agent answers the client. Methods it does not support are refused by the
// embedded value.
type agent struct {
	agentside.Base
	options Options
	conn    *acp.AgentSideConnection

	mu        sync.Mutex
	terminals bool // the client offers them
	sessions  map[acp.SessionId]*session
}

// session is a folder to run in and what the last turn answered.
type session struct {
	cwd string

	// Of the turn that is running, and of the one before.
	last string
	job  job
}

func (a *agent) Initialize(_ context.Context, req acp.InitializeRequest) (acp.InitializeResponse, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.terminals = req.ClientCapabilities.Terminal
	return acp.InitializeResponse{
		// There is one version of the protocol, so this is the answer to a
		// client that asks for it and to one that asks for a later one.
		ProtocolVersion: acp.ProtocolVersionNumber,
		AgentInfo:       &acp.Implementation{Name: "ralph-shell", Version: a.options.Version},
		AuthMethods:     []acp.AuthMethod{},
	}, nil
}

func (a *agent) NewSession(_ context.Context, req acp.NewSessionRequest) (acp.NewSessionResponse, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	id := acp.SessionId(fmt.Sprintf("shell-%d", len(a.sessions)+1))
	a.sessions[id] = &session{cwd: req.Cwd}
	return acp.NewSessionResponse{SessionId: id}, nil
}

func (a *agent) Prompt(ctx context.Context, req acp.PromptRequest) (acp.PromptResponse, error) {
	a.mu.Lock()
	t := turn{conn: a.conn, id: req.SessionId, session: a.sessions[req.SessionId], poll: a.options.Poll, terminals: a.terminals}
	a.mu.Unlock()
	if t.session == nil {
		return acp.PromptResponse{}, agentside.UnknownSession(req.SessionId)
	}
	ctx, end, err := a.Begin(ctx, req.SessionId)
	if err != nil {
		return acp.PromptResponse{}, err
	}
	defer end()
	return t.run(ctx, text(req.Prompt))
}

// text puts the text blocks of a prompt together.
func text(blocks []acp.ContentBlock) string {
	var all string
	for _, b := range blocks {
		if b.Text != nil {
			all += b.Text.Text
		}
	}
	return all
}
