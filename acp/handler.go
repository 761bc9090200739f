package acp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"

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
		return decodeAnd(params, s.readFile)
	case "fs/write_text_file":
		return decodeAnd(params, s.writeFile)
	case "session/request_permission":
		return decodeAnd(params, s.permit)
	case "terminal/create":
		return decodeAnd(params, s.createTerminal)
	case "terminal/output":
		return decodeAnd(params, s.terminalOutput)
	case "terminal/wait_for_exit":
		return decodeAnd(params, func(req terminalID) (any, error) {
			exit, err := s.terminals.wait(ctx, req.ID, s.intake.yield)
			return exitStatus(exit), err
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

func (s *Session) readFile(req fileRequest) (any, error) {
	text, err := s.files.read(req.Path, max(req.Line, 0), max(req.Limit, 0))
	if errors.Is(err, fs.ErrNotExist) && s.traits().MissingIsEmpty {
		text, err = "", nil
	}
	return map[string]string{"content": text}, err
}

func (s *Session) writeFile(req fileRequest) (any, error) {
	if s.cfg.ReadOnly {
		return nil, fmt.Errorf("write %s: %w", cut(req.Path, 200), errReadOnly)
	}
	if req.Content == nil {
		return nil, paramsError{errors.New("content is missing")}
	}
	path, err := s.files.write(req.Path, *req.Content)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	if s.turn != nil {
		s.turn.touch(written{path: path})
	}
	s.mu.Unlock()
	s.observer.push(FileWritten{Path: path})
	return struct{}{}, nil
}

func (s *Session) createTerminal(req sdk.CreateTerminalRequest) (any, error) {
	id, err := s.terminals.create(req)
	return map[string]string{"terminalId": id}, err
}

func (s *Session) terminalOutput(req terminalID) (any, error) {
	term, err := s.terminals.get(req.ID)
	if err != nil {
		return nil, err
	}
	result := map[string]any{}
	select {
	case <-term.proc.Exited():
		result["exitStatus"] = exitStatus(term.proc.Exit())
	default:
	}
	result["output"], result["truncated"] = term.output.text()
	return result, nil
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
	case errors.As(err, &params), errors.Is(err, errOutside), errors.Is(err, errProtected),
		errors.Is(err, errNotRegular), errors.Is(err, errTooLarge), errors.Is(err, errNotText):
		return &sdk.RequestError{Code: -32602, Message: cut(err.Error(), 500), Data: data}
	}
	return &sdk.RequestError{Code: -32603, Message: cut(err.Error(), 500), Data: data}
}

type permissionRequest struct {
	ToolCall struct {
		Title string `json:"title"`
	} `json:"toolCall"`
	Options []permissionOption `json:"options"`
}

type permissionOption struct {
	ID   string `json:"optionId"`
	Kind string `json:"kind"`
}

// permit picks the option that allows the call, once rather than always, by its kind: its
// position and ID mean nothing. Nobody is asked and nothing waits: the operating system
// confines the process, or nothing does. Without a usable option the answer is that the
// request was cancelled.
func (s *Session) permit(req permissionRequest) (any, error) {
	const cancelled = "cancelled"
	answer, outcome := cancelled, map[string]string{"outcome": cancelled}
	if s.cancelling.Load() {
		req.Options = nil
	}
	for _, kind := range []string{"allow_always", "allow_once"} { // the last one wins
		i := slices.IndexFunc(req.Options, func(o permissionOption) bool { return o.Kind == kind && o.ID != "" })
		if i >= 0 {
			answer, outcome = kind, map[string]string{"outcome": "selected", "optionId": req.Options[i].ID}
		}
	}
	s.observer.push(Permission{Title: cut(s.hide.Text(req.ToolCall.Title), 300), Answer: answer})
	return map[string]any{"outcome": outcome}, nil
}
