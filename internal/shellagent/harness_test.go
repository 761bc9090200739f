package shellagent

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	acp "github.com/coder/acp-go-sdk"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if os.Getenv("RALPH_TEST_BE_AGENT") == "1" {
		if err := Serve(context.Background(), os.Stdin, os.Stdout, Options{}); err != nil {
			os.Exit(1)
		}
		return
	}
	goleak.VerifyTestMain(m)
}

// client is a real ACP client with real terminals, and a record of what it saw.
type client struct {
	acp.Client // nil: the agent reads and writes no files and asks for nothing
	conn       *acp.ClientSideConnection

	mu        sync.Mutex
	seen      *sync.Cond
	updates   []acp.SessionUpdate
	terminals map[string]*terminal
	created   []acp.CreateTerminalRequest
	calls     []string
	looks     int // at the output of terminals
}

type terminal struct {
	cmd    *exec.Cmd
	mu     sync.Mutex
	output bytes.Buffer
	done   chan struct{}
}

func (t *terminal) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.output.Write(p)
}

func newClient() *client {
	c := &client{terminals: map[string]*terminal{}}
	c.seen = sync.NewCond(&c.mu)
	return c
}

// connect serves an agent in this process and returns a client of it, already
// initialized. The connection ends with the test, and so must Serve.
func connect(t *testing.T) *client {
	t.Helper()
	c := newClient()
	fromClient, toAgent := io.Pipe()
	fromAgent, toClient := io.Pipe()
	served := make(chan error, 1)
	go func() {
		served <- Serve(context.WithoutCancel(t.Context()), fromClient, toClient, Options{Poll: time.Millisecond})
		_ = toClient.Close()
	}()
	c.conn = acp.NewClientSideConnection(c, toAgent, fromAgent)
	t.Cleanup(func() {
		_ = toAgent.Close()
		if err := <-served; err != nil {
			t.Errorf("serve: %v", err)
		}
		<-c.conn.Done()
	})
	c.initialize(t, true)
	return c
}

func (c *client) initialize(t *testing.T, terminals bool) {
	t.Helper()
	resp, err := c.conn.Initialize(t.Context(), acp.InitializeRequest{
		ProtocolVersion:    acp.ProtocolVersionNumber,
		ClientCapabilities: acp.ClientCapabilities{Terminal: terminals},
	})
	if err != nil || resp.ProtocolVersion != acp.ProtocolVersionNumber {
		t.Fatalf("initialize: got %+v, %v", resp, err)
	}
}

func (c *client) session(t *testing.T, dir string) acp.SessionId {
	t.Helper()
	resp, err := c.conn.NewSession(t.Context(), acp.NewSessionRequest{Cwd: dir, McpServers: []acp.McpServer{}})
	if err != nil {
		t.Fatalf("session/new: %v", err)
	}
	return resp.SessionId
}

func (c *client) ask(t *testing.T, id acp.SessionId, text string) (acp.PromptResponse, error) {
	return c.conn.Prompt(t.Context(), acp.PromptRequest{SessionId: id, Prompt: []acp.ContentBlock{acp.TextBlock(text)}})
}

// begin hands a script to the agent and does not wait for it.
func (c *client) begin(t *testing.T, id acp.SessionId, script string) <-chan acp.PromptResponse {
	ended := make(chan acp.PromptResponse)
	go func() { ended <- c.prompt(t, id, work(block3("sh", script))) }()
	return ended
}

func (c *client) prompt(t *testing.T, id acp.SessionId, text string) acp.PromptResponse {
	t.Helper()
	resp, err := c.ask(t, id, text)
	if err != nil {
		t.Errorf("session/prompt: %v", err) // not Fatal: tests call this in goroutines of their own
	}
	return resp
}

// message is all message text so far.
func (c *client) message() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var all strings.Builder
	for _, u := range c.updates {
		if u.AgentMessageChunk != nil {
			all.WriteString(u.AgentMessageChunk.Content.Text.Text)
		}
	}
	return all.String()
}

// await returns once an update has arrived that is wanted.
func (c *client) await(wanted func(acp.SessionUpdate) bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := 0; ; i++ {
		for i == len(c.updates) {
			c.seen.Wait()
		}
		if wanted(c.updates[i]) {
			return
		}
	}
}

// awaitLooks returns once the agent has looked that often again.
func (c *client) awaitLooks(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for until := c.looks + n; c.looks < until; {
		c.seen.Wait()
	}
}

func (c *client) called() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.calls)
}

func (c *client) SessionUpdate(_ context.Context, n acp.SessionNotification) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.updates = append(c.updates, n.Update)
	c.seen.Broadcast()
	return nil
}

func (c *client) CreateTerminal(_ context.Context, req acp.CreateTerminalRequest) (acp.CreateTerminalResponse, error) {
	term := &terminal{cmd: exec.Command(req.Command, req.Args...), done: make(chan struct{})}
	term.cmd.Dir = *req.Cwd
	term.cmd.Stdout, term.cmd.Stderr = term, term
	if err := term.cmd.Start(); err != nil {
		return acp.CreateTerminalResponse{}, err
	}
	go func() {
		_ = term.cmd.Wait()
		close(term.done)
	}()
	c.mu.Lock()
	defer c.mu.Unlock()
	id := fmt.Sprintf("term-%d", len(c.terminals)+1)
	c.terminals[id] = term
	c.created = append(c.created, req)
	c.calls = append(c.calls, "create "+id)
	return acp.CreateTerminalResponse{TerminalId: id}, nil
}

func (c *client) terminal(call, id string) (*terminal, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if call != "" {
		c.calls = append(c.calls, call+" "+id)
	}
	if term, ok := c.terminals[id]; ok {
		return term, nil
	}
	return nil, errors.New("unknown terminal " + id)
}

func (c *client) WaitForTerminalExit(ctx context.Context, req acp.WaitForTerminalExitRequest) (acp.WaitForTerminalExitResponse, error) {
	term, err := c.terminal("", req.TerminalId)
	if err != nil {
		return acp.WaitForTerminalExitResponse{}, err
	}
	select {
	case <-ctx.Done():
		return acp.WaitForTerminalExitResponse{}, ctx.Err()
	case <-term.done:
	}
	if code := term.cmd.ProcessState.ExitCode(); code >= 0 {
		return acp.WaitForTerminalExitResponse{ExitCode: &code}, nil
	}
	return acp.WaitForTerminalExitResponse{Signal: acp.Ptr("KILL")}, nil
}

func (c *client) TerminalOutput(_ context.Context, req acp.TerminalOutputRequest) (acp.TerminalOutputResponse, error) {
	term, err := c.terminal("", req.TerminalId)
	if err != nil {
		return acp.TerminalOutputResponse{}, err
	}
	c.mu.Lock()
	c.looks++
	c.seen.Broadcast()
	c.mu.Unlock()
	term.mu.Lock()
	defer term.mu.Unlock()
	return acp.TerminalOutputResponse{Output: term.output.String()}, nil
}

func (c *client) end(call, id string) error {
	term, err := c.terminal(call, id)
	if err == nil {
		_ = term.cmd.Process.Kill()
		<-term.done
	}
	return err
}

func (c *client) KillTerminal(_ context.Context, req acp.KillTerminalRequest) (acp.KillTerminalResponse, error) {
	return acp.KillTerminalResponse{}, c.end("kill", req.TerminalId)
}

func (c *client) ReleaseTerminal(_ context.Context, req acp.ReleaseTerminalRequest) (acp.ReleaseTerminalResponse, error) {
	return acp.ReleaseTerminalResponse{}, c.end("release", req.TerminalId)
}
