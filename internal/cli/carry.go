package cli

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"strings"
)

// Call is a command that somebody else asks this process to carry out.
type Call struct {
	Args   []string
	Stdin  io.Reader
	Stdout io.Writer
	Stderr io.Writer
	Who    string   // on whose behalf; empty is the user of this process
	Via    string   // where they asked for it; empty is this command
	opened *Session // the project, if it is open already

	Outside         bool // somebody on another machine, or in a browser: files and programs of this one are not theirs to name
	Width, ErrWidth int  // of their terminals; 0 if they have none
}

// Carry runs a command in this process and returns its exit status. It has no terminal and gets no signals.
func (a *App) Carry(ctx context.Context, c Call) int {
	sys := a.System
	sys.Stdin, sys.Stdout, sys.Stderr, sys.Signals = c.Stdin, c.Stdout, c.Stderr, nil
	sys.Asks, sys.OutIsTerm, sys.ErrIsTerm, sys.Width, sys.ErrWidth = false, c.Width > 0, c.ErrWidth > 0, c.Width, func() int { return c.ErrWidth }
	if c.Who != "" {
		sys.User = func() string { return c.Who }
	}
	inner := New(sys, a.Root)
	inner.Redact, inner.within, inner.Outside = a.Redact, cmp.Or(c.Via, a.typed), c.Outside
	inner.Allow = a.Allow
	inner.Serves, inner.Shows, inner.Looks = a.Serves, a.Shows, a.Looks
	if c.Outside {
		if _, err := OutsideLine(a, c.Args); err != nil {
			return inner.Fail(err)
		}
	}
	if c.opened != nil {
		shared := *c.opened
		shared.shared, inner.opened = true, &shared
	}
	args := []string{"ralph"}
	if a.Dir != "" {
		args = append(args, "--project="+a.Dir)
	}
	return inner.perform(ctx, append(args, c.Args...))
}

// CarryOut is carry for who wants the result as text: what the command prints and what it says about that; with another
// status than 0 the latter is the error.
func CarryOut(ctx context.Context, a *App, opened *Session, stdin string, args ...string) (printed, notes string, err error) {
	var out, said bytes.Buffer
	status := a.Carry(ctx, Call{Args: args, Stdin: strings.NewReader(stdin), Stdout: &out, Stderr: &said, opened: opened})
	notes = a.Redact.Text(strings.TrimPrefix(strings.TrimSpace(said.String()), "ralph: "))
	if status != ExitOK {
		return "", "", errors.New(notes)
	}
	return a.Redact.Text(strings.TrimSpace(out.String())), notes, nil
}

// Answering is CarryOut for those who want only what a command prints.
func Answering(a *App, opened *Session) func(ctx context.Context, stdin string, args ...string) (string, error) {
	return func(ctx context.Context, stdin string, args ...string) (string, error) {
		printed, _, err := CarryOut(ctx, a, opened, stdin, args...)
		return printed, err
	}
}
