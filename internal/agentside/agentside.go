// Package agentside is what the agents that ralph ships have in common: serving a connection, one turn at a time in
// each session, and the methods that neither has.
package agentside

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"

	acp "github.com/coder/acp-go-sdk"

	"ralph/internal/plain"
	"ralph/internal/term"
)

// Serve lets an agent speak ACP on r and w until r ends or ctx is done, calls stop, and returns when that does. An
// agent that leaves right after its answer may take the answer with it, so the client ends the connection, never the
// agent. The connection is handed to bind before anything is read. The error is the cause of ctx, and when r ended what
// was wrong with it.
func Serve(ctx context.Context, r io.Reader, w io.Writer, a acp.Agent, bind func(*acp.AgentSideConnection), stop func()) error {
	// The connection reads as soon as it is made, and setting its logger then would be a race: nothing is let in before
	// all is in place.
	in, out := io.Pipe()
	defer func() { _ = in.Close() }() // what still reads when ctx is done ends
	conn := acp.NewAgentSideConnection(a, w, in)
	conn.SetLogger(slog.New(slog.DiscardHandler))
	bind(conn)
	wrong := make(chan error, 1)
	go func() { out.CloseWithError(pass(out, r, wrong)) }()

	var err error
	select {
	case <-conn.Done():
		select {
		case err = <-wrong:
		default:
		}
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	stop()
	return err
}

// ErrInput is input that no client would send.
var ErrInput = errors.New("the input is not the Agent Client Protocol")

// maxLine is the longest line that the library reads.
const maxLine = 10 << 20

// pass passes on lines. The library says nothing of what it cannot read, so the first of that goes to wrong.
func pass(w io.Writer, r io.Reader, wrong chan<- error) error {
	report := func(what string) {
		select {
		case wrong <- fmt.Errorf("%w: %s; this agent is for programs that speak it, such as ralph run", ErrInput, what):
		default:
		}
	}
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxLine)
	for lines.Scan() {
		if line := bytes.TrimSpace(lines.Bytes()); len(line) > 0 && json.Unmarshal(line, &struct{}{}) != nil {
			report("a line is no JSON object: " + plain.Cut(term.Line(plain.Cut(string(line), 200)), 100))
		}
		if _, err := fmt.Fprintf(w, "%s\n", lines.Bytes()); err != nil {
			return err
		}
	}
	if errors.Is(lines.Err(), bufio.ErrTooLong) {
		report("a line is longer than 10 MiB")
	}
	return lines.Err()
}

// Base is what an agent embeds: its turns, at most one in each session, and refusals of the methods that the SDK asks of
// every agent. The zero value has no turns.
type Base struct {
	mu      sync.Mutex
	stopped bool
	running map[acp.SessionId]context.CancelFunc
	all     sync.WaitGroup
}

// Begin starts a turn; the caller calls end. It refuses a second one: two turns in one folder would be two agents at
// one task. The turn ends by Cancel and by Stop. That ctx ends later is nothing to it, because the SDK ends the context
// of a prompt also when another one arrives, which is then refused here.
func (b *Base) Begin(ctx context.Context, id acp.SessionId) (_ context.Context, end func(), err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.stopped || b.running[id] != nil {
		return nil, nil, acp.NewInvalidRequest(map[string]any{"error": "the agent is stopping, or the session already has a turn"})
	}
	if b.running == nil {
		b.running = map[acp.SessionId]context.CancelFunc{}
	}
	turn, cancel := context.WithCancel(context.WithoutCancel(ctx))
	if ctx.Err() != nil { // cancelled before it began
		cancel()
	}
	b.running[id] = cancel
	b.all.Add(1)
	return turn, func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		cancel()
		delete(b.running, id)
		b.all.Done()
	}, nil
}

// Cancel ends the turn of a session, if there is one.
func (b *Base) Cancel(_ context.Context, req acp.CancelNotification) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if cancel := b.running[req.SessionId]; cancel != nil {
		cancel()
	}
	return nil
}

// Stop cancels every turn, allows no other and waits for them.
func (b *Base) Stop() {
	b.mu.Lock()
	b.stopped = true
	for _, cancel := range b.running {
		cancel()
	}
	b.mu.Unlock()
	b.all.Wait()
}

// UnknownSession refuses a session that is not there.
func UnknownSession(id acp.SessionId) error {
	return acp.NewInvalidParams(map[string]any{"error": "unknown session " + string(id)})
}

// Authenticate is refused.
func (*Base) Authenticate(context.Context, acp.AuthenticateRequest) (acp.AuthenticateResponse, error) {
	return acp.AuthenticateResponse{}, acp.NewMethodNotFound(acp.AgentMethodAuthenticate)
}

// CloseSession is refused.
func (*Base) CloseSession(context.Context, acp.CloseSessionRequest) (acp.CloseSessionResponse, error) {
	return acp.CloseSessionResponse{}, acp.NewMethodNotFound(acp.AgentMethodSessionClose)
}

// ListSessions is refused.
func (*Base) ListSessions(context.Context, acp.ListSessionsRequest) (acp.ListSessionsResponse, error) {
	return acp.ListSessionsResponse{}, acp.NewMethodNotFound(acp.AgentMethodSessionList)
}

// ResumeSession is refused.
func (*Base) ResumeSession(context.Context, acp.ResumeSessionRequest) (acp.ResumeSessionResponse, error) {
	return acp.ResumeSessionResponse{}, acp.NewMethodNotFound(acp.AgentMethodSessionResume)
}

// SetSessionConfigOption is refused.
func (*Base) SetSessionConfigOption(context.Context, acp.SetSessionConfigOptionRequest) (acp.SetSessionConfigOptionResponse, error) {
	return acp.SetSessionConfigOptionResponse{}, acp.NewMethodNotFound(acp.AgentMethodSessionSetConfigOption)
}

// SetSessionMode is refused.
func (*Base) SetSessionMode(context.Context, acp.SetSessionModeRequest) (acp.SetSessionModeResponse, error) {
	return acp.SetSessionModeResponse{}, acp.NewMethodNotFound(acp.AgentMethodSessionSetMode)
}
