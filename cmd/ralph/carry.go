package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"strings"
)

// call is a command that somebody else asks this process to carry out.
type call struct {
	args   []string
	stdin  io.Reader
	stdout io.Writer
	stderr io.Writer
	who    string   // on whose behalf; empty is the user of this process
	via    string   // where they asked for it; empty is this command
	opened *session // the project, if it is open already

	outside         bool // somebody on another machine, or in a browser: files and programs of this one are not theirs to name
	width, errWidth int  // of their terminals; 0 if they have none
}

// carry runs a command in this process and returns its exit status. It has no terminal and gets no signals.
func (a *app) carry(ctx context.Context, c call) int {
	sys := a.system
	sys.stdin, sys.stdout, sys.stderr, sys.signals = c.stdin, c.stdout, c.stderr, nil
	sys.asks, sys.outIsTerm, sys.errIsTerm, sys.width, sys.errWidth = false, c.width > 0, c.errWidth > 0, c.width, func() int { return c.errWidth }
	if c.who != "" {
		sys.user = func() string { return c.who }
	}
	inner := appOf(sys, a.root)
	inner.redact, inner.within, inner.outside = a.redact, cmp.Or(c.via, a.typed), c.outside
	inner.allow = a.allow
	inner.serves, inner.shows, inner.looks = a.serves, a.shows, a.looks
	if c.outside {
		if _, err := outsideLine(a, c.args); err != nil {
			return inner.fail(err)
		}
	}
	if c.opened != nil {
		shared := *c.opened
		shared.shared, inner.opened = true, &shared
	}
	args := []string{"ralph"}
	if a.dir != "" {
		args = append(args, "--project="+a.dir)
	}
	return inner.perform(ctx, append(args, c.args...))
}

// carryOut is carry for who wants the result as text: what the command prints and what it says about that; with another
// status than 0 the latter is the error.
func carryOut(ctx context.Context, a *app, opened *session, stdin string, args ...string) (printed, notes string, err error) {
	var out, said bytes.Buffer
	status := a.carry(ctx, call{args: args, stdin: strings.NewReader(stdin), stdout: &out, stderr: &said, opened: opened})
	notes = a.redact.Text(strings.TrimPrefix(strings.TrimSpace(said.String()), "ralph: "))
	if status != exitOK {
		return "", "", errors.New(notes)
	}
	return a.redact.Text(strings.TrimSpace(out.String())), notes, nil
}

// answering is carryOut for those who want only what a command prints.
func answering(a *app, opened *session) func(ctx context.Context, stdin string, args ...string) (string, error) {
	return func(ctx context.Context, stdin string, args ...string) (string, error) {
		printed, _, err := carryOut(ctx, a, opened, stdin, args...)
		return printed, err
	}
}
