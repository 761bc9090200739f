package acp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	sdk "github.com/coder/acp-go-sdk"
)

const (
	opNew    = "session/new"
	opResume = "session/resume"
	opLoad   = "session/load"
)

func (s *Session) handshake(ctx context.Context) error {
	servers := s.mcpServers()
	id, raw, err := s.begin(ctx, servers)
	if errors.Is(err, AuthRequired) {
		id, raw, err = s.authenticate(ctx, servers, err)
	}
	if err != nil {
		return err
	}
	s.mu.Lock()
	s.id = id
	option := s.about.readModes(raw)
	s.mu.Unlock()
	s.noteOptions(raw)
	if err := s.chooseMode(ctx, option); err != nil {
		return err
	}
	if err := s.chooseModel(ctx, sessionModels(raw)); err != nil {
		return err
	}
	return s.chooseEffort(ctx)
}

func (s *Session) initialize(ctx context.Context) error {
	raw, err := s.ask(ctx, "initialize", sdk.InitializeRequest{
		ProtocolVersion: sdk.ProtocolVersionNumber,
		ClientInfo:      &sdk.Implementation{Name: "ralph", Version: s.cfg.Version},
		ClientCapabilities: sdk.ClientCapabilities{
			Fs:       sdk.FileSystemCapabilities{ReadTextFile: true, WriteTextFile: !s.cfg.ReadOnly},
			Terminal: true,
		},
	})
	if err != nil {
		return err
	}
	var a struct {
		Version *int `json:"protocolVersion"`
		About
	}
	lenient(raw, &a)
	if a.Version == nil {
		return &Error{Kind: Protocol, Op: "initialize", Text: "the answer has no protocolVersion"}
	}
	if *a.Version != sdk.ProtocolVersionNumber {
		return &Error{
			Kind: WrongVersion, Op: "initialize",
			Text: fmt.Sprintf("the agent speaks version %d, ralph speaks %d", *a.Version, sdk.ProtocolVersionNumber),
		}
	}
	s.about = a.About
	if s.cfg.Identify != nil {
		traits := s.cfg.Identify(s.about.Agent).withDefaults()
		s.mu.Lock()
		s.cfg.Traits, s.meter.cumulative = traits, traits.UsageCumulative
		s.mu.Unlock()
	}
	return nil
}

func (s *Session) traits() Traits {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.cfg.Traits
}

// begin continues an earlier session, or begins a new one. Until it returns
// our session has no name, so that whatever is replayed meanwhile is dropped.
func (s *Session) begin(ctx context.Context, servers []sdk.McpServer) (id string, raw json.RawMessage, err error) {
	if earlier := s.cfg.Resume; earlier != nil {
		raw, err := s.resume(ctx, earlier, servers)
		if err == nil {
			s.mu.Lock()
			s.meter = newMeter(s.cfg.UsageCumulative, earlier.CostUSD)
			s.about.Resumed = true
			s.mu.Unlock()
			s.observer.push(Resumed{Session: earlier.Session})
			return earlier.Session, raw, nil
		}
		// What the agent does not know any more is no reason not to work.
		if !errors.Is(err, Refused) && !errors.Is(err, errNoMethod) {
			return "", nil, err
		}
		s.cfg.Log.Debug().Str("session", earlier.Session).Err(err).Msg("session not resumed")
	}
	raw, err = s.ask(ctx, opNew, sdk.NewSessionRequest{Cwd: s.cwd(), McpServers: servers})
	if err != nil {
		return "", nil, err
	}
	var a struct {
		SessionID string `json:"sessionId"`
	}
	if lenient(raw, &a); a.SessionID == "" {
		return "", nil, &Error{Kind: Protocol, Op: opNew, Text: "the answer has no sessionId"}
	}
	return a.SessionID, raw, nil
}

// resume prefers the way that replays nothing.
func (s *Session) resume(ctx context.Context, earlier *Earlier, servers []sdk.McpServer) (json.RawMessage, error) {
	id := sdk.SessionId(earlier.Session)
	switch can := s.about.Capabilities; {
	case can.Resume():
		return s.ask(ctx, opResume, sdk.ResumeSessionRequest{SessionId: id, Cwd: s.cwd(), McpServers: servers})
	case can.Load:
		return s.ask(ctx, opLoad, sdk.LoadSessionRequest{SessionId: id, Cwd: s.cwd(), McpServers: servers})
	}
	return nil, errNoMethod
}

// authenticate is tried once, with the method that was configured; the others
// may open a browser, and nobody is watching.
func (s *Session) authenticate(ctx context.Context, servers []sdk.McpServer, cause error) (id string, raw json.RawMessage, err error) {
	if err = cause; s.cfg.AuthMethod != "" {
		_, err = s.ask(ctx, "authenticate", sdk.AuthenticateRequest{MethodId: s.cfg.AuthMethod})
		if err == nil {
			id, raw, err = s.begin(ctx, servers)
		}
	}
	var e *Error
	if errors.As(err, &e) && (e.Kind == Refused || e.Kind == AuthRequired) {
		e.Kind, e.Methods = AuthRequired, s.about.Methods
	}
	return id, raw, err
}

// MCPServer is a server of tools for the agent: a command, or an address.
type MCPServer struct {
	Name    string
	Type    string // stdio, http or sse
	Command string
	Args    []string
	Env     map[string]string
	URL     string
	Headers map[string]string
}

// mcpServers are those that the agent can use; the others are reported as missing.
// It is never nil, which would be sent as null.
func (s *Session) mcpServers() []sdk.McpServer {
	can := s.about.Capabilities
	servers := []sdk.McpServer{}
	for _, m := range s.cfg.MCP {
		switch {
		case m.Type == "stdio":
			servers = append(servers, sdk.McpServer{Stdio: &sdk.McpServerStdio{Name: m.Name, Command: m.Command, Args: slices.Concat([]string{}, m.Args), Env: pairs[sdk.EnvVariable](m.Env)}})
		case m.Type == "http" && can.MCP.HTTP:
			servers = append(servers, sdk.McpServer{Http: &sdk.McpServerHttpInline{Type: m.Type, Name: m.Name, Url: m.URL, Headers: pairs[sdk.HttpHeader](m.Headers)}})
		case m.Type == "sse" && can.MCP.SSE:
			servers = append(servers, sdk.McpServer{Sse: &sdk.McpServerSseInline{Type: m.Type, Name: m.Name, Url: m.URL, Headers: pairs[sdk.HttpHeader](m.Headers)}})
		default:
			s.observer.push(Warned{Text: "the agent cannot use the MCP server " + m.Name + ": it does not speak MCP over " + m.Type})
		}
	}
	return servers
}

// pairs lists values by name, never as nil, which would be sent as null.
func pairs[T sdk.EnvVariable | sdk.HttpHeader](values map[string]string) []T {
	list := []T{}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		list = append(list, T(sdk.EnvVariable{Name: name, Value: values[name]}))
	}
	return list
}
