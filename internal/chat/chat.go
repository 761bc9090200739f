// Package chat tells people about a project in Telegram and Slack, and takes their answers. What they answer is carried out as
// a command of ralph; it never changes a task itself, and never sends anything to a chat that is not configured.
package chat

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"ralph/dag"
	"ralph/internal/human"
	"ralph/internal/outbox"
	"ralph/internal/project"
	"ralph/internal/term"
)

// Bot is one adapter, as it is configured.
type Bot struct {
	project.Chat
	Token    string
	AppToken string // of Slack
}

// Project is the project, opened. Each part of a bot has its own, and opens it again when the database was replaced.
type Project struct {
	Store   *dag.Store
	Version func(context.Context) (int64, error)
	Intact  func() bool
	Close   func() error
	Folder  string // of the runs
	Name    string
}

// Options are what bots work with. Open, Command, Warn and Redact must be set.
type Options struct {
	Bots    []Bot
	Open    func(context.Context) (Project, error)
	Command func(ctx context.Context, who, stdin string, args ...string) (string, error) // carries out a command of ralph for a person
	Warn    func(string)
	Redact  func(string) string
	Web     outbox.Web
	Now     func() time.Time                           // nil means time.Now
	Wait    func(context.Context, time.Duration) error // nil waits for so long; an error means that the context is over
	Poll    time.Duration                              // between two looks at the project; 0 means a second
}

// service is what a bot needs of Telegram or Slack.
type service interface {
	// hello checks the token. It returns the ID of the bot, and its chats as messages name them.
	hello(ctx context.Context) (id string, chats []string, err error)
	// receive hears what people do until the connection ends, and says why it did.
	receive(ctx context.Context, e *ear) error
	// send sends a message and returns what the service calls it. A limit is a limitError: it waits for none.
	send(ctx context.Context, chat string, m message) (id string, err error)
}

// message is what is sent: text of anybody, as long as it may be. The service makes it harmless and cuts it.
type message struct {
	text    string
	buttons []button
	edits   string // the message that it replaces
	to      update // what it is said about, to that person as far as the service can
}

type button struct{ label, data string }

// adapter is a bot at work.
type adapter struct {
	Options
	bot     Bot
	service service
	id      string         // KIND:ID, once it is connected
	chats   []string       // as messages name them
	late    sync.WaitGroup // replies that a limit puts off

	posting map[string]*sync.Mutex // of each chat, held while a post is sent and stored

	// Of who receives:
	seen    []string  // updates that were heard, the newest last
	ignored int       // updates of strangers since the last warning
	told    time.Time // when that was
}

// Run runs the bots until the context is over. None of them affects another.
func Run(ctx context.Context, opts Options) {
	if opts.Now == nil {
		opts.Now = time.Now
	}
	if opts.Wait == nil {
		opts.Wait = pause
	}
	opts.Poll = cmp.Or(opts.Poll, time.Second)
	var all sync.WaitGroup
	for _, b := range opts.Bots {
		a := &adapter{Options: opts, bot: b}
		call := caller{opts.Web, opts.Wait, strings.TrimSuffix(b.URL, "/")}
		if b.Kind == "slack" {
			call.base = cmp.Or(call.base, "https://slack.com")
			a.service = &slack{caller: call, bot: b}
		} else {
			call.base = cmp.Or(call.base, "https://api.telegram.org")
			a.service = &telegram{caller: call, bot: b}
		}
		all.Go(func() { a.run(ctx) })
	}
	all.Wait()
}

func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// run connects, and then hears people and tells each chat, side by side.
func (a *adapter) run(ctx context.Context) {
	a.keep(ctx, "connect", func(ctx context.Context, _ func()) (err error) {
		id, chats, err := a.service.hello(ctx)
		a.id, a.chats = a.bot.Kind+":"+id, chats
		return err
	})
	if ctx.Err() != nil {
		return
	}
	a.posting = map[string]*sync.Mutex{}
	for _, chat := range a.chats {
		a.posting[chat] = &sync.Mutex{}
	}
	var parts sync.WaitGroup
	parts.Go(func() {
		a.keep(ctx, "receive", func(ctx context.Context, working func()) error {
			return a.with(ctx, func(m memory) error { return a.service.receive(ctx, &ear{a, m, working}) })
		})
	})
	for _, chat := range a.chats {
		parts.Go(func() {
			a.keep(ctx, "write to "+chat, func(ctx context.Context, working func()) error {
				return a.with(ctx, func(m memory) error { return a.tell(ctx, m, chat, working) })
			})
		})
	}
	parts.Wait()
	a.late.Wait()
}

