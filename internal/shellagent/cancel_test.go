package shellagent

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	acp "github.com/coder/acp-go-sdk"

	"ralph/internal/testing/check"
)

func running(u acp.SessionUpdate) bool { return u.ToolCall != nil }

func TestCancelKillsTheScriptAndAnswersCancelled(t *testing.T) {
	t.Parallel()
	tests := map[string]func(t *testing.T, c *client, id acp.SessionId){
		"session/cancel": func(t *testing.T, c *client, id acp.SessionId) {
			if err := c.conn.Cancel(t.Context(), acp.CancelNotification{SessionId: id}); err != nil {
				t.Errorf("cancel: %v", err)
			}
		},
		"session/close": func(t *testing.T, c *client, id acp.SessionId) {
			if _, err := c.conn.CloseSession(t.Context(), acp.CloseSessionRequest{SessionId: id}); err != nil {
				t.Errorf("close: %v", err)
			}
			select {
			case <-c.terminals["term-1"].done:
			default:
				t.Error("the session was closed before its script was dead")
			}
			if _, err := c.ask(t, id, "x"); err == nil {
				t.Error("got no error for a prompt in a closed session")
			}
		},
	}
	for name, stop := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := connect(t)
			id := c.session(t, t.TempDir())
			ended := c.begin(t, id, "exec sleep 1000")
			c.await(running)
			stop(t, c, id)
			if resp := <-ended; resp.StopReason != acp.StopReasonCancelled {
				t.Errorf("got stop reason %q, want cancelled", resp.StopReason)
			}
			if got := c.message(); got != "" {
				t.Errorf("got %q after a cancel, want no verdict", got)
			}
			check.Equal(t, "calls", []string{"create term-1", "kill term-1", "release term-1"}, c.called())
		})
	}
}

func TestASecondPromptNeverMakesASecondScript(t *testing.T) {
	t.Parallel()
	c := connect(t)
	id := c.session(t, t.TempDir())
	ended := c.begin(t, id, "exec sleep 1000")
	c.await(running)
	_, err := c.ask(t, id, work(block3("sh", "true")))
	if err == nil || !strings.Contains(err.Error(), "already has a turn") {
		t.Errorf("got %v, want a refusal", err)
	}
	// The SDK takes a second prompt for the end of the first.
	if resp := <-ended; resp.StopReason != acp.StopReasonCancelled {
		t.Errorf("got stop reason %q, want cancelled", resp.StopReason)
	}
	check.Equal(t, "calls", []string{"create term-1", "kill term-1", "release term-1"}, c.called())
	c.prompt(t, id, work(block3("sh", "true")))
	if got := c.message(); !strings.Contains(got, "<task-done>") {
		t.Errorf("got %q, want the next prompt to be answered", got)
	}
}

func TestAClosedSessionBeginsNoTurn(t *testing.T) {
	t.Parallel()
	s := &session{cwd: t.TempDir()}
	s.close()
	if _, _, err := s.begin(t.Context()); err == nil {
		t.Error("got a turn, want a refusal")
	}
}

func TestServeEndsItsTurnsWhenItsContextEnds(t *testing.T) {
	t.Parallel()
	c := newClient()
	fromClient, toAgent := io.Pipe()
	fromAgent, toClient := io.Pipe()
	ctx, cancel := context.WithCancelCause(t.Context())
	served := make(chan error, 1)
	go func() { served <- Serve(ctx, fromClient, toClient, Options{}) }()
	c.conn = acp.NewClientSideConnection(c, toAgent, fromAgent)
	c.initialize(t, true)
	id := c.session(t, t.TempDir())
	ended := c.begin(t, id, "exec sleep 1000")
	c.await(running)
	why := errors.New("enough")
	cancel(why)
	if err := <-served; !errors.Is(err, why) {
		t.Errorf("got %v, want the cause", err)
	}
	if resp := <-ended; resp.StopReason != acp.StopReasonCancelled {
		t.Errorf("got stop reason %q, want cancelled", resp.StopReason)
	}
	_ = toAgent.Close()
	_ = toClient.Close()
	<-c.conn.Done()
}
