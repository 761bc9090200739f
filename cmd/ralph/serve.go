package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"path/filepath"

	"ralph/dag"
	"ralph/internal/web"
)

var serveCommand = command{
	name: "serve", short: "show the project in a browser, and let it be steered from there",
	long: `Shows what runs, what failed and what waits for an answer, and carries out what you click there; each button
names its command. Runs that are started there continue when the server ends. Open the link that it prints: it
works once, and lets that browser in.`,
	flags: []flagSpec{
		{name: "listen", usage: "`ADDRESS` to listen on", value: "127.0.0.1:7447"},
		boolFlag("read-only", "show everything and change nothing"),
	},
	example: "ralph serve\nralph serve --read-only", exits: "1 refused (the address is in use), " + interrupted, run: inProject(runServe),
}

type serveOptions struct {
	Listen   string
	ReadOnly bool
}

func runServe(ctx context.Context, a *app, s *session, o serveOptions) error {
	if err := a.refuseAgent(); err != nil {
		return err
	}
	a.dir = s.project.Root // wherever the process is
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", o.Listen)
	if err != nil {
		return hint(fmt.Errorf("%w: %w", dag.ErrRefused, err), "choose another address with --listen, such as 127.0.0.1:7448")
	}
	server, err := web.New(web.Options{
		Name: filepath.Base(s.project.Root), Open: a.openWeb, Life: life, Now: a.now, Redact: a.redact.Text,
		Command: func(ctx context.Context, c web.Call) int {
			return a.carry(ctx, call{args: c.Args, stdin: c.Stdin, stdout: c.Stdout, stderr: c.Stderr, who: c.Who, via: c.Via})
		},
		Start:  func(context.Context, ...string) error { return errors.New("not yet") },
		Warn:   func(text string) { a.note("warning: %s", text) },
		Access: web.Access{ReadOnly: o.ReadOnly},
	})
	if err != nil {
		return err
	}
	if !o.ReadOnly { // a chat could change something
		defer startChats(ctx, a, s)()
	}
	a.note("open this link: %s", server.Link("http://"+l.Addr().String()))
	if err := server.Serve(ctx, l); err != nil && !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// openWeb opens the project for a page.
func (a *app) openWeb(ctx context.Context) (*web.Project, error) {
	s, err := a.open(ctx)
	if err != nil {
		return nil, err
	}
	return &web.Project{Project: s.project, Config: s.config, Store: s.store, Version: s.db.Version, Intact: s.db.Intact, Close: s.Close}, nil
}
