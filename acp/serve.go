package acp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"

	sdk "github.com/coder/acp-go-sdk"

	"ralph/internal/toolcall"
)

// service is something that we do for agents.
type service[T any] struct {
	check  func(T) error                                 // refuses what is never done; nil refuses nothing
	call   func(T) toolcall.Call                         // is what is decided about
	do     func(T, *toolcall.Call) (any, *string, error) // with the text of the result, if it is known already. The call is nil if nobody wants to know what came of it
	answer func(T, string) (any, error)                  // has a text in the place of doing it
}

// serve does it, if it may be done, as whoever decides wants it.
func serve[T any](ctx context.Context, s *Session, params json.RawMessage, sv service[T]) (any, error) {
	var req T
	if err := json.Unmarshal(params, &req); err != nil {
		return nil, paramsError{err}
	}
	if sv.check != nil {
		if err := sv.check(req); err != nil {
			return nil, err
		}
	}
	s.mu.Lock()
	observed := s.cfg.Decide != nil || s.cfg.After != nil
	s.mu.Unlock()
	if !observed {
		result, _, err := sv.do(req, nil)
		return result, err
	}
	var input map[string]any
	if err := json.Unmarshal(params, &input); err != nil {
		return nil, paramsError{err}
	}
	delete(input, "sessionId")
	delete(input, "_meta")
	c, err := sv.describe(input)
	if err != nil {
		return nil, err
	}
	d, decided := s.decide(ctx, c)
	title := c.Text
	if c.Command == "" {
		title = c.Kind + " " + title
	}
	if d.Instead != nil {
		c = *d.Instead
		if req, err = decoded[T](c.Input); err != nil {
			return nil, err
		}
	}
	switch {
	case decided && !d.Allow:
		s.announce(title, "denied", c, d)
		return nil, fmt.Errorf("%s: %w: %s", cut(title, 200), errDenied, d.Reason)
	case decided:
		s.announce(title, "allowed", c, d)
	}
	if d.Result != nil {
		return sv.answer(req, *d.Result)
	}
	result, text, err := sv.do(req, &c)
	if err != nil || text == nil {
		return result, err
	}
	var instead *string
	s.intake.yield(func() { instead = s.after(ctx, c, *text, false) })
	if instead != nil {
		return sv.answer(req, *instead)
	}
	return result, nil
}

// describe is a request as those who decide see it.
func (sv service[T]) describe(input map[string]any) (toolcall.Call, error) {
	req, err := decoded[T](input)
	if err == nil && sv.check != nil {
		err = sv.check(req)
	}
	if err != nil {
		return toolcall.Call{}, err
	}
	c := sv.call(req)
	c.Input = input
	c.With = func(changed map[string]any) (toolcall.Call, error) {
		merged := maps.Clone(input)
		maps.Copy(merged, changed)
		maps.DeleteFunc(merged, func(_ string, value any) bool { return value == nil })
		return sv.describe(merged)
	}
	return c, nil
}

func decoded[T any](input map[string]any) (req T, err error) {
	raw, err := json.Marshal(input)
	if err == nil {
		err = json.Unmarshal(raw, &req)
	}
	if err != nil {
		return req, paramsError{err}
	}
	return req, nil
}

// after asks Config.After, if there is one. The request has given its place back.
func (s *Session) after(ctx context.Context, c toolcall.Call, result string, failed bool) *string {
	s.mu.Lock()
	ask := s.cfg.After
	s.mu.Unlock()
	if ask == nil {
		return nil
	}
	ctx, end := s.untilTurnEnds(ctx)
	defer end()
	select {
	case s.deciding <- struct{}{}:
		defer func() { <-s.deciding }()
		return ask(ctx, c, result, failed)
	case <-ctx.Done():
		return nil
	}
}

