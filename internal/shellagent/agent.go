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
	"log/slog"
	"sync"
	"time"

	acp "github.com/coder/acp-go-sdk"
)

// Options are the settings of Serve; the zero value works.
type Options struct {
	Version string // that the agent gives itself in initialize
	// Poll is the first pause before the output of a running script is looked
	// at; later ones are longer. 0 means a quarter of a second.
	Poll time.Duration
}

// Serve speaks ACP on r and w until r ends or ctx is done, and returns when no
// turn is running any more. An agent that leaves right after its answer may
// take the answer with it, so the client ends the connection, never the agent.
// The error is the cause of ctx, and nil when r ended.
func Serve(ctx context.Context, r io.Reader, w io.Writer, o Options) error {
	o.Poll = cmp.Or(o.Poll, 250*time.Millisecond)
	a := &agent{options: o, sessions: map[acp.SessionId]*session{}}
	// The connection reads as soon as it is made, and setting its logger then
	// would be a race: nothing is let in before all is in place.
	in, out := io.Pipe()
	defer func() { _ = in.Close() }() // what still reads when ctx is done ends
	a.conn = acp.NewAgentSideConnection(a, w, in)
	a.conn.SetLogger(slog.New(slog.DiscardHandler))
	go func() {
		_, err := io.Copy(out, r)
		out.CloseWithError(err)
	}()

	var err error
	select {
	case <-a.conn.Done():
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	a.stop()
	return err
}

// agent answers the client. Methods it does not support are refused by the
// embedded value.
type agent struct {
	unsupported
	options Options
	conn    *acp.AgentSideConnection

	turns sync.WaitGroup

	mu        sync.Mutex
	terminals bool // the client offers them
	stopped   bool
	sessions  map[acp.SessionId]*session
}

// session is a folder to run in, the turn that is running and what the last
// one answered.
type session struct {
	cwd  string
	stop context.CancelFunc // nil when no turn is running

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
	t, ctx, err := a.begin(ctx, req.SessionId)
	if err != nil {
		return acp.PromptResponse{}, err
	}
	defer a.end(t.session)
	return t.run(ctx, text(req.Prompt))
}

// Cancel has nothing left to do: the SDK has ended the context of the turn,
// which answers once its script is dead.
func (a *agent) Cancel(context.Context, acp.CancelNotification) error { return nil }

// begin starts a turn. It refuses a second one: two scripts in one folder would
// be two agents at one task.
func (a *agent) begin(ctx context.Context, id acp.SessionId) (turn, context.Context, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	s := a.sessions[id]
	switch {
	case s == nil:
		return turn{}, nil, acp.NewInvalidParams(map[string]any{"error": "unknown session " + string(id)})
	case a.stopped || s.stop != nil:
		return turn{}, nil, acp.NewInvalidRequest(map[string]any{"error": "the agent is stopping, or the session already has a turn"})
	}
	ctx, s.stop = context.WithCancel(ctx)
	a.turns.Add(1)
	return turn{conn: a.conn, id: id, session: s, poll: a.options.Poll, terminals: a.terminals}, ctx, nil
}

func (a *agent) end(s *session) {
	a.mu.Lock()
	defer a.mu.Unlock()
	s.stop()
	s.stop = nil
	a.turns.Done()
}

// stop cancels every turn, allows no other and waits for them.
func (a *agent) stop() {
	a.mu.Lock()
	a.stopped = true
	for _, s := range a.sessions {
		if s.stop != nil {
			s.stop()
		}
	}
	a.mu.Unlock()
	a.turns.Wait()
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

// unsupported refuses the methods that the SDK asks of every agent and that
// have no meaning for one without a model, a login or a memory.
type unsupported struct{}

func (unsupported) Authenticate(context.Context, acp.AuthenticateRequest) (acp.AuthenticateResponse, error) {
	return acp.AuthenticateResponse{}, acp.NewMethodNotFound(acp.AgentMethodAuthenticate)
}

func (unsupported) CloseSession(context.Context, acp.CloseSessionRequest) (acp.CloseSessionResponse, error) {
	return acp.CloseSessionResponse{}, acp.NewMethodNotFound(acp.AgentMethodSessionClose)
}

func (unsupported) ListSessions(context.Context, acp.ListSessionsRequest) (acp.ListSessionsResponse, error) {
	return acp.ListSessionsResponse{}, acp.NewMethodNotFound(acp.AgentMethodSessionList)
}

func (unsupported) ResumeSession(context.Context, acp.ResumeSessionRequest) (acp.ResumeSessionResponse, error) {
	return acp.ResumeSessionResponse{}, acp.NewMethodNotFound(acp.AgentMethodSessionResume)
}

func (unsupported) SetSessionConfigOption(context.Context, acp.SetSessionConfigOptionRequest) (acp.SetSessionConfigOptionResponse, error) {
	return acp.SetSessionConfigOptionResponse{}, acp.NewMethodNotFound(acp.AgentMethodSessionSetConfigOption)
}

func (unsupported) SetSessionMode(context.Context, acp.SetSessionModeRequest) (acp.SetSessionModeResponse, error) {
	return acp.SetSessionModeResponse{}, acp.NewMethodNotFound(acp.AgentMethodSessionSetMode)
}