// with opens the project for as long as fn runs.
func (a *adapter) with(ctx context.Context, fn func(memory) error) error {
	p, err := a.Open(ctx)
	if err != nil {
		return err
	}
	return errors.Join(fn(memory{p, a.id, a.Now}), p.Close())
}

const (
	tries  = 5           // before somebody is told, after a second and then twice as long each time
	lasted = time.Minute // for which something works that did not just seem to
)

// keep repeats a step until it succeeds, or the context is over. What keeps failing is reported once, and tried every minute.
func (a *adapter) keep(ctx context.Context, what string, step func(ctx context.Context, working func()) error) {
	failures, reported := 0, false
	for {
		var since time.Time
		var mu sync.Mutex // a step may say from several sides that it works
		working := func() {
			mu.Lock()
			defer mu.Unlock()
			if now := a.Now(); since.IsZero() {
				since = now
			} else if now.Sub(since) >= lasted {
				failures = 0
				if reported {
					a.warn("%s: it works again", what)
				}
				reported = false
			}
		}
		err := a.guard(func() error { return step(ctx, working) })
		if ctx.Err() != nil || err == nil {
			if reported && err == nil {
				a.warn("%s: it works again", what)
			}
			return
		}
		if !since.IsZero() {
			working()
		}
		failures++
		delay := time.Second << (failures - 1)
		if bad := (*tokenError)(nil); failures > tries || errors.As(err, &bad) {
			if !reported {
				a.warn("%s: %v; it is tried again every minute", what, err)
			}
			failures, reported, delay = tries, true, time.Minute
		}
		if a.Wait(ctx, delay) != nil {
			return
		}
	}
}

// patiently repeats what the service puts off.
func (a *adapter) patiently(ctx context.Context, try func() error) error {
	for {
		err := try()
		limit := (*limitError)(nil)
		if errors.As(err, &limit) {
			err = a.Wait(ctx, limit.after)
			if err == nil {
				continue
			}
		}
		return err
	}
}

type bugError struct{ text string }

func (e *bugError) Error() string { return e.text }

// guard makes an error of a panic: one bot does not end the others.
func (a *adapter) guard(fn func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &bugError{fmt.Sprintf("this is a bug in ralph: %v\n%s", p, debug.Stack())}
		}
	}()
	return fn()
}

func (a *adapter) warn(format string, args ...any) {
	a.Warn(a.bot.Kind + " ($" + a.bot.TokenEnv + "): " + term.Block(a.Redact(fmt.Sprintf(format, args...))))
}

// stranger ignores an update, with one warning a day.
func (a *adapter) stranger(u update) {
	a.ignored++
	if now := a.Now(); a.told.IsZero() || now.Sub(a.told) >= 24*time.Hour {
		a.warn("ignored %s that does not come from a configured chat, the last from chat %q, user %q%s", human.Count(a.ignored, "message"),
			term.Cut(term.Line(u.chat), 50), term.Cut(term.Line(u.user+human.Lead(" @", u.name)), 50), human.Lead(": ", u.odd))
		a.ignored, a.told = 0, now
	}
}

// say sends a message, without secrets, and returns what the service calls it.
func (a *adapter) say(ctx context.Context, chat string, m message) (string, error) {
	m.text = a.Redact(m.text)
	return a.service.send(ctx, chat, m)
}

// post sends a message that must not get lost. If the service refuses what it says, a note takes its place; if that is refused, too,
// it is the chat that refuses.
func (a *adapter) post(ctx context.Context, chat, what string, m message) (string, error) {
	id, err := a.say(ctx, chat, m)
	refused := (*refusedError)(nil)
	if !errors.As(err, &refused) {
		return id, err
	}
	id, again := a.say(ctx, chat, message{text: what + " cannot be shown here: see it with ralph inbox, or ralph report"})
	if again == nil {
		a.warn("in chat %s a note is in place of %s: %v", chat, what, err)
	}
	return id, again
}

// edit replaces a message. One that cannot be changed any more stays as it is.
func (a *adapter) edit(ctx context.Context, chat, id, text string) error {
	_, err := a.say(ctx, chat, message{text: text, edits: id})
	return unlessRefused(err)
}
