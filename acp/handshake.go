package acp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	sdk "github.com/coder/acp-go-sdk"
)

const opNew = "session/new"

// Agent is what an agent says about itself.
type Agent struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

// handshake takes the connection to a session that can be prompted.
func (s *Session) handshake(ctx context.Context) error {
	methods, err := s.initialize(ctx)
	if err != nil {
		return err
	}
	raw, err := s.newSession(ctx)
	if errors.Is(err, AuthRequired) {
		if raw, err = s.authenticate(ctx, methods, err); err != nil {
			return err
		}
	}
	if err != nil {
		return err
	}
	var a struct {
		SessionID string `json:"sessionId"`
	}
	if lenient(raw, &a); a.SessionID == "" {
		return &Error{Kind: Protocol, Op: opNew, Text: "the answer has no sessionId"}
	}
	s.mu.Lock()
	s.id = a.SessionID
	s.mu.Unlock()
	return s.chooseModel(ctx, sessionModels(raw))
}

func (s *Session) initialize(ctx context.Context) ([]AuthMethod, error) {
	raw, err := s.ask(ctx, "initialize", sdk.InitializeRequest{
		ProtocolVersion: sdk.ProtocolVersionNumber,
		ClientInfo:      &sdk.Implementation{Name: "ralph", Version: s.cfg.Version},
		ClientCapabilities: sdk.ClientCapabilities{
			Fs:       sdk.FileSystemCapabilities{ReadTextFile: true, WriteTextFile: !s.cfg.ReadOnly},
			Terminal: true,
		},
	})
	if err != nil {
		return nil, err
	}
	var a struct {
		Version *int         `json:"protocolVersion"`
		Agent   Agent        `json:"agentInfo"`
		Methods []AuthMethod `json:"authMethods"`
	}
	lenient(raw, &a)
	if a.Version == nil {
		return nil, &Error{Kind: Protocol, Op: "initialize", Text: "the answer has no protocolVersion"}
	}
	if *a.Version != sdk.ProtocolVersionNumber {
		return nil, &Error{
			Kind: WrongVersion, Op: "initialize", Version: *a.Version,
			Text: fmt.Sprintf("the agent speaks version %d, ralph speaks %d", *a.Version, sdk.ProtocolVersionNumber),
		}
	}
	s.agent = a.Agent
	return a.Methods, nil
}

func (s *Session) newSession(ctx context.Context) (json.RawMessage, error) {
	// An empty list: nil would be sent as null, which agents refuse.
	return s.ask(ctx, opNew, sdk.NewSessionRequest{Cwd: s.cfg.Dir, McpServers: []sdk.McpServer{}})
}

// authenticate is tried once, with the method that was configured; the others
// may open a browser, and nobody is watching.
func (s *Session) authenticate(ctx context.Context, methods []AuthMethod, cause error) (json.RawMessage, error) {
	var e *Error
	errors.As(cause, &e)
	e.Methods = methods
	if s.cfg.AuthMethod == "" {
		return nil, e
	}
	_, err := s.ask(ctx, "authenticate", sdk.AuthenticateRequest{MethodId: s.cfg.AuthMethod})
	if err == nil {
		var raw json.RawMessage
		if raw, err = s.newSession(ctx); err == nil {
			return raw, nil
		}
	}
	if errors.Is(err, Refused) || errors.Is(err, AuthRequired) {
		errors.As(err, &e)
		e.Kind, e.Methods = AuthRequired, methods
		return nil, e
	}
	return nil, err
}
