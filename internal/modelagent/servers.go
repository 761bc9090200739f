package modelagent

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"

	acp "github.com/coder/acp-go-sdk"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"ralph/internal/lazyregexp"
	"ralph/internal/plain"
)

const (
	serverStart = 30 * time.Second
	serverCall  = 10 * time.Minute
	serverGrace = 2 * time.Second // to end by itself

	// ralph's own server needs no permission, and waits for people as long as the run's settings say.
	ownServer = "ralph"
	ownCall   = 24 * time.Hour
)

// server is an MCP server of the session.
type server struct {
	name    string
	session *sdk.ClientSession
	tools   []*sdk.Tool
	end     context.CancelFunc // ends it at once
	stderr  *ends              // nil if it is reached by its address
}

// startServers starts all of them at once, and adds the tools of those that answer.
func (b *toolbox) startServers(ctx context.Context, list []acp.McpServer) (warnings []string) {
	servers, errs := make([]*server, len(list)), make([]error, len(list))
	var starting sync.WaitGroup
	for i, m := range list {
		starting.Go(func() { servers[i], errs[i] = b.startServer(ctx, m) })
	}
	starting.Wait()
	for i, s := range servers {
		if errs[i] != nil {
			warnings = append(warnings, fmt.Sprintf("the MCP server %s is left out: %v", s.name, errs[i]))
			continue
		}
		b.servers = append(b.servers, s)
		for _, t := range s.tools {
			b.tools = append(b.tools, s.tool(b.nameFor(s.name, t.Name), t))
		}
	}
	return warnings
}

// startServer returns a server with its tools, or with its name and why it cannot be used.
func (b *toolbox) startServer(ctx context.Context, m acp.McpServer) (s *server, err error) {
	// It lives on when ctx ends, which is that of a request.
	life, end := context.WithCancel(context.WithoutCancel(ctx))
	s = &server{end: end}
	ctx, cancel := context.WithTimeoutCause(ctx, serverStart, fmt.Errorf("no answer within %.0f s", serverStart.Seconds()))
	defer cancel()
	givingUp := context.AfterFunc(ctx, end)
	transport, err := b.reach(life, s, m)
	if err == nil {
		client := sdk.NewClient(&sdk.Implementation{Name: "ralph", Version: "1"}, &sdk.ClientOptions{Capabilities: &sdk.ClientCapabilities{}})
		s.session, err = client.Connect(life, transport, nil)
	}
	if err == nil {
		for t, failed := range s.session.Tools(life, nil) {
			if err = failed; err == nil {
				s.tools = append(s.tools, t)
			}
		}
	}
	if !givingUp() {
		err = cmp.Or(context.Cause(ctx), err)
	}
	if err != nil {
		s.close()
		return s, s.because(err)
	}
	return s, nil
}

// reach starts the server, or says where it is.
func (b *toolbox) reach(life context.Context, s *server, m acp.McpServer) (sdk.Transport, error) {
	switch {
	case m.Stdio != nil:
		s.name = m.Stdio.Name
		s.stderr = &ends{}
		cmd := exec.CommandContext(life, m.Stdio.Command, m.Stdio.Args...)
		cmd.Dir, cmd.Env, cmd.Stderr, cmd.WaitDelay = b.dir, slices.Clone(b.env), s.stderr, outputGrace
		for _, v := range m.Stdio.Env {
			cmd.Env = append(cmd.Env, v.Name+"="+v.Value)
		}
		return &sdk.CommandTransport{Command: cmd}, nil
	case m.Http != nil:
		s.name = m.Http.Name
		return &sdk.StreamableClientTransport{Endpoint: m.Http.Url, HTTPClient: b.web(m.Http.Headers), DisableStandaloneSSE: true}, nil
	case m.Sse != nil:
		s.name = m.Sse.Name
		return &sdk.SSEClientTransport{Endpoint: m.Sse.Url, HTTPClient: b.web(m.Sse.Headers)}, nil
	}
	s.name = "of the client"
	return nil, errors.New("only stdio, http and sse are supported")
}

// because adds what a server that is started said before it ended.
func (s *server) because(err error) error {
	if s.stderr == nil {
		return err
	}
	s.close() // then all is there
	if said := strings.TrimSpace(s.stderr.text(1000)); said != "" {
		return fmt.Errorf("%w; it said: %s", err, said)
	}
	return err
}

// close ends a server, which gets a while to do it by itself.
func (s *server) close() {
	defer s.end()
	defer time.AfterFunc(serverGrace, s.end).Stop()
	if s.session != nil {
		_ = s.session.Close() // it ends anyway
	}
}

// unfit is what providers do not accept in a name.
var unfit = lazyregexp.New(`[^a-zA-Z0-9_-]`)

// nameFor is a name for a tool that providers accept, with at most 64 characters, and no other tool has.
func (b *toolbox) nameFor(server, tool string) string {
	name := plain.Head(unfit.Get().ReplaceAllString("mcp__"+server+"__"+tool, "_"), 60)
	unique := name
	for n := 2; ; n++ {
		if _, err := b.find(unique); err != nil {
			return unique
		}
		unique = fmt.Sprintf("%s_%d", name, n)
	}
}

// tool makes a tool of the model's of one of the server's. Its title for people is its name, which rules can match
// (other:mcp__SERVER__*).
func (s *server) tool(name string, t *sdk.Tool) tool {
	schema := map[string]any{"properties": map[string]any{}} // some providers want them also where there are none
	if given, ok := t.InputSchema.(map[string]any); ok {
		maps.Copy(schema, given)
	}
	schema["type"] = "object"
	raw, _ := json.Marshal(schema) // it comes from JSON
	own, timeout := s.name == ownServer, serverCall
	if own {
		timeout = ownCall
	}
	return tool{
		Spec: Spec{Name: name, Description: cmp.Or(t.Description, t.Title, t.Name), Schema: raw},
		kind: acp.ToolKindOther, asks: !own, alone: t.Annotations == nil || !t.Annotations.ReadOnlyHint, timeout: timeout,
		plan: func(args json.RawMessage) (action, doing, error) {
			members, err := object(args)
			return action{Title: name}, func(ctx context.Context) (string, error) { return s.call(ctx, t.Name, members) }, err
		},
	}
}

func (s *server) call(ctx context.Context, name string, args map[string]json.RawMessage) (string, error) {
	result, err := s.session.CallTool(ctx, &sdk.CallToolParams{Name: name, Arguments: args})
	switch {
	case err != nil && ctx.Err() != nil:
		return "", context.Cause(ctx)
	case errors.Is(err, io.EOF), errors.Is(err, sdk.ErrConnectionClosed):
		return "", s.because(fmt.Errorf("the MCP server %s does not answer: %w", s.name, err))
	case err != nil:
		return "", fmt.Errorf("the MCP server %s: %w", s.name, err)
	case result.IsError:
		return "", errors.New(cmp.Or(contentText(result), "the tool failed"))
	}
	return contentText(result), nil
}

// contentText is what a model can read of a result.
func contentText(r *sdk.CallToolResult) string {
	var parts []string
	for _, c := range r.Content {
		switch c := c.(type) {
		case *sdk.TextContent:
			parts = append(parts, c.Text)
		case *sdk.ImageContent, *sdk.AudioContent:
			parts = append(parts, "(a picture or a sound, which cannot be shown)")
		default: // resources, and links to them
			raw, _ := json.Marshal(c) // it comes from JSON
			parts = append(parts, string(raw))
		}
	}
	return printed(strings.Join(parts, "\n"))
}
