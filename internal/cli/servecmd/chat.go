package servecmd

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"path/filepath"
	"strings"

	"ralph/internal/chat"
	"ralph/internal/cli"
	"ralph/internal/outbox"
)

// startChats starts the bots that the configuration names, and returns what waits until they have ended with the context. One
// without its token is warned about and left out.
func startChats(ctx context.Context, a *cli.App, s *cli.Session) (wait func()) {
	warn := func(text string) { a.Note("warning: chat: %s", text) }
	var bots []chat.Bot
	for _, c := range s.Config.Chat {
		b := chat.Bot{Chat: c, Token: a.Getenv(c.TokenEnv)}
		if c.AppTokenEnv != "" {
			b.AppToken = a.Getenv(c.AppTokenEnv)
		}
		a.Redact.Add(b.Token, b.AppToken)
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
			Bots: bots, Warn: warn, Redact: a.Redact.Text, Now: a.Now, Web: outbox.Web{Getenv: a.Getenv, Now: a.Now},
			Open: func(ctx context.Context) (chat.Project, error) { return openChat(ctx, a) },
			Command: func(ctx context.Context, who, stdin string, args ...string) (string, error) {
				var out, said bytes.Buffer
				status := a.Carry(ctx, cli.Call{Args: args, Stdin: strings.NewReader(stdin), Stdout: &out, Stderr: &said, Who: who, Via: "chat", Outside: true})
				notes := strings.TrimPrefix(strings.TrimSpace(said.String()), "ralph: ")
				if status != cli.ExitOK {
					return "", errors.New(notes)
				}
				return cmp.Or(strings.TrimSpace(out.String()), notes), nil
			},
		})
	}()
	return func() { <-ended }
}

// openChat opens the project for a part of a bot.
func openChat(ctx context.Context, a *cli.App) (chat.Project, error) {
	s, err := a.Open(ctx)
	if err != nil {
		return chat.Project{}, err
	}
	return chat.Project{
		Store: s.Store, Version: s.DB.Version, Intact: s.DB.Intact, Close: s.Close, Folder: s.Project.Runs(), Name: filepath.Base(s.Project.Root),
	}, nil
}
