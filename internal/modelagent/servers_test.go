package modelagent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	acp "github.com/coder/acp-go-sdk"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"ralph/internal/testing/check"
)

type echoInput struct {
	Text string `json:"text"`
}

// newMCP is a server with tools for every case.
func newMCP() *sdk.Server {
	s := sdk.NewServer(&sdk.Implementation{Name: "test", Version: "1"}, &sdk.ServerOptions{PageSize: 2})
	add := func(name string, readOnly bool, fn func(ctx context.Context, text string) (string, error)) {
		sdk.AddTool(s, &sdk.Tool{Name: name, Description: "It is " + name + ".", Annotations: &sdk.ToolAnnotations{ReadOnlyHint: readOnly}},
			func(ctx context.Context, _ *sdk.CallToolRequest, in echoInput) (*sdk.CallToolResult, any, error) {
				text, err := fn(ctx, in.Text)
				return &sdk.CallToolResult{Content: []sdk.Content{
					&sdk.TextContent{Text: text}, &sdk.ImageContent{MIMEType: "image/png", Data: []byte("1234")},
				}}, nil, err
			})
	}
	add("echo", true, func(_ context.Context, text string) (string, error) { return text + " " + os.Getenv("GIVEN"), nil })
	add("fail.now", false, func(context.Context, string) (string, error) { return "", errors.New("nothing works") })
	add("fail:now", false, func(context.Context, string) (string, error) { return "", errors.New("nothing works here") })
	add("die", false, func(context.Context, string) (string, error) {
		fmt.Fprintln(os.Stderr, "my last words")
		os.Exit(3)
		return "", nil
	})
	add("hang", false, func(ctx context.Context, text string) (string, error) {
		_ = os.WriteFile(text, nil, 0o600) // a fifo, by which the test knows
		<-ctx.Done()
		return "", ctx.Err()
	})
	add(strings.Repeat("long", 20), false, func(context.Context, string) (string, error) { return "", nil })
	return s
}

func serveMCP(how string) {
	switch how {
	case "dumb":
		fmt.Fprintln(os.Stderr, "no configuration")
	case "deaf": // it neither answers nor ends
		select {}
	default:
		_ = newMCP().Run(context.Background(), &sdk.StdioTransport{})
	}
}

func stdio(name, how string) acp.McpServer {
	self, _ := os.Executable()
	return acp.McpServer{Stdio: &acp.McpServerStdio{Name: name, Command: self, Args: []string{}, Env: []acp.EnvVariable{{Name: serveVariable, Value: how}, {Name: "GIVEN", Value: "given"}}}}
}

func withServers(t *testing.T, servers ...acp.McpServer) (*toolbox, []string) {
	t.Helper()
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	b, warnings := openToolbox(ctx, dir, append(os.Environ(), "HELD="+dir), servers)
	cancel() // servers outlive the request that starts them
	t.Cleanup(func() {
		b.close()
		check.Equal(t, "processes", "", processesWith(t, "HELD="+dir))
	})
	return b, warnings
}

func TestToolsOfServers(t *testing.T) {
	t.Parallel()
	streams := httptest.NewServer(withKey(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return newMCP() }, nil)))
	defer streams.Close()
	events := httptest.NewServer(withKey(sdk.NewSSEHandler(func(*http.Request) *sdk.Server { return newMCP() }, nil)))
	defer events.Close()
	defer events.CloseClientConnections()
	key := []acp.HttpHeader{{Name: "Authorization", Value: "Bearer key"}}
	for name, server := range map[string]acp.McpServer{
		"stdio": stdio("my docs", "well"),
		"http":  {Http: &acp.McpServerHttpInline{Type: "http", Name: "my docs", Url: streams.URL, Headers: key}},
		"sse":   {Sse: &acp.McpServerSseInline{Type: "sse", Name: "my docs", Url: events.URL, Headers: key}},
	} {
		t.Run(name, func(t *testing.T) {
			b, warnings := withServers(t, server)
			check.Equal(t, "warnings", []string(nil), warnings)
			var names []string
			for _, s := range b.specs()[7:] {
				names = append(names, s.Name)
			}
			check.Equal(t, "the tools", []string{
				"mcp__my_docs__die", "mcp__my_docs__echo", "mcp__my_docs__fail_now", "mcp__my_docs__fail_now_2", "mcp__my_docs__hang",
				"mcp__my_docs__" + strings.Repeat("long", 20)[:60-len("mcp__my_docs__")],
			}, names)
			given := map[string]string{"stdio": "given"}[name]
			r := call(t, b, "mcp__my_docs__echo", `{"text": "hello"}`)
			check.Equal(t, "the text", "hello "+given+"\n(a picture or a sound, which cannot be shown)", r.Text)
			check.That(t, !r.Failed, "it failed")
			r = call(t, b, "mcp__my_docs__fail_now", `{"text": ""}`)
			check.Equal(t, "a failure", "nothing works", r.Text)
			check.That(t, r.Failed, "it did not fail")
			check.Equal(t, "another of that name", "nothing works here", call(t, b, "mcp__my_docs__fail_now_2", `{"text": ""}`).Text)
			r = call(t, b, "mcp__my_docs__echo", ``)
			check.That(t, r.Failed, "it did not fail without arguments")
			check.Contains(t, "no arguments", "text", r.Text)
			check.Contains(t, "null", "text", call(t, b, "mcp__my_docs__echo", `null`).Text)
			check.Contains(t, "no object", "the arguments are no JSON object", call(t, b, "mcp__my_docs__echo", `"{"`).Text)
		})
	}
}

