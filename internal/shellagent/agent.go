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
// Told that a check is red, it runs the same script once more.
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
	"maps"
	"slices"
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
	gate := &gate{r: r, open: make(chan struct{})}
	a.conn = acp.NewAgentSideConnection(a, w, gate)
	a.conn.SetLogger(slog.New(slog.DiscardHandler))
	close(gate.open)

	var err error
	select {
	case <-a.conn.Done():
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	a.stop()
	return err
}

// gate is a reader that waits until it is opened.
type gate struct {
	r    io.Reader
	open chan struct{}
}

func (g *gate) Read(p []byte) (int, error) {
	<-g.open
	return g.r.Read(p)
}

// agent answers the client. Methods it does not support are refused by the
// embedded value.
type agent struct {
	unsupported
	options Options
	conn    *acp.AgentSideConnection

	mu        sync.Mutex
	terminals bool
	made      int
	stopped   bool
	sessions  map[acp.SessionId]*session
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
		AgentCapabilities: acp.AgentCapabilities{
			SessionCapabilities: acp.SessionCapabilities{Close: &acp.SessionCloseCapabilities{}},
		},
	}, nil
}

func (a *agent) NewSession(_ context.Context, req acp.NewSessionRequest) (acp.NewSessionResponse, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.stopped {
		return acp.NewSessionResponse{}, acp.NewInvalidRequest(map[string]any{"error": "the agent is stopping"})
	}
	a.made++
	id := acp.SessionId(fmt.Sprintf("shell-%d", a.made))
	a.sessions[id] = &session{cwd: req.Cwd}
	return acp.NewSessionResponse{SessionId: id}, nil
}

func (a *agent) Prompt(ctx context.Context, req acp.PromptRequest) (acp.PromptResponse, error) {
	s, terminals, err := a.session(req.SessionId)
	if err != nil {
		return acp.PromptResponse{}, err
	}
	ctx, end, err := s.begin(ctx)
	if err != nil {
		return acp.PromptResponse{}, err
	}
	defer end()
	t := turn{conn: a.conn, id: req.SessionId, session: s, poll: a.options.Poll, terminals: terminals}
	return t.run(ctx, text(req.Prompt))
}

// Cancel has nothing left to do: the SDK has ended the context of the turn,
// which answers once its script is dead.
func (a *agent) Cancel(context.Context, acp.CancelNotification) error { return nil }

// CloseSession ends the session's turn and returns when it has ended.
func (a *agent) CloseSession(_ context.Context, req acp.CloseSessionRequest) (acp.CloseSessionResponse, error) {
	s, _, err := a.session(req.SessionId)
	if err != nil {
		return acp.CloseSessionResponse{}, err
	}
	a.mu.Lock()
	delete(a.sessions, req.SessionId)
	a.mu.Unlock()
	s.close()
	return acp.CloseSessionResponse{}, nil
}

// session also reports whether the client offers terminals.
func (a *agent) session(id acp.SessionId) (s *session, terminals bool, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	s, ok := a.sessions[id]
	if !ok {
		return nil, false, acp.NewInvalidParams(map[string]any{"error": "unknown session " + string(id)})
	}
	return s, a.terminals, nil
}

// stop closes every session, allows no other and waits for their turns.
func (a *agent) stop() {
	a.mu.Lock()
	a.stopped = true
	open := slices.Collect(maps.Values(a.sessions))
	clear(a.sessions)
	a.mu.Unlock()
	for _, s := range open {
		s.close()
	}
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

// session is a folder to run in, the turn that is running and what the last
// one answered.
type session struct {
	cwd string

	mu     sync.Mutex
	stop   context.CancelFunc // nil when no turn is running
	closed bool
	ended  sync.WaitGroup

	// Of the turn that is running, and of the one before.
	last string
	job  job
}

// begin starts a turn. It refuses a second one: two scripts in one folder would
// be two agents at one task.
func (s *session) begin(ctx context.Context) (context.Context, func(), error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.stop != nil {
		return nil, nil, acp.NewInvalidRequest(map[string]any{"error": "the session is closed or already has a turn"})
	}
	ctx, cancel := context.WithCancel(ctx)
	s.stop = cancel
	s.ended.Add(1)
	return ctx, func() {
		s.mu.Lock()
		s.stop = nil
		s.mu.Unlock()
		cancel()
		s.ended.Done()
	}, nil
}

// close cancels the turn, if there is one, allows no other and waits.
func (s *session) close() {
	s.mu.Lock()
	s.closed = true
	if s.stop != nil {
		s.stop()
	}
	s.mu.Unlock()
	s.ended.Wait()
}

// unsupported refuses the methods that the SDK asks of every agent and that
// have no meaning for one without a model, a login or a memory.
type unsupported struct{}

func (unsupported) Authenticate(context.Context, acp.AuthenticateRequest) (acp.AuthenticateResponse, error) {
	return acp.AuthenticateResponse{}, acp.NewMethodNotFound(acp.AgentMethodAuthenticate)
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
