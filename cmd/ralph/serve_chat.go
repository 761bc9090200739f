package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"path/filepath"
	"strings"

	"ralph/internal/chat"
	"ralph/internal/outbox"
)

// startChats starts the bots that the configuration names, and returns what waits until they have ended with the context. One
// without its token is warned about and left out.
func startChats(ctx context.Context, a *app, s *session) (wait func()) {
	warn := func(text string) { a.note("warning: chat: %s", text) }
	var bots []chat.Bot
	for _, c := range s.config.Chat {
		b := chat.Bot{Chat: c, Token: a.getenv(c.TokenEnv)}
		if c.AppTokenEnv != "" {
			b.AppToken = a.getenv(c.AppTokenEnv)
		}
		a.redact.Add(b.Token, b.AppToken)
		switch {
		case b.Token == "":
			warn(c.Kind + " is not started: " + c.TokenEnv + " is not set; export the token of the bot in it")
		case c.AppTokenEnv != "" && b.AppToken == "":
			warn(c.Kind + " is not started: " + c.AppTokenEnv + " is not set; export the app-level token (xapp-...) in it")
		default:
			bots = append(bots, b)
		}
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		chat.Run(ctx, chat.Options{
			Bots: bots, Warn: warn, Redact: a.redact.Text, Now: a.now, Web: outbox.Web{Getenv: a.getenv, Now: a.now},
			Open: func(ctx context.Context) (chat.Project, error) { return openChat(ctx, a) },
			Command: func(ctx context.Context, who, stdin string, args ...string) (string, error) {
				var out, said bytes.Buffer
				status := a.carry(ctx, call{args: args, stdin: strings.NewReader(stdin), stdout: &out, stderr: &said, who: who, via: "chat", outside: true})
				notes := strings.TrimPrefix(strings.TrimSpace(said.String()), "ralph: ")
				if status != exitOK {
					return "", errors.New(notes)
				}
				return cmp.Or(strings.TrimSpace(out.String()), notes), nil
			},
		})
	}()
	return func() { <-ended }
}

// openChat opens the project for a part of a bot.
func openChat(ctx context.Context, a *app) (chat.Project, error) {
	s, err := a.open(ctx)
	if err != nil {
		return chat.Project{}, err
	}
	return chat.Project{
		Store: s.store, Version: s.db.Version, Intact: s.db.Intact, Close: s.Close, Folder: s.project.Runs(), Name: filepath.Base(s.project.Root),
	}, nil
}
