package shellagent

import (
	"context"
	"io"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	acp "github.com/coder/acp-go-sdk"
	"go.uber.org/goleak"

	ralph "ralph/acp"
	"ralph/internal/proc"
	"ralph/internal/testing/check"
)

const beEnv = "RALPH_TEST_BE_AGENT"

func TestMain(m *testing.M) {
	proc.RunHelper(nil)
	if os.Getenv(beEnv) == "1" {
		if err := Serve(context.Background(), os.Stdin, os.Stdout, Options{Poll: time.Millisecond}); err != nil {
			os.Exit(1)
		}
		return
	}
	// The race detector holds every exiting process for a second otherwise.
	os.Setenv("GORACE", "atexit_sleep_ms=0")
	goleak.VerifyTestMain(m)
}

// client is ralph's own, with the agent as a process, and the transcript of both.
type client struct {
	*ralph.Session
	dir string

	mu         sync.Mutex
	grown      *sync.Cond
	transcript strings.Builder
}

func connect(t *testing.T) *client {
	t.Helper()
	c := &client{dir: t.TempDir()}
	c.grown = sync.NewCond(&c.mu)
	s, err := ralph.Start(t.Context(), ralph.Config{
		Argv: []string{os.Args[0]}, Env: append(os.Environ(), beEnv+"=1"), TerminalEnv: os.Environ(), Dir: c.dir, Transcript: c, Client: ralph.Client{Grace: time.Minute},
	})
	check.OK(t, err)
	t.Cleanup(func() { check.OK(t, s.Close()) })
	c.Session = s
	return c
}

// Write adds to the transcript.
func (c *client) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.grown.Broadcast()
	return c.transcript.Write(p)
}

// count says how often the transcript has a text.
func (c *client) count(text string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return strings.Count(c.transcript.String(), text)
}

// await waits until it has it that often.
func (c *client) await(text string, n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for strings.Count(c.transcript.String(), text) < n {
		c.grown.Wait()
	}
}

// ask is the answer to a prompt.
func (c *client) ask(t *testing.T, text string) string {
	t.Helper()
	turn, err := c.Prompt(t.Context(), text)
	check.OK(t, err)
	check.Equal(t, "stop reason", ralph.StopEnd, turn.Stop)
	said, err := turn.Text()
	check.OK(t, err)
	return said
}

// called lists what was done to terminals.
func (c *client) called() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var calls []string
	for _, m := range regexp.MustCompile(`"method":"terminal/(create|kill|release)"`).FindAllStringSubmatch(c.transcript.String(), -1) {
		calls = append(calls, m[1])
	}
	return strings.Join(calls, " ")
}

// bare is a client of the SDK, for what ralph's own never does.
func bare(t *testing.T, terminals bool) *acp.ClientSideConnection {
	t.Helper()
	served := make(chan error, 1)
	t.Cleanup(func() { check.OK(t, <-served) })
	return serving(context.WithoutCancel(t.Context()), t, struct{ acp.Client }{}, terminals, served)
}

// serving lets an agent serve a client in this process until the context or the test ends,
// and sends what Serve returned.
func serving(ctx context.Context, t *testing.T, client acp.Client, terminals bool, served chan<- error) *acp.ClientSideConnection {
	t.Helper()
	fromClient, toAgent := io.Pipe()
	fromAgent, toClient := io.Pipe()
	go func() { served <- Serve(ctx, fromClient, toClient, Options{}) }()
	conn := acp.NewClientSideConnection(client, toAgent, fromAgent)
	t.Cleanup(func() {
		_ = toAgent.Close()
		_ = toClient.Close() // not before: an answer may follow the end of Serve
		<-conn.Done()
	})
	_, err := conn.Initialize(t.Context(), acp.InitializeRequest{
		ProtocolVersion: acp.ProtocolVersionNumber, ClientCapabilities: acp.ClientCapabilities{Terminal: terminals},
	})
	check.OK(t, err)
	return conn
}

// endless is a client whose terminals run until they are killed.
type endless struct {
	acp.Client
	running, killed chan struct{}
}

func (endless) SessionUpdate(context.Context, acp.SessionNotification) error { return nil }

func (e endless) CreateTerminal(context.Context, acp.CreateTerminalRequest) (acp.CreateTerminalResponse, error) {
	close(e.running)
	return acp.CreateTerminalResponse{TerminalId: "t"}, nil
}

func (endless) TerminalOutput(context.Context, acp.TerminalOutputRequest) (acp.TerminalOutputResponse, error) {
	return acp.TerminalOutputResponse{}, nil
}

func (e endless) WaitForTerminalExit(context.Context, acp.WaitForTerminalExitRequest) (acp.WaitForTerminalExitResponse, error) {
	<-e.killed
	return acp.WaitForTerminalExitResponse{}, nil
}

func (e endless) KillTerminal(context.Context, acp.KillTerminalRequest) (acp.KillTerminalResponse, error) {
	close(e.killed)
	return acp.KillTerminalResponse{}, nil
}

func (endless) ReleaseTerminal(context.Context, acp.ReleaseTerminalRequest) (acp.ReleaseTerminalResponse, error) {
	return acp.ReleaseTerminalResponse{}, nil
}