func withKey(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer key" {
			http.Error(w, "no key", http.StatusUnauthorized)
			return
		}
		h.ServeHTTP(w, r)
	})
}

func TestWhoAsksBeforeAToolOfAServer(t *testing.T) {
	t.Parallel()
	b, _ := withServers(t, stdio("docs", "well"), stdio("ralph", "well"))
	for name, want := range map[string]action{
		"mcp__docs__echo":  {Title: "mcp__docs__echo", Kind: "other", Asks: true},
		"mcp__docs__die":   {Title: "mcp__docs__die", Kind: "other", Asks: true, Alone: true},
		"mcp__ralph__echo": {Title: "mcp__ralph__echo", Kind: "other"},
		"mcp__ralph__die":  {Title: "mcp__ralph__die", Kind: "other", Alone: true},
	} {
		got, err := b.describe(Block{Name: name, Args: json.RawMessage(`{}`)})
		check.OK(t, err)
		check.Equal(t, name, want, got)
	}
}

func TestAServerThatDoesNotStartIsLeftOut(t *testing.T) {
	t.Parallel()
	b, warnings := withServers(t, stdio("dumb", "dumb"), stdio("well", "well"),
		acp.McpServer{Stdio: &acp.McpServerStdio{Name: "none", Command: "no-such-server"}},
		acp.McpServer{Http: &acp.McpServerHttpInline{Name: "away", Url: "http://127.0.0.1:1"}}, acp.McpServer{})
	check.Equal(t, "how many warnings", 4, len(warnings))
	for i, want := range []string{"dumb", "none", "away", "of the client"} {
		check.Contains(t, "a warning", "the MCP server "+want+" is left out: ", warnings[i])
	}
	check.Contains(t, "what it said", "it said: no configuration", warnings[0])
	check.Contains(t, "no program", "executable file not found", warnings[1])
	check.That(t, !call(t, b, "mcp__well__echo", `{"text": "x"}`).Failed, "the other one does not work")
}

func TestAServerThatDoesNotAnswerIsGivenUp(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("nobody waits"))
	dir := t.TempDir()
	b, warnings := openToolbox(ctx, dir, append(os.Environ(), "HELD="+dir), []acp.McpServer{stdio("deaf", "deaf")})
	defer b.close()
	check.Equal(t, "warnings", []string{"the MCP server deaf is left out: nobody waits"}, warnings)
	check.Equal(t, "processes", "", processesWith(t, "HELD="+dir))
}

func TestAServerThatEndsInACallIsAFailedResult(t *testing.T) {
	t.Parallel()
	b, _ := withServers(t, stdio("docs", "well"))
	r := call(t, b, "mcp__docs__die", `{"text": ""}`)
	check.That(t, r.Failed, "it did not fail")
	check.Contains(t, "the result", "the MCP server docs does not answer: ", r.Text)
	check.Contains(t, "the result", "my last words", r.Text)
	check.That(t, call(t, b, "mcp__docs__echo", `{"text": ""}`).Failed, "the next one did not fail")
}

func TestACallOfAServerEndsWithItsTurn(t *testing.T) {
	t.Parallel()
	b, _ := withServers(t, stdio("docs", "well"))
	begun := filepath.Join(b.dir, "begun")
	check.OK(t, exec.Command("mkfifo", begun).Run())
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() {
		_, _ = os.ReadFile(begun)
		cancel(errors.New("the turn was cancelled"))
	}()
	r := b.run(ctx, Block{ID: "c1", Name: "mcp__docs__hang", Args: json.RawMessage(arguments("text", begun))})
	check.Equal(t, "the result", Block{Kind: Result, ID: "c1", Name: "mcp__docs__hang", Text: "the turn was cancelled", Failed: true}, r)
	check.That(t, !call(t, b, "mcp__docs__echo", `{"text": "x"}`).Failed, "the server is gone")
}
