package modelagent

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	acp "github.com/coder/acp-go-sdk"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"ralph/internal/human"
	"ralph/internal/plain"
	"ralph/internal/proc"
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
	end     context.CancelFunc
	process *proc.Process // nil if it is reached by its address
	said    ends          // on stderr
	heard   chan struct{} // closed when all is in said; nil if there is no process
	tools   []*sdk.Tool
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
	transport, err := b.reach(s, m)
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
func (b *toolbox) reach(s *server, m acp.McpServer) (sdk.Transport, error) {
	switch {
	case m.Stdio != nil:
		s.name = m.Stdio.Name
		env := slices.Clone(b.env)
		for _, v := range m.Stdio.Env {
			env = append(env, v.Name+"="+v.Value)
		}
		return s.start(proc.Spec{Argv: append([]string{m.Stdio.Command}, m.Stdio.Args...), Dir: b.dir, Env: env, Owner: b.owner()})
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

func (s *server) start(spec proc.Spec) (sdk.Transport, error) {
	in, toServer, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	fromServer, out, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, in.Close(), toServer.Close())
	}
	complaints, stderr, err := os.Pipe()
	if err == nil {
		spec.Stdin, spec.Stdout, spec.Stderr = in, out, stderr
		s.process, err = proc.Start(spec)
		stderr.Close()
	}
	in.Close()
	out.Close()
	if err != nil {
		return nil, errors.Join(err, toServer.Close(), fromServer.Close(), complaints.Close())
	}
	s.heard = make(chan struct{})
	go func() {
		defer close(s.heard)
		_, _ = io.Copy(&s.said, complaints) // until its end
		complaints.Close()
	}()
	return &sdk.IOTransport{Reader: fromServer, Writer: toServer}, nil
}

// because adds what a server said before it ended.
func (s *server) because(err error) error {
	if s.heard != nil {
		select {
		case <-s.heard:
		case <-time.After(outputGrace):
		}
	}
	if said := strings.TrimSpace(s.said.text(1000)); said != "" {
		return fmt.Errorf("%w; it said: %s", err, said)
	}
	return err
}

// close ends a server: its input ends, and it gets a while to end by itself.
func (s *server) close() {
	patience := time.After(serverGrace)
	if s.session != nil {
		closed := make(chan struct{})
		go func() {
			defer close(closed)
			_ = s.session.Close() // it ends anyway
		}()
		select {
		case <-closed:
		case <-patience:
		}
	}
	s.end()
	if s.process != nil {
		select {
		case <-s.process.Done():
		case <-patience:
		}
		_ = s.process.Kill() // nothing can be done about what survives
	}
}

// nameFor is a name for a tool that providers accept and no other tool has.
func (b *toolbox) nameFor(server, name string) string {
	const most = 64
	full := strings.Map(func(r rune) rune {
		if r == '-' || r == '_' || r < unicode.MaxASCII && (unicode.IsLetter(r) || unicode.IsDigit(r)) {
			return r
		}
		return '_'
	}, "mcp__"+server+"__"+name)
	full = plain.Head(full, most)
	taken := func(name string) bool {
		return slices.ContainsFunc(b.tools, func(t tool) bool { return t.Name == name })
	}
	unique := full
	for n := 2; taken(unique); n++ {
		number := fmt.Sprintf("_%d", n)
		unique = plain.Head(full, most-len(number)) + number
	}
	return unique
}

// tool makes a tool of the model's of one of the server's. Its title for people is its name, which rules can match
// (other:mcp__SERVER__*).
func (s *server) tool(name string, t *sdk.Tool) tool {
	schema := map[string]any{}
	raw, _ := json.Marshal(t.InputSchema)
	_ = json.Unmarshal(raw, &schema) // what is no object says nothing
	if schema["type"] = "object"; schema["properties"] == nil {
		schema["properties"] = map[string]any{}
	}
	raw, _ = json.Marshal(schema)
	own := s.name == ownServer
	timeout := serverCall
	if own {
		timeout = ownCall
	}
	return tool{
		Spec: Spec{Name: name, Description: cmp.Or(t.Description, t.Title, t.Name), Schema: raw},
		kind: acp.ToolKindOther, asks: !own, alone: t.Annotations == nil || !t.Annotations.ReadOnlyHint, timeout: timeout,
		about: func(args json.RawMessage) (action, error) {
			_, err := object(args)
			return action{Title: name}, err
		},
		do: func(ctx context.Context, args json.RawMessage) (string, error) { return s.call(ctx, t.Name, args) },
	}
}

func (s *server) call(ctx context.Context, name string, args json.RawMessage) (string, error) {
	members, err := object(args)
	if err != nil {
		return "", err
	}
	if members == nil {
		members = map[string]json.RawMessage{}
	}
	result, err := s.session.CallTool(ctx, &sdk.CallToolParams{Name: name, Arguments: members})
	answer := (*jsonrpc.Error)(nil)
	switch {
	case err != nil && ctx.Err() != nil:
		return "", context.Cause(ctx)
	case errors.As(err, &answer):
		return "", err
	case err != nil:
		return "", s.because(fmt.Errorf("the MCP server %s does not answer: %w", s.name, err))
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
		case *sdk.ImageContent:
			parts = append(parts, fmt.Sprintf("(%s of %s, which cannot be shown)", c.MIMEType, human.Bytes(int64(len(c.Data)))))
		case *sdk.AudioContent:
			parts = append(parts, fmt.Sprintf("(%s of %s, which cannot be played)", c.MIMEType, human.Bytes(int64(len(c.Data)))))
		case *sdk.ResourceLink:
			parts = append(parts, strings.TrimSpace(c.Name+" "+c.URI))
		case *sdk.EmbeddedResource:
			parts = append(parts, c.Resource.URI+"\n"+c.Resource.Text)
		}
	}
	if len(parts) == 0 && r.StructuredContent != nil {
		raw, _ := json.Marshal(r.StructuredContent)
		parts = []string{string(raw)}
	}
	return printed(strings.Join(parts, "\n"))
}
