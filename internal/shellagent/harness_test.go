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
		Argv: []string{os.Args[0]}, Env: append(os.Environ(), beEnv+"=1"), TerminalEnv: os.Environ(), Dir: c.dir, Transcript: c, Grace: time.Minute,
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
	return turn.Text()
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
	fromClient, toAgent := io.Pipe()
	fromAgent, toClient := io.Pipe()
	served := make(chan error, 1)
	go func() {
		served <- Serve(context.WithoutCancel(t.Context()), fromClient, toClient, Options{})
		_ = toClient.Close()
	}()
	conn := acp.NewClientSideConnection(struct{ acp.Client }{}, toAgent, fromAgent)
	t.Cleanup(func() {
		_ = toAgent.Close()
		check.OK(t, <-served)
		<-conn.Done()
	})
	_, err := conn.Initialize(t.Context(), acp.InitializeRequest{
		ProtocolVersion: acp.ProtocolVersionNumber, ClientCapabilities: acp.ClientCapabilities{Terminal: terminals},
	})
	check.OK(t, err)
	return conn
}
