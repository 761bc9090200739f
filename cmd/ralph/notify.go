package main

import (
	"path/filepath"

	"ralph/internal/agents"
	"ralph/internal/outbox"
	"ralph/internal/show"
	"ralph/notify"
)

// notifier tells whoever the configuration names, or is nil if it names nobody. What
// cannot be used is warned about and left out: nobody loses a run because of it.
func (a *app) notifier(s *session) show.Sink {
	if len(s.config.Notify) == 0 {
		return nil
	}
	var targets []notify.Target
	for i, entry := range s.config.Notify {
		t := notify.Target{On: entry.On, Command: entry.Command, Desktop: entry.Desktop, Bell: entry.Bell, Title: entry.Title}
		address, err := agents.Expand(entry.Webhook, a.environ(), a.redact)
		if err == nil && address != "" {
			err = outbox.CheckAddress(address)
		}
		switch {
		case err != nil:
			a.note("warning: notify.%d: webhook: %v: nothing is sent there", i+1, err)
		case address != "":
			t.Webhook = address
			a.redact.Add(address)
		}
		targets = append(targets, t)
	}
	hurry := make(chan struct{})
	opts := notify.Options{
		Targets: targets, Project: filepath.Base(s.project.Root), Dir: s.project.Root, Env: agents.WithoutCredentials(a.environ()),
		Web: outbox.Web{Getenv: a.getenv, Now: a.now}, Hide: a.redact.Text, Hurry: hurry,
	}
	if a.errIsTerm {
		opts.Terminal = a.stderr
	}
	n := notify.New(opts)
	if err := n.Missing(); err != nil {
		a.note("warning: %v", err)
	}
	return &hurried{Notifier: n, app: a, hurry: hurry}
}

// hurried is a notifier whose last words another signal cuts short.
type hurried struct {
	*notify.Notifier
	app   *app
	hurry chan struct{}
}

func (h *hurried) Close() error {
	done := make(chan struct{})
	defer close(done)
	go func() {
		select {
		case <-h.app.signals:
			close(h.hurry)
		case <-done:
		}
	}()
	return h.Notifier.Close()
}
