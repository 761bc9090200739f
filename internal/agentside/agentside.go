// Package agentside is what the agents that ralph ships have in common: serving a connection, one turn at a time in
// each session, and the methods that neither has.
package agentside

import (
	"context"
	"io"
	"log/slog"
	"sync"

	acp "github.com/coder/acp-go-sdk"
)

// Serve lets an agent speak ACP on r and w until r ends or ctx is done, calls stop, and returns when that does. An
// agent that leaves right after its answer may take the answer with it, so the client ends the connection, never the
// agent. The connection is handed to bind before anything is read. The error is the cause of ctx, and nil when r
// ended.
func Serve(ctx context.Context, r io.Reader, w io.Writer, a acp.Agent, bind func(*acp.AgentSideConnection), stop func()) error {
	// The connection reads as soon as it is made, and setting its logger then would be a race: nothing is let in before
	// all is in place.
	in, out := io.Pipe()
	defer func() { _ = in.Close() }() // what still reads when ctx is done ends
	conn := acp.NewAgentSideConnection(a, w, in)
	conn.SetLogger(slog.New(slog.DiscardHandler))
	bind(conn)
	go func() {
		_, err := io.Copy(out, r)
		out.CloseWithError(err)
	}()

	var err error
	select {
	case <-conn.Done():
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	stop()
	return err
}

// Turns are those that are running, at most one in each session. The zero value has none.
type Turns struct {
	mu      sync.Mutex
	stopped bool
	running map[acp.SessionId]context.CancelFunc
	all     sync.WaitGroup
}

// Begin starts a turn; the caller calls end. It refuses a second one: two turns in one folder would be two agents at
// one task.
func (t *Turns) Begin(ctx context.Context, id acp.SessionId) (_ context.Context, end func(), err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.stopped || t.running[id] != nil {
		return nil, nil, acp.NewInvalidRequest(map[string]any{"error": "the agent is stopping, or the session already has a turn"})
	}
	if t.running == nil {
		t.running = map[acp.SessionId]context.CancelFunc{}
	}
	ctx, cancel := context.WithCancel(ctx)
	t.running[id] = cancel
	t.all.Add(1)
	return ctx, func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		cancel()
		delete(t.running, id)
		t.all.Done()
	}, nil
}

// Stop cancels every turn, allows no other and waits for them.
func (t *Turns) Stop() {
	t.mu.Lock()
	t.stopped = true
	for _, cancel := range t.running {
		cancel()
	}
	t.mu.Unlock()
	t.all.Wait()
}

// UnknownSession refuses a session that is not there.
func UnknownSession(id acp.SessionId) error {
	return acp.NewInvalidParams(map[string]any{"error": "unknown session " + string(id)})
}

// Unsupported refuses the methods that the SDK asks of every agent. An agent embeds it and has those that it supports.
type Unsupported struct{}

// Authenticate is refused.
func (Unsupported) Authenticate(context.Context, acp.AuthenticateRequest) (acp.AuthenticateResponse, error) {
	return acp.AuthenticateResponse{}, acp.NewMethodNotFound(acp.AgentMethodAuthenticate)
}

// Cancel has nothing left to do: the SDK has ended the context of the turn.
func (Unsupported) Cancel(context.Context, acp.CancelNotification) error { return nil }

// CloseSession is refused.
func (Unsupported) CloseSession(context.Context, acp.CloseSessionRequest) (acp.CloseSessionResponse, error) {
	return acp.CloseSessionResponse{}, acp.NewMethodNotFound(acp.AgentMethodSessionClose)
}

// ListSessions is refused.
func (Unsupported) ListSessions(context.Context, acp.ListSessionsRequest) (acp.ListSessionsResponse, error) {
	return acp.ListSessionsResponse{}, acp.NewMethodNotFound(acp.AgentMethodSessionList)
}

// ResumeSession is refused.
func (Unsupported) ResumeSession(context.Context, acp.ResumeSessionRequest) (acp.ResumeSessionResponse, error) {
	return acp.ResumeSessionResponse{}, acp.NewMethodNotFound(acp.AgentMethodSessionResume)
}

// SetSessionConfigOption is refused.
func (Unsupported) SetSessionConfigOption(context.Context, acp.SetSessionConfigOptionRequest) (acp.SetSessionConfigOptionResponse, error) {
	return acp.SetSessionConfigOptionResponse{}, acp.NewMethodNotFound(acp.AgentMethodSessionSetConfigOption)
}

// SetSessionMode is refused.
func (Unsupported) SetSessionMode(context.Context, acp.SetSessionModeRequest) (acp.SetSessionModeResponse, error) {
	return acp.SetSessionModeResponse{}, acp.NewMethodNotFound(acp.AgentMethodSessionSetMode)
}