func (s *Session) reading() service[fileRequest] {
	content := func(text string) any { return map[string]string{"content": text} }
	return service[fileRequest]{
		call: func(req fileRequest) toolcall.Call { return s.fileCall(toolcall.Read, req) },
		do: func(req fileRequest, _ *toolcall.Call) (any, *string, error) {
			text, err := s.files.read(req.Path, max(req.Line, 0), max(req.Limit, 0))
			if errors.Is(err, fs.ErrNotExist) && s.traits().MissingIsEmpty {
				text, err = "", nil
			}
			return content(text), &text, err
		},
		answer: func(_ fileRequest, text string) (any, error) { return content(text), nil },
	}
}

func (s *Session) fileCall(kind string, req fileRequest) toolcall.Call {
	return toolcall.Call{Kind: kind, Paths: s.withLinks([]string{s.name(req.Path)}), Text: req.Path}
}

func (s *Session) writing() service[fileRequest] {
	return service[fileRequest]{
		check: func(req fileRequest) error {
			if s.cfg.ReadOnly {
				return fmt.Errorf("write %s: %w", cut(req.Path, 200), errReadOnly)
			}
			if req.Content == nil {
				return paramsError{errors.New("content is missing")}
			}
			return nil
		},
		call: func(req fileRequest) toolcall.Call { return s.fileCall(toolcall.Write, req) },
		do: func(req fileRequest, _ *toolcall.Call) (any, *string, error) {
			path, err := s.files.write(req.Path, *req.Content)
			if err != nil {
				return nil, nil, err
			}
			s.mu.Lock()
			if s.turn != nil {
				s.turn.touch(written{path: path})
			}
			s.mu.Unlock()
			s.observer.push(FileWritten{Path: path})
			return struct{}{}, new(string), nil
		},
		answer: func(fileRequest, string) (any, error) { return struct{}{}, nil }, // the protocol has no text for it
	}
}

func (s *Session) opening() service[sdk.CreateTerminalRequest] {
	open := func(req sdk.CreateTerminalRequest, c *toolcall.Call) (any, error) {
		id, err := s.terminals.create(req, c)
		return map[string]string{"terminalId": id}, err
	}
	return service[sdk.CreateTerminalRequest]{
		call: func(req sdk.CreateTerminalRequest) toolcall.Call {
			command := s.terminals.line(req)
			return toolcall.Call{Kind: toolcall.Terminal, Command: command, Text: command}
		},
		do: func(req sdk.CreateTerminalRequest, c *toolcall.Call) (any, *string, error) {
			s.observer.push(TerminalOpened{Command: s.terminals.line(req)})
			result, err := open(req, c)
			return result, nil, err
		},
		answer: func(req sdk.CreateTerminalRequest, text string) (any, error) { // agents ask for the output by the terminal's ID
			return open(sdk.CreateTerminalRequest{Command: "/bin/sh", Args: []string{"-c", `printf %s "$1"`, "sh", text}, OutputByteLimit: req.OutputByteLimit}, nil)
		},
	}
}

func (s *Session) terminalOutput(ctx context.Context, req terminalID) (any, error) {
	term, err := s.terminals.get(req.ID)
	if err != nil {
		return nil, err
	}
	result := map[string]any{}
	select {
	case <-term.proc.Exited():
		result["exitStatus"] = exitStatus(term.proc.Exit())
		if instead := s.afterTerminal(ctx, term); instead != nil {
			result["output"], result["truncated"] = *instead, false
			return result, nil
		}
	default:
	}
	result["output"], result["truncated"] = term.output.text()
	return result, nil
}

// afterTerminal asks, once, about the output of a command that has ended.
func (s *Session) afterTerminal(ctx context.Context, term *terminal) *string {
	if term.call == nil {
		return nil
	}
	s.intake.yield(func() {
		term.after.Do(func() {
			term.settle()
			text, _ := term.output.text()
			term.instead = s.after(ctx, *term.call, text, !term.proc.Exit().Ok())
		})
	})
	return term.instead
}
