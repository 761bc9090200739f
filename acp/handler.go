package acp

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"

	sdk "github.com/coder/acp-go-sdk"

	"ralph/internal/proc"
)

const codeNotFound = -32002

// handle answers one request of the agent. The SDK calls it from a goroutine
// for each; a panic there would end the program, so there is none.
func (s *Session) handle(ctx context.Context, method string, params json.RawMessage) (result any, failure *sdk.RequestError) {
	defer func() {
		if r := recover(); r != nil {
			s.cfg.Log.Error().Str("method", method).Interface("panic", r).Msg("request handler broke")
			result, failure = nil, sdk.NewInternalError(nil)
		}
	}()
	var target struct {
		SessionID string `json:"sessionId"`
	}
	if err := json.Unmarshal(params, &target); err != nil {
		return nil, sdk.NewInvalidParams(map[string]any{"error": "params are no object with a sessionId"})
	}
	if !s.isOurs(target.SessionID) {
		return nil, sdk.NewInvalidParams(map[string]any{"error": "unknown session " + cut(target.SessionID, 100)})
	}
	result, err := s.dispatch(ctx, method, params)
	if err != nil {
		return nil, failureOf(method, err)
	}
	return result, nil
}

// isOurs accepts any session until ours has a name: agents may ask while they
// create it.
func (s *Session) isOurs(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.id == "" || id == s.id
}

func (s *Session) dispatch(ctx context.Context, method string, params json.RawMessage) (any, error) {
	switch method {
	case "fs/read_text_file":
		return serve(ctx, s, params, s.reading())
	case "fs/write_text_file":
		return serve(ctx, s, params, s.writing())
	case "session/request_permission":
		return decodeAnd(params, func(req permissionRequest) (any, error) { return s.permit(ctx, req), nil })
	case "terminal/create":
		return serve(ctx, s, params, s.opening())
	case "terminal/output":
		return decodeAnd(params, func(req terminalID) (any, error) { return s.terminalOutput(ctx, req) })
	case "terminal/wait_for_exit":
		return decodeAnd(params, func(req terminalID) (any, error) {
			term, err := s.terminals.wait(ctx, req.ID, s.intake.yield)
			if err != nil {
				return nil, err
			}
			s.afterTerminal(ctx, term)
			s.mu.Lock()
			if s.turn != nil {
				s.turn.ran = term
			}
			s.mu.Unlock()
			return exitStatus(term.proc.Exit()), nil
		})
	case "terminal/kill":
		return decodeAnd(params, func(req terminalID) (any, error) {
			term, err := s.terminals.get(req.ID)
			if err != nil {
				return nil, err
			}
			return struct{}{}, term.proc.Kill()
		})
	case "terminal/release":
		return decodeAnd(params, func(req terminalID) (any, error) {
			return struct{}{}, s.terminals.release(req.ID)
		})
	}
	return nil, errNoMethod
}

var errNoMethod = errors.New("no such method")

type fileRequest struct {
	Path    string  `json:"path"`
	Line    int     `json:"line"`
	Limit   int     `json:"limit"`
	Content *string `json:"content"`
}

type terminalID struct {
	ID string `json:"terminalId"`
}

type paramsError struct{ err error }

func (e paramsError) Error() string { return e.err.Error() }

func decodeAnd[T any](params json.RawMessage, do func(T) (any, error)) (any, error) {
	var req T
	if err := json.Unmarshal(params, &req); err != nil {
		return nil, paramsError{err}
	}
	return do(req)
}

func exitStatus(exit proc.Exit) any {
	if exit.Signal != "" {
		return map[string]any{"exitCode": nil, "signal": exit.Signal}
	}
	return map[string]any{"exitCode": exit.Code, "signal": nil}
}

func failureOf(method string, err error) *sdk.RequestError {
	data := map[string]any{"error": cut(err.Error(), 500)}
	var params paramsError
	switch {
	case errors.Is(err, errNoMethod):
		return sdk.NewMethodNotFound(cut(method, 100))
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, errNoTerminal):
		return &sdk.RequestError{Code: codeNotFound, Message: "Resource not found", Data: data}
	case errors.As(err, &params), errors.Is(err, errDenied), errors.Is(err, errOutside), errors.Is(err, errProtected),
		errors.Is(err, errNotRegular), errors.Is(err, errTooLarge), errors.Is(err, errNotText):
		return &sdk.RequestError{Code: -32602, Message: cut(err.Error(), 500), Data: data}
	}
	return &sdk.RequestError{Code: -32603, Message: cut(err.Error(), 500), Data: data}
}
